// SPDX-License-Identifier: MIT
/// Empty: the target that this file belongs to owns the precompiled header of the tests.

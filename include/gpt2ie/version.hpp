// SPDX-License-Identifier: MIT
/// The only home of the version; CMake reads it from here.
#pragma once

#define GPT2IE_VERSION_MAJOR 0
#define GPT2IE_VERSION_MINOR 1
#define GPT2IE_VERSION_PATCH 0

/// One comparable integer, three digits a field: 0.1.0 is 1000, 4.10.0 is 4010000.
#define GPT2IE_VERSION (GPT2IE_VERSION_MAJOR * 1000000 + GPT2IE_VERSION_MINOR * 1000 + GPT2IE_VERSION_PATCH)

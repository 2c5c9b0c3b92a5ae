// SPDX-License-Identifier: MIT
// flags: -std=c++2b
/// A program in the next language standard includes the umbrella.
#include <gpt2ie/gpt2ie.hpp>

// SPDX-License-Identifier: MIT
/// The seed of randomised tests.
#pragma once

#include <cstdlib>

#include <doctest/doctest.h>

namespace gpt2ie_test {

/// 1, or the number in the environment variable GPT2IE_TEST_SEED; it is told to whoever reads the test's output.
inline unsigned test_seed() {
  const char* text = std::getenv("GPT2IE_TEST_SEED");
  const unsigned seed = text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
  MESSAGE("seed ", seed, "; GPT2IE_TEST_SEED chooses another");
  return seed;
}

}  // namespace gpt2ie_test

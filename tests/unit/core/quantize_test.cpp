// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/quantize.hpp>

#include "support/random_checkpoint.hpp"

namespace {

struct Quantized {
  std::vector<int> value;
  float scale;
};

Quantized quantized(const std::vector<float>& x) {
  std::vector<gpt2ie::int8> to(x.size(), {99});
  Quantized result{{}, gpt2ie::quantize(x.data(), static_cast<int>(x.size()), to.data())};
  for (const gpt2ie::int8 element : to) result.value.push_back(element.value);
  return result;
}

using Integers = std::vector<int>;

}  // namespace

TEST_CASE("the largest magnitude is 127 steps, the rest is to nearest, ties to even") {
  const Quantized found = quantized({-254, 254, 0, 1, 3, -1, -3, 5, 2.9f, 3.1f, -0.0f});
  CHECK(found.scale == 2.0f);
  CHECK(found.value == Integers{-127, 127, 0, 0, 2, 0, -2, 2, 1, 2, 0});
}

TEST_CASE("integers with their scale are half a step off at most, whatever the size of the numbers") {
  for (const int n : {1, 3, 20, 64, 256}) {
    for (const float size : {1e-35f, 1e-3f, 1.0f, 3e38f}) {
      CAPTURE(n);
      CAPTURE(size);
      const std::vector<float> x = gpt2ie_test::random_floats(static_cast<std::size_t>(n), size, 7);
      const Quantized found = quantized(x);
      double worst = 0;
      int largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        worst =
            std::fmax(worst, std::abs(static_cast<double>(x[i]) / static_cast<double>(found.scale) - found.value[i]));
        largest = std::max(largest, std::abs(found.value[i]));
      }
      CHECK(worst <= 0.50001);
      CHECK(largest == 127);
    }
  }
}

TEST_CASE("nothing but zeros has the scale 0, and so has what is too small for a scale") {
  for (const float x : {0.0f, -0.0f, 1e-40f, 1e-36f}) {
    const Quantized found = quantized({x, 0, x});
    CHECK(found.scale == 0.0f);
    CHECK(found.value == Integers{0, 0, 0});
  }
  CHECK(quantized({1.5e-36f}).value == Integers{127});
  CHECK(quantized({}).scale == 0.0f);
}

TEST_CASE("NaN and infinity show in the scale") {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {infinity, -infinity, nan, -nan, std::numeric_limits<float>::signaling_NaN()}) {
    const Quantized found = quantized({1, x, 3});
    CHECK(std::isnan(found.scale));
    CHECK(found.value == Integers{0, 0, 0});
  }
  CHECK(quantized({std::numeric_limits<float>::max(), 0}).value == Integers{127, 0});
}

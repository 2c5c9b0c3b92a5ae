// SPDX-License-Identifier: MIT
/// How close is close: one table of tolerances, and comparisons that report the worst element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace gpt2ie_test {

/// Float against the float64 reference: |x - y| <= this + this * |y|.
inline constexpr double reference_tolerance = 1e-4;
/// Token log-probabilities in float against the reference, absolute.
inline constexpr double logprob_tolerance = 1e-4;
/// Half-precision caches against the reference, of the largest value.
inline constexpr double half_tolerance = 2e-2;
/// Caches of 8-bit integers, of the largest value: a model that does not scale its scores multiplies what they round.
inline constexpr double int8_tolerance = 4e-2;
/// A backend without fixed rounding against itself, of the largest value.
inline constexpr double backend_tolerance = 1e-5;

/// What attention may lose by its cache's element, of the largest value.
inline double attention_tolerance(std::string_view element) {
  if (element == "bf16") return 1e-2;
  if (element == "f16") return 2e-3;
  if (element == "int8") return 2e-2;
  return 1e-5;
}

/// The largest difference, and how far the worst element is from its bound: above 1 it is outside.
struct Difference {
  double largest = 0, worst = 0;
};

/// Against bounds absolute + relative * |y|. NaN on either side is infinitely far. [n] may be float or double.
template <class X, class Y>
Difference difference(std::span<const X> x, std::span<const Y> y, double absolute, double relative) {
  REQUIRE(x.size() == y.size());
  Difference found;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto b = static_cast<double>(y[i]);
    double error = std::abs(static_cast<double>(x[i]) - b);
    if (std::isnan(error)) error = INFINITY;
    found.largest = std::max(found.largest, error);
    found.worst = std::max(found.worst, error / (absolute + relative * std::abs(b)));
  }
  return found;
}

/// The largest magnitude.
template <class Y>
double largest_of(std::span<const Y> y) {
  double largest = 0;
  for (const Y value : y) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

/// Every element within `relative` of the largest magnitude of y.
template <class X, class Y>
bool within(std::span<const X> x, std::span<const Y> y, double relative) {
  return difference(x, y, relative * std::max(largest_of(y), 1e-30), 0).worst <= 1;
}

/// Equal to the bit; NaN and signs of zero included.
inline bool same_bits(std::span<const float> x, std::span<const float> y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// Conversions of every bit pattern, and rounding against double.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/philox.hpp>

namespace {

using gpt2ie::bf16;
using gpt2ie::bit_cast;
using gpt2ie::f16;
using gpt2ie::from_float;
using gpt2ie::to_float;

/// The value of a 16-bit pattern with these field widths, from the definition of IEEE 754.
double value_of(std::uint32_t bits, int fraction_bits, int bias) {
  const double sign = bits >> 15 ? -1 : 1;
  const std::uint32_t exponents = (1u << (15 - fraction_bits)) - 1;
  const std::uint32_t exponent = bits >> fraction_bits & exponents, fraction = bits & ((1u << fraction_bits) - 1);
  if (exponent == exponents) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1u << fraction_bits) + fraction, static_cast<int>(exponent) - bias - fraction_bits);
}

template <class T>
void check_all_patterns(int fraction_bits, int bias) {
  int wrong_values = 0, wrong_ways_back = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T element{static_cast<std::uint16_t>(bits)};
    const double expected = value_of(bits, fraction_bits, bias);
    const float found = to_float(element);
    const T back = from_float<T>(found);
    if (std::isnan(expected)) {
      wrong_values += !std::isnan(found);
      wrong_ways_back += !std::isnan(to_float(back));
    } else {
      const bool same = static_cast<double>(found) == expected && std::signbit(found) == std::signbit(expected);
      wrong_values += !same;
      wrong_ways_back += back.bits != element.bits;
    }
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_ways_back == 0);
}

/// The pattern nearest to x, ties to the even one; x is finite. Searched among all patterns of one sign, which rise
/// with their values.
std::uint16_t nearest(double x, int fraction_bits, int bias) {
  const std::uint32_t infinity = ((1u << (15 - fraction_bits)) - 1) << fraction_bits;
  const double magnitude = std::abs(x);
  std::uint32_t low = 0, high = infinity;  // value(low) <= magnitude < value(high)
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value_of(middle, fraction_bits, bias) <= magnitude ? low : high) = middle;
  }
  // Where the upper neighbour is infinity, rounding goes by the value that would be there.
  const double below = value_of(low, fraction_bits, bias);
  const double above =
      high == infinity ? 2 * below - value_of(low - 1, fraction_bits, bias) : value_of(high, fraction_bits, bias);
  const bool up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low % 2 == 1);
  return static_cast<std::uint16_t>((up ? high : low) | (std::signbit(x) ? 0x8000u : 0u));
}

/// Floats of all sizes, and those half-way between neighbouring patterns.
template <class T>
std::vector<float> floats_around_patterns() {
  std::vector<float> floats = {0.0f,
                               -0.0f,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min(),
                               65504.0f,
                               65519.996f,
                               65520.0f,
                               -65536.0f,
                               0x1p-25f,
                               0x1.8p-25f,
                               0x1p-24f,
                               0x1.8p-24f};
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const auto bits = gpt2ie::random_block({.seed = 3, .position = i}).word[0];
    const float x = bit_cast<float>(bits);
    if (std::isfinite(x)) floats.push_back(x);
    floats.push_back(std::ldexp(bit_cast<float>((bits & 0x807fffffu) | 0x3f800000u), static_cast<int>(i % 48) - 28));
  }
  for (std::uint32_t bits = 0; bits < 0x7c00; bits += 7) {
    const float low = to_float(T{static_cast<std::uint16_t>(bits)});
    const float high = to_float(T{static_cast<std::uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    if (!std::isfinite(high)) continue;
    floats.push_back(middle);
    floats.push_back(std::nextafter(middle, low));
    floats.push_back(-std::nextafter(middle, high));
  }
  return floats;
}

template <class T>
void check_rounding(int fraction_bits, int bias) {
  int wrong = 0;
  const std::vector<float> floats = floats_around_patterns<T>();
  for (const float x : floats) {
    wrong += from_float<T>(x).bits != nearest(static_cast<double>(x), fraction_bits, bias);
  }
  CHECK(floats.size() > 30000);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every f16 pattern has the value that IEEE 754 gives it, and comes back") { check_all_patterns<f16>(10, 15); }

TEST_CASE("every bf16 pattern has the value that its fields give it, and comes back") {
  check_all_patterns<bf16>(7, 127);
}

TEST_CASE("floats round to the nearest f16, ties to even") { check_rounding<f16>(10, 15); }

TEST_CASE("floats round to the nearest bf16, ties to even") { check_rounding<bf16>(7, 127); }

TEST_CASE("infinities and NaN stay what they are") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(to_float(from_float<f16>(infinity)) == infinity);
  CHECK(to_float(from_float<bf16>(-infinity)) == -infinity);
  CHECK(std::isnan(to_float(from_float<f16>(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(to_float(from_float<bf16>(bit_cast<float>(0x7f800001u)))));  // a NaN whose upper half is infinity's
}

TEST_CASE("float is itself") {
  CHECK(to_float(1.25f) == 1.25f);
  CHECK(from_float<float>(-3.5f) == -3.5f);
}

TEST_CASE("elements are what caches keep, plain ones convert alone") {
  CHECK(gpt2ie::CacheElement<gpt2ie::int8>);
  CHECK(gpt2ie::CacheElement<gpt2ie::fp8_e4m3>);
  CHECK_FALSE(gpt2ie::CacheElement<double>);
  CHECK(gpt2ie::PlainElement<bf16>);
  CHECK_FALSE(gpt2ie::PlainElement<gpt2ie::int8>);
  CHECK((gpt2ie::NumberElement<float> && gpt2ie::NumberElement<gpt2ie::int8>));
  CHECK_FALSE(gpt2ie::NumberElement<gpt2ie::fp8_e4m3>);
}

TEST_CASE("int8 is its integer") {
  CHECK(to_float(gpt2ie::int8{-128}) == -128.0f);
  CHECK(to_float(gpt2ie::int8{127}) == 127.0f);
}

TEST_CASE("conversions are constants where their arguments are") {
  constexpr float third = to_float(from_float<f16>(1.0f / 3));
  CHECK(static_cast<double>(third) == doctest::Approx(1.0 / 3).epsilon(1e-3));
}

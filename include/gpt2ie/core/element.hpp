// SPDX-License-Identifier: MIT
/// Element types of weights and caches, and their exact conversions to and from float.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct bf16 {
  std::uint16_t bits;
};
/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct f16 {
  std::uint16_t bits;
};
/// A signed byte with a float scale outside it.
struct int8 {
  std::int8_t value;
};
/// Two signed 4-bit integers, each stored with 8 added, and a scale outside them.
struct int4 {
  std::uint8_t pair;
};
/// OCP 8-bit float, 4 bits of exponent, 3 of fraction, with a float scale outside it.
struct fp8_e4m3 {
  std::uint8_t bits;
};

/// Elements in which a cache may keep K and V.
template <class T>
concept CacheElement = one_of<T, float, bf16, f16, int8, fp8_e4m3>;

/// Elements that convert to float on their own, with no scale beside them.
template <class T>
concept PlainElement = one_of<T, float, bf16, f16>;

/// Elements that to_float converts: plain ones, and int8 as the integer that the scale outside it multiplies.
template <class T>
concept NumberElement = PlainElement<T> || one_of<T, int8>;

/// Integers with a scale for each group of neighbours.
template <class T>
concept GroupedElement = one_of<T, int8, int4>;

/// Precisions in which a backend may keep weights.
template <class T>
concept WeightElement = PlainElement<T> || GroupedElement<T>;

/// What options and files call a precision of weights.
template <WeightElement T>
inline constexpr std::string_view weight_name = one_of<T, float>  ? "float"
                                                : one_of<T, bf16> ? "bf16"
                                                : one_of<T, f16>  ? "f16"
                                                : one_of<T, int8> ? "int8"
                                                                  : "int4";

GPT2IE_HD constexpr float to_float(float x) { return x; }

GPT2IE_HD constexpr float to_float(bf16 x) { return bit_cast<float>(std::uint32_t{x.bits} << 16); }

GPT2IE_HD constexpr float to_float(f16 x) {
  // Moving the 15 bits into a float's place leaves the exponent 112 short; the product mends it, subnormals included.
  // All ones in the exponent, infinity and NaN, stay all ones.
  const std::uint32_t magnitude = (x.bits & 0x7fffu) << 13;
  const std::uint32_t finite = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) * 0x1p112f);
  const std::uint32_t endless = (x.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return bit_cast<float>(finite | endless | (std::uint32_t{x.bits} & 0x8000u) << 16);
}

/// The integer alone.
GPT2IE_HD constexpr float to_float(int8 x) { return static_cast<float>(x.value); }

/// Rounds to nearest, ties to even; NaN stays NaN.
template <PlainElement T>
GPT2IE_HD constexpr T from_float(float x);

template <>
GPT2IE_HD constexpr float from_float<float>(float x) {
  return x;
}

template <>
GPT2IE_HD constexpr bf16 from_float<bf16>(float x) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

template <>
GPT2IE_HD constexpr f16 from_float<f16>(float x) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 makes the unit in the last place 2^-24
    half = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(half | sign)};
}

}  // namespace gpt2ie::inline GPT2IE_ABI

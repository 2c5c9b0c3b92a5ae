// SPDX-License-Identifier: MIT
/// Floats as integers with a common scale.
#pragma once

#include <cstdint>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Writes x[n] to to[n] as integers from -127 to 127 and returns their scale: to[i] * scale stands for x[i], half a
/// scale off at most. scale = largest magnitude / 127; integers are x / scale to nearest, ties to even. The bits depend
/// on x alone.
///
/// Zeros alone have the scale 0, and so has what would have a subnormal one, as it is below 2^-119 throughout. With NaN
/// or infinity among them the integers are zero and the scale is NaN, so that whatever is computed from them says so.
GPT2IE_HD inline float quantize(const float* x, int n, int8* to) {
  constexpr std::uint32_t infinity = 0x7f800000u;
  constexpr float smallest_normal = 0x1p-126f;
  constexpr float to_integer = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits

  // Magnitudes are ordered as their bits are, infinity and NaN above all others.
  std::uint32_t largest = 0;
  for (int i = 0; i < n; ++i) {
    const std::uint32_t magnitude = bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const float scale = bit_cast<float>(largest) / 127.0f;
  if (largest >= infinity || scale < smallest_normal) {
    for (int i = 0; i < n; ++i) to[i] = {0};
    return largest >= infinity ? bit_cast<float>(infinity | 0x400000u) : 0.0f;
  }
  for (int i = 0; i < n; ++i) {
    to[i] = {static_cast<std::int8_t>(bit_cast<std::uint32_t>(x[i] / scale + to_integer) & 0xffu)};
  }
  return scale;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Rows of activations as integers, for products with integer weights.
///
/// Each group of 32 neighbours has a scale of its own, as llama.cpp's Q8_0 has. A row's integers depend on that row
/// alone, so a row has the same bits in any batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/quantized_rows_avx2.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Elements that share a scale.
inline constexpr int group_size = 32;

[[nodiscard]] inline constexpr int groups_of(int elements) { return (elements + group_size - 1) / group_size; }

/// Rows [rows, groups * 32] of integers from -127 to 127: element i of group g of row r stands for value * scale. The
/// last group is filled up with zeros.
struct QuantizedRows {
  const std::int8_t* value;
  const float* scale;       ///< [rows, groups]
  const std::int32_t* sum;  ///< [rows, groups], of the values
  int groups;

  [[nodiscard]] const std::int8_t* values_of(int row, int group) const {
    return value + (static_cast<std::ptrdiff_t>(row) * groups + group) * group_size;
  }
  [[nodiscard]] float scale_of(int row, int group) const {
    return scale[static_cast<std::ptrdiff_t>(row) * groups + group];
  }
  [[nodiscard]] std::int32_t sum_of(int row, int group) const {
    return sum[static_cast<std::ptrdiff_t>(row) * groups + group];
  }
  [[nodiscard]] QuantizedRows from(int row) const {
    const std::ptrdiff_t skipped = static_cast<std::ptrdiff_t>(row) * groups;
    return {value + skipped * group_size, scale + skipped, sum + skipped, groups};
  }
};

/// Of a number below 2^22, ties to even.
inline std::int32_t nearest_integer(float x) {
  constexpr float to_integer = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  return static_cast<std::int32_t>(bit_cast<std::uint32_t>(x + to_integer) - bit_cast<std::uint32_t>(to_integer));
}

/// Quantises `count` <= 32 floats: scale = largest magnitude / 127, rounded to nearest, ties to even. A group with NaN
/// or infinity becomes zeros with a scale of NaN, so that its products say so.
inline void quantize_group(const float* x, int count, std::int8_t* value, float& scale, std::int32_t& sum) {
  float largest = 0, spoilt = 0;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    spoilt += x[i] * 0.0f;  // NaN if any is not finite
  }
  const bool finite = spoilt == 0;
  const float factor = finite && largest > 0 ? 127.0f / largest : 0.0f;
  // A subnormal largest would make the factor infinite; such a group is zero for every purpose.
  const bool usable = factor > 0 && factor <= 3e38f;
  sum = 0;
  for (int i = 0; i < group_size; ++i) {
    const int integer = usable && i < count ? nearest_integer(x[i] * factor) : 0;
    value[i] = static_cast<std::int8_t>(integer);
    sum += integer;
  }
  scale = finite ? (usable ? largest / 127.0f : 0.0f) : std::numeric_limits<float>::quiet_NaN();
}

/// quantize_group on 32 floats in an instruction set of its own.
using QuantizeGroup = void (*)(const float* x, std::int8_t* value, float& scale, std::int32_t& sum);

struct QuantizePortable {
  static void group(const float* x, std::int8_t* value, float& scale, std::int32_t& sum) {
    quantize_group(x, group_size, value, scale, sum);
  }
};

/// Precondition: has_isa(isa).
[[nodiscard]] inline QuantizeGroup quantize_group_of(Isa isa) {
#if GPT2IE_X86_KERNELS
  if (isa != Isa::portable) return &QuantizeAvx2<float>::group;
#endif
  static_cast<void>(isa);
  return &QuantizePortable::group;
}

/// Memory for rows on their way into a product: allocated once, filled at each product.
class QuantizedRowBuffer {
 public:
  /// Room for rows of so many elements; keeps what it has if that is enough.
  void reserve(int rows, int elements) {
    const std::size_t groups = static_cast<std::size_t>(rows) * static_cast<std::size_t>(groups_of(elements));
    if (groups <= scale_.size()) return;
    value_ = HostBuffer<std::int8_t>(groups * group_size);
    scale_ = HostBuffer<float>(groups);
    sum_ = HostBuffer<std::int32_t>(groups);
  }

  /// Fills row `row` with x[elements]. Rows may be filled by several threads.
  void quantize(int row, const float* x, int elements, QuantizeGroup whole_group) {
    const int groups = groups_of(elements);
    for (int g = 0; g < groups; ++g, x += group_size) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * groups + g;
      std::int8_t* value = value_.data() + at * group_size;
      const int left = elements - g * group_size;
      if (left >= group_size) {
        whole_group(x, value, scale_.data()[at], sum_.data()[at]);
      } else {
        quantize_group(x, left, value, scale_.data()[at], sum_.data()[at]);
      }
    }
  }

  [[nodiscard]] QuantizedRows rows(int elements) const {
    return {value_.data(), scale_.data(), sum_.data(), groups_of(elements)};
  }

 private:
  HostBuffer<std::int8_t> value_;
  HostBuffer<float> scale_;
  HostBuffer<std::int32_t> sum_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

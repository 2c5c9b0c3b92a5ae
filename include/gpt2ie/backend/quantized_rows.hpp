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
#include <cstring>
#include <limits>

#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/quantized_rows_avx2.hpp>
#include <gpt2ie/backend/row_blocks.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Elements that share a scale.
inline constexpr int group_size = 32;

[[nodiscard]] inline constexpr int groups_of(int elements) { return (elements + group_size - 1) / group_size; }

/// Rows of integers from -127 to 127: element i of group g of row r stands for value * scale. The last group is filled
/// up with zeros. They lie in blocks, see row_blocks.hpp.
struct QuantizedRows {
  const std::int8_t* value;  ///< [block][group][8][rows of the block][4]
  const float* scale;        ///< [block][group][rows of the block]
  /// The sums of the values of each group of a row, with the other sign; as the scales.
  const std::int32_t* negated_sum;
  int groups;
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
    negated_sum_ = HostBuffer<std::int32_t>(groups);
  }

  /// Fills one block from x[rows, elements]. Blocks may be filled by several threads.
  void fill(const RowBlocks& blocks, int block, const float* x, int elements, QuantizeGroup whole_group) {
    const int groups = groups_of(elements), size = blocks.size(block);
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(blocks.begin(block)) * groups;
    for (int r = 0; r < size; ++r) {
      const float* from = x + static_cast<std::ptrdiff_t>(blocks.begin(block) + r) * elements;
      for (int g = 0; g < groups; ++g, from += group_size) {
        const std::ptrdiff_t at = begin + static_cast<std::ptrdiff_t>(g) * size;
        std::int8_t values[group_size];
        std::int32_t sum;
        const int left = elements - g * group_size;
        if (left >= group_size) {
          whole_group(from, values, scale_.data()[at + r], sum);
        } else {
          quantize_group(from, left, values, scale_.data()[at + r], sum);
        }
        negated_sum_.data()[at + r] = -sum;
        std::int8_t* to = value_.data() + at * group_size + r * 4;
        for (int quad = 0; quad < group_size / 4; ++quad) std::memcpy(to + quad * size * 4, values + quad * 4, 4);
      }
    }
  }

  [[nodiscard]] QuantizedRows rows(int elements) const {
    return {value_.data(), scale_.data(), negated_sum_.data(), groups_of(elements)};
  }

 private:
  HostBuffer<std::int8_t> value_;
  HostBuffer<float> scale_;
  HostBuffer<std::int32_t> negated_sum_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

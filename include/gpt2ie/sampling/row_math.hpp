// SPDX-License-Identifier: MIT
/// The passes over a whole row of scores that sampling is made of: the maximum, and exponentials with their sum.
///
/// Shapes: a row is [n] floats, one a token. It is worked on in blocks of 64, the last padded with -infinity, four
/// or eight floats at a time whatever the optimisation level. Results are the same for the same row on one machine.
/// Everything here is safe from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// Scores in a block.
inline constexpr std::size_t row_block = 64;

/// Blocks of a row of n scores.
constexpr std::size_t blocks_of(std::size_t n) { return (n + row_block - 1) / row_block; }

using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));

inline Float4 load4(const float* from) {
  Float4 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store4(float* to, Float4 value) { std::memcpy(to, &value, sizeof value); }

inline Float4 max4(Float4 a, Float4 b) { return a > b ? a : b; }

/// e^x for x <= 0, relative error below (2 + |x|) * 2^-23; 0 below -87, where floats begin to lose digits.
///
/// Method: Cody and Waite, "Software manual for the elementary functions", 1980, chapter 6, in base 2:
/// x / ln 2 = k + f with |f| <= 1/2, the Taylor polynomial of 2^f, and k added to the exponent.
inline Float4 exp4(Float4 x) {
  constexpr float log2_e = 1.44269504f;
  constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: a sum with it has no bits after the point, and ends in k
  const Float4 y = max4(x, Float4{} - 87.0f) * log2_e;
  const Float4 shifted = y + rounder;
  const Float4 f = y - (shifted - rounder);
  Float4 p = f * 1.5403530e-4f + 1.3333558e-3f;
  p = p * f + 9.6181291e-3f;
  p = p * f + 5.5504109e-2f;
  p = p * f + 2.4022651e-1f;
  p = p * f + 6.9314718e-1f;
  p = p * f + 1.0f;
  const Int4 k = (Int4)shifted - 0x4B400000;  // the bits of rounder
  const Float4 power = (Float4)((Int4)p + (k << 23));
  return x < -87.0f ? Float4{} : power;
}

/// The largest of one block; +infinity if it holds a NaN.
inline float block_max(const float* scores) {
  // A NaN makes the comparison false as +infinity does, so one test finds both.
  const auto checked = [](Float4 x) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return x <= std::numeric_limits<float>::max() ? x : Float4{} + infinity;
  };
  Float4 even = Float4{} + minus_infinity, odd = even;
  for (std::size_t i = 0; i < row_block; i += 8) {
    even = max4(even, checked(load4(scores + i)));
    odd = max4(odd, checked(load4(scores + i + 4)));
  }
  const Float4 best = max4(even, odd);
  return std::max(std::max(best[0], best[1]), std::max(best[2], best[3]));
}

/// weights[i] = e^(scores[i] - max) for one block; returns their sum.
using BlockExp = float (*)(const float* scores, float max, float* weights);

inline float block_exp_portable(const float* scores, float max, float* weights) {
  Float4 even = {}, odd = {};
  for (std::size_t i = 0; i < row_block; i += 8) {
    const Float4 first = exp4(load4(scores + i) - max), second = exp4(load4(scores + i + 4) - max);
    store4(weights + i, first);
    store4(weights + i + 4, second);
    even += first;
    odd += second;
  }
  const Float4 sum = even + odd;
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#if defined(__x86_64__)
/// The same, eight floats at a time with fused products: about three times as fast. The method is that of exp4, written
/// out because compilers split wide vectors in functions without the attribute before they inline them.
__attribute__((target("avx2,fma"))) inline float block_exp_avx2(const float* scores, float max, float* weights) {
  using Float8 = float __attribute__((vector_size(32)));
  using Int8 = std::int32_t __attribute__((vector_size(32)));
  constexpr float log2_e = 1.44269504f, rounder = 12582912.0f;
  Float8 sum = {};
  for (std::size_t i = 0; i < row_block; i += 8) {
    Float8 x;
    std::memcpy(&x, scores + i, sizeof x);
    x -= max;
    const Float8 y = (x < -87.0f ? Float8{} - 87.0f : x) * log2_e;
    const Float8 shifted = y + rounder;
    const Float8 f = y - (shifted - rounder);
    Float8 p = f * 1.5403530e-4f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    const Int8 k = (Int8)shifted - 0x4B400000;
    const Float8 power = (Float8)((Int8)p + (k << 23));
    const Float8 weight = x < -87.0f ? Float8{} : power;
    std::memcpy(weights + i, &weight, sizeof weight);
    sum += weight;
  }
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}
#endif

/// The fastest one that this processor runs.
inline BlockExp block_exp() {
#if defined(__x86_64__)
  static const BlockExp best =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? block_exp_avx2 : block_exp_portable;
  return best;
#else
  return block_exp_portable;
#endif
}

/// Calls `visit(block, scores, count)` for each block in order; `scores` points at 64 floats, `count` of them real.
template <class Visit>
void for_each_block(std::span<const float> row, Visit&& visit) {
  const std::size_t whole = row.size() / row_block, rest = row.size() % row_block;
  for (std::size_t b = 0; b < whole; ++b) visit(b, row.data() + b * row_block, row_block);
  if (rest == 0) return;
  std::array<float, row_block> padded;
  padded.fill(minus_infinity);
  std::copy_n(row.data() + whole * row_block, rest, padded.data());
  visit(whole, padded.data(), rest);
}

/// Where a row is largest.
struct RowMax {
  float value = minus_infinity;  ///< +infinity if a score is NaN or +infinity; -infinity if all are, or none is there
  std::size_t index = 0;         ///< the lowest one with that value, if the value is finite
};

inline RowMax row_max(std::span<const float> row) {
  RowMax best;
  std::size_t best_block = 0;
  for_each_block(row, [&](std::size_t block, const float* scores, std::size_t) {
    const float value = block_max(scores);
    if (value > best.value) {
      best.value = value;
      best_block = block;
    }
  });
  const auto from = row.begin() + static_cast<std::ptrdiff_t>(best_block * row_block);
  best.index = static_cast<std::size_t>(std::find(from, row.end(), best.value) - row.begin());
  return best;
}

/// The sum of e^(row[i] - max), each block of 64 in float and the blocks in double.
inline double row_exp_sum(std::span<const float> row, float max) {
  double sum = 0;
  const BlockExp exp = block_exp();
  float weights[row_block];  // no std::array: nvcc spells its size in a way that GCC refuses
  for_each_block(row, [&](std::size_t, const float* scores, std::size_t) {
    sum += static_cast<double>(exp(scores, max, weights));
  });
  return sum;
}

/// The same sum; keeps the weights [n] and the sum of each block [blocks_of(n)].
inline double row_exp_sum(std::span<const float> row, float max, float* weights, float* block_sums) {
  double sum = 0;
  const BlockExp exp = block_exp();
  float block_weights[row_block];
  for_each_block(row, [&](std::size_t block, const float* scores, std::size_t count) {
    block_sums[block] = exp(scores, max, block_weights);
    std::copy_n(block_weights, count, weights + block * row_block);
    sum += static_cast<double>(block_sums[block]);
  });
  return sum;
}

/// Divides each score.
inline void row_divide(std::span<float> row, float divisor) {
  std::size_t i = 0;
  for (; i + 4 <= row.size(); i += 4) store4(&row[i], load4(&row[i]) / divisor);
  for (; i < row.size(); ++i) row[i] /= divisor;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

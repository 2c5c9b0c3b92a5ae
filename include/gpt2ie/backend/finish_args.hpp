// SPDX-License-Identifier: MIT
/// The sums of one panel on their way out.
#pragma once

#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// y[rows, columns] = activation(sums + bias) + residual. An element depends on what belongs to it alone.
struct FinishArgs {
  static constexpr int width = 16;

  const float* sums;  ///< [rows, 16]
  int rows, columns;  ///< columns: at most 16
  const float* bias;  ///< [columns]; null: none
  Activation activation;
  const float* residual;  ///< as y; null: none
  float* y;
  std::ptrdiff_t stride;  ///< from one row of y to the next
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

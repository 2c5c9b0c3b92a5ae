// SPDX-License-Identifier: MIT
/// How many rows of prompts a step may carry beside running streams, from the time that steps took.
#pragma once

#include <algorithm>
#include <limits>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Keeps steps with prompts within `factor` times a step that only decodes, so that a long prompt stretches no gap
/// between the tokens of a stream by much more. It learns two numbers, a decoding step's time and what one more row of
/// a prompt adds, as moving averages; results of the model do not depend on what it says. One thread at a time.
///
/// A step with both tells the sum of the two alone. While a long prompt is read, every eighth step therefore goes
/// without it: decoding slows as its streams get longer, and held against the prompt that would leave it ever fewer
/// rows.
class PrefillPacer {
 public:
  /// factor: above 1; 0 for no limit.
  explicit PrefillPacer(double factor = 1.5) : factor_(factor) {}

  /// A step of these rows took so long.
  void observe(int decode_rows, int prefill_rows, double seconds) {
    mixed_ = decode_rows > 0 && prefill_rows > 0 ? (mixed_ + 1) % cycle : 0;
    if (decode_rows > 0 && prefill_rows == 0) {
      blend(decode_step_, seconds);
    } else if (prefill_rows > 0 && decode_rows == 0) {
      blend(prompt_row_, seconds / prefill_rows);
    } else if (prefill_rows > 0 && decode_step_ > 0) {
      blend(prompt_row_, std::max(0.0, seconds - decode_step_) / prefill_rows);
    }
  }

  /// Rows of prompts for the next step, if anything decodes in it. At least one but in every eighth step: prompts
  /// always go on.
  [[nodiscard]] int rows() const {
    if (factor_ <= 0) return std::numeric_limits<int>::max();
    if (mixed_ == cycle - 1) return 0;
    if (decode_step_ <= 0 || prompt_row_ <= 0) return unknown;
    const double rows = (factor_ - 1) * decode_step_ / prompt_row_;
    return static_cast<int>(std::clamp(rows, 1.0, 1e6));
  }

 private:
  static constexpr int unknown = 16;  // until both times are known
  static constexpr int cycle = 8;

  static void blend(double& average, double value) { average = average <= 0 ? value : 0.8 * average + 0.2 * value; }

  double factor_, decode_step_ = 0, prompt_row_ = 0;
  int mixed_ = 0;  // steps with both, since one with decoding alone
};

}  // namespace gpt2ie::inline GPT2IE_ABI

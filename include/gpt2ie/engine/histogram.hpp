// SPDX-License-Identifier: MIT
/// Counts of durations in fixed buckets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Seconds, in buckets that grow by about 2.15 (three a decade) from 0.1 ms to 100 s. Copyable; one thread at a time.
class Histogram {
 public:
  /// Upper ends of the buckets in seconds, included; one more bucket holds what is longer.
  static constexpr std::array<double, 19> bounds = {0.0001, 0.000215, 0.000464, 0.001, 0.00215, 0.00464, 0.01,
                                                    0.0215, 0.0464,   0.1,      0.215, 0.464,   1,       2.15,
                                                    4.64,   10,       21.5,     46.4,  100};

  void add(double seconds) {
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    ++count_;
    sum_ += seconds;
  }

  [[nodiscard]] const std::array<std::uint64_t, bounds.size() + 1>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }

  /// The share `q` in [0, 1] of all values lies at or below the returned one, by straight lines within the buckets; 0
  /// for none.
  [[nodiscard]] double quantile(double q) const {
    const double wanted = q * static_cast<double>(count_);
    double below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const auto here = static_cast<double>(counts_[i]);
      if (here > 0 && below + here >= wanted) {
        if (i == bounds.size()) return bounds.back();
        const double low = i ? bounds[i - 1] : 0;
        return low + (bounds[i] - low) * std::clamp((wanted - below) / here, 0.0, 1.0);
      }
      below += here;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Measures what a pool spends on copying.
#pragma once

#include <chrono>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Adds its own lifetime to copies.seconds.
class CopyTimer {
 public:
  explicit CopyTimer(CopyCount& copies) : copies_(copies), start_(std::chrono::steady_clock::now()) {}
  ~CopyTimer() { copies_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  CopyTimer(const CopyTimer&) = delete;
  CopyTimer& operator=(const CopyTimer&) = delete;

 private:
  CopyCount& copies_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

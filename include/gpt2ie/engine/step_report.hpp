// SPDX-License-Identifier: MIT
/// What an engine's observer sees of a step.
#pragma once

#include <cstdint>
#include <span>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A sequence's part in a step.
struct StepPart {
  std::uint64_t request;  ///< Handle::id
  int choice, slot;
  bool prefill;  ///< rows of a prompt, or of what a preempted sequence computes again
  int rows;
};

/// A step that ran. Valid during the call.
struct StepReport {
  std::span<const StepPart> parts;  ///< in order of their rows
  double seconds;                   ///< the model took
  int waiting;                      ///< sequences without a slot
};

}  // namespace gpt2ie::inline GPT2IE_ABI

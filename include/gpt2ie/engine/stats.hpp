// SPDX-License-Identifier: MIT
/// What an engine tells about itself.
#pragma once

#include <cstdint>

#include <gpt2ie/config.hpp>
#include <gpt2ie/engine/histogram.hpp>
#include <gpt2ie/scheduler/plan.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A moment's state, and counts since the start.
struct EngineStats {
  bool draining = false, dead = false;
  int queued = 0;                                        ///< requests that have not started
  int waiting = 0;                                       ///< sequences without a slot, preempted ones included
  int running = 0;                                       ///< sequences with a slot
  int slots = 0;                                         ///< sequences that may run at once
  int used_units = 0, cached_units = 0, free_units = 0;  ///< of the cache: slots or pages; together they are all
  SchedulerCounters scheduler;
  std::uint64_t submitted = 0;                                           ///< requests accepted
  std::uint64_t refused = 0;                                             ///< requests that met a full queue
  std::uint64_t finished = 0, cancelled = 0, timed_out = 0, failed = 0;  ///< requests, by their end
  std::uint64_t generated = 0;                                           ///< tokens drawn
  Histogram first_token;                                                 ///< from submit to a choice's first token
  Histogram between_tokens;                                              ///< of one choice
  Histogram step;                                                        ///< one run of the model
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// What an engine's thread and its callers share, and a request on the engine's side.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/engine/answer.hpp>
#include <gpt2ie/engine/handle.hpp>
#include <gpt2ie/engine/request.hpp>
#include <gpt2ie/engine/stats.hpp>
#include <gpt2ie/scheduler/plan.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

using EngineClock = std::chrono::steady_clock;

/// So much later than now. A duration that the clock can't hold, such as the longest there is, counts as a century.
inline EngineClock::time_point deadline_after(std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds century = std::chrono::hours(24 * 36525);
  return EngineClock::now() + std::clamp(duration, std::chrono::milliseconds(0), century);
}

/// A request between submit and its end. Made on the caller's thread, then the engine's alone.
template <class Order>
struct ActiveRequest {
  struct Choice {
    Answer<Order> answer;
    SequenceId sequence = SequenceId::none;
    bool over = false;
    EngineClock::time_point last_token = {};
  };

  std::shared_ptr<RequestState> state;
  Request request;
  std::vector<Token> prompt;
  std::uint64_t salt = 0;
  std::vector<Choice> choices;
  std::size_t open = 0;  // choices that are not over
  std::optional<EngineClock::time_point> deadline = {};
  bool started = false;
  std::size_t cached_tokens = 0;
  std::vector<ScoredToken> prompt_scores = {};
};

/// Everything here is read and written under the mutex.
template <class Order>
struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;  // something for the engine's thread
  std::condition_variable changed;  // a request ended, or the engine died
  std::vector<std::shared_ptr<ActiveRequest<Order>>> submitted;
  std::vector<std::shared_ptr<RequestState>> cancelled;
  bool stop = false, cancel_all = false, draining = false;
  std::exception_ptr cause;  // of death
  int queued = 0;            // requests that have not started
  int unfinished = 0;        // requests accepted and not over
  std::uint64_t accepted = 0, refused = 0;
  EngineStats stats;  // as of the last step

  void cancel(std::shared_ptr<RequestState> state) {
    {
      const std::scoped_lock lock(mutex);
      if (stop || cause) return;
      cancelled.push_back(std::move(state));
    }
    arrived.notify_one();
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// A scheduler and a book at work without a model: every step takes a modelled time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/planner/metered_book.hpp>
#include <gpt2ie/planner/metrics.hpp>
#include <gpt2ie/planner/workload.hpp>
#include <gpt2ie/scheduler/batch_scheduler.hpp>
#include <gpt2ie/scheduler/concepts.hpp>
#include <gpt2ie/scheduler/plan.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The modelled time of a step, in seconds: step + row * rows + context_token * (keys that the rows attend to, summed
/// over rows) + moved_token * (tokens that the book moved). The defaults are of the order of GPT-2 124M in float on two
/// cores (docs/simulation.md#the-time-of-a-step).
struct StepCost {
  double step = 15e-3;          ///< whatever the step holds: the weights are read once
  double row = 1.7e-3;          ///< the products of one row
  double context_token = 3e-6;  ///< K and V of one token are read for one row
  double moved_token = 6e-6;    ///< K and V of one token are copied

  [[nodiscard]] double seconds(std::span<const Run> runs, std::int64_t moved) const {
    double rows = 0, contexts = 0;
    for (const Run& run : runs) {
      const double first = run.first, count = run.count;
      rows += count;
      contexts += count * first + count * (count + 1) / 2;
    }
    return step + row * rows + context_token * contexts + moved_token * static_cast<double>(moved);
  }
};

struct SimulationOptions {
  int memory_tokens = 16384;  ///< room of the whole cache; what makes no whole unit of it is left out
  int max_length = 1024;      ///< tokens of the longest sequence
  int rows_per_step = 256;    ///< prompts get what decoding leaves of it
  StepCost cost = {};
  std::uint64_t seed = 7;  ///< of the tokens
};

struct SimulationResult {
  double internal_waste, external_fragmentation;  ///< as metrics.hpp defines them
  int peak_running;
  double mean_running;
  std::uint64_t preemptions;
  double tokens_per_s;  ///< tokens of answers, over the time from the first arrival to the end of the last step
  double mean_wait_s;   ///< from a request's arrival to the beginning of the first step with rows of it
  double seconds;       ///< simulated, from the first arrival to the end of the last step
  std::uint64_t steps;
  std::uint64_t prompt_rows;  ///< rows of prompts, and of what preempted sequences computed again
  std::int64_t moved_tokens;
  std::vector<StepSample> samples;  ///< one for each step
};

namespace detail {

template <class Slots, class Book>
class Simulation {
 public:
  Simulation(std::span<const SimulatedRequest> requests, const SimulationOptions& options)
      : requests_(requests),
        options_(options),
        now_(requests.front().arrival_s),
        limits_(limits_of(options)),
        book_(limits_),
        scheduler_(book_, limits_),
        progress_(requests.size()) {}

  SimulationResult run() {
    while (arrived_ < requests_.size() || !scheduler_.idle()) {
      receive();
      const Plan& plan = scheduler_.plan();
      if (!plan.empty()) {
        advance(plan);
      } else if (arrived_ < requests_.size() && requests_[arrived_].arrival_s > now_) {
        now_ = requests_[arrived_].arrival_s;
      } else {
        fail(errc::no_fit, "a book that has room for one sequence when nothing else runs", "no room for one");
      }
    }
    return summary();
  }

 private:
  struct Progress {
    double wait_s = -1;  // below 0: not started yet
    int answered = 0;
  };

  static Limits limits_of(const SimulationOptions& options) {
    return {.max_sequences = Slots::count,
            .max_rows = std::max(options.rows_per_step, Slots::count),
            .max_logit_rows = Slots::count,
            .cache_units = BookMemory<Book>::units(options.memory_tokens, options.max_length),
            .max_length = options.max_length,
            .tokens_per_step = options.rows_per_step};
  }

  /// Requests that have arrived by now join the queue.
  void receive() {
    for (; arrived_ < requests_.size() && requests_[arrived_].arrival_s <= now_; ++arrived_) {
      const SimulatedRequest& request = requests_[arrived_];
      SequenceSpec spec;
      spec.max_new_tokens = request.answer_tokens;
      for (int i = 0; i < request.prompt_tokens; ++i) spec.prompt.push_back(token(arrived_, i));
      request_of_.emplace(scheduler_.add(std::move(spec)), arrived_);
    }
  }

  /// The planned step runs.
  void advance(const Plan& plan) {
    for (const Planned& planned : plan.sequences) {
      Progress& progress = progress_[request_of_.at(planned.sequence)];
      if (progress.wait_s < 0) progress.wait_s = now_ - requests_[request_of_.at(planned.sequence)].arrival_s;
    }
    const std::int64_t moved = book_.use().moved;
    const double seconds = options_.cost.seconds(plan.step.runs, moved - std::exchange(moved_, moved));
    const std::span<const PendingDraw> draws = scheduler_.commit();
    book_.settle();
    const MemoryUse use = book_.use();
    samples_.push_back({.begin_s = now_,
                        .seconds = seconds,
                        .running = scheduler_.running(),
                        .waiting = scheduler_.waiting(),
                        .written = book_.written_tokens(),
                        .held = use.held,
                        .free = use.free,
                        .largest_free = use.largest_free});
    now_ += seconds;
    for (const PendingDraw& draw : draws) answer(draw.sequence);
  }

  void answer(SequenceId id) {
    const std::size_t index = request_of_.at(id);
    const SimulatedRequest& request = requests_[index];
    if (++progress_[index].answered == request.answer_tokens) {
      scheduler_.finish(id);
    } else {
      scheduler_.append(id, token(index, request.prompt_tokens + progress_[index].answered - 1));
    }
  }

  [[nodiscard]] Token token(std::size_t request, int position) const {
    return simulated_token(options_.seed, request, position);
  }

  SimulationResult summary() {
    const double seconds = now_ - requests_.front().arrival_s;
    double tokens = 0, wait_s = 0;
    for (const Progress& progress : progress_) {
      tokens += progress.answered;
      wait_s += progress.wait_s;
    }
    const SchedulerCounters& counters = scheduler_.counters();
    return {.internal_waste = internal_waste(samples_),
            .external_fragmentation = external_fragmentation(samples_),
            .peak_running = peak_running(samples_),
            .mean_running = mean_running(samples_),
            .preemptions = counters.preemptions,
            .tokens_per_s = seconds > 0 ? tokens / seconds : 0,
            .mean_wait_s = wait_s / static_cast<double>(progress_.size()),
            .seconds = seconds,
            .steps = counters.steps,
            .prompt_rows = counters.prefilled,
            .moved_tokens = moved_,
            .samples = std::move(samples_)};
  }

  std::span<const SimulatedRequest> requests_;
  SimulationOptions options_;
  double now_;
  Limits limits_;
  MeteredBook<Book> book_;
  BatchScheduler<Slots, MeteredBook<Book>> scheduler_;
  std::size_t arrived_ = 0;
  std::int64_t moved_ = 0;
  std::vector<Progress> progress_;                          // [requests]
  std::unordered_map<SequenceId, std::size_t> request_of_;  // index of the request
  std::vector<StepSample> samples_;
};

inline void check(std::span<const SimulatedRequest> requests, const SimulationOptions& options) {
  const auto require = [](bool holds, std::string expected, std::string found) {
    if (!holds) fail(errc::bad_request, std::move(expected), std::move(found));
  };
  require(options.max_length >= 2, "a longest sequence of at least 2 tokens", std::to_string(options.max_length));
  require(options.memory_tokens >= options.max_length,
          "a memory of at least " + std::to_string(options.max_length) + " tokens, which the longest sequence may take",
          std::to_string(options.memory_tokens));
  require(options.rows_per_step >= 1, "at least 1 row in a step", std::to_string(options.rows_per_step));
  const StepCost& cost = options.cost;
  for (const double seconds : {cost.step, cost.row, cost.context_token, cost.moved_token}) {
    require(std::isfinite(seconds) && seconds >= 0, "costs of at least 0 seconds", std::to_string(seconds));
  }
  require(cost.step + cost.row + cost.context_token > 0, "a step that takes more than 0 seconds", "costs of 0");
  require(!requests.empty(), "at least 1 request", "none");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const SimulatedRequest& request = requests[i];
    const std::string name = "request " + std::to_string(i);
    require(request.prompt_tokens >= 1 && request.answer_tokens >= 1,
            "a prompt and an answer of at least 1 token each in " + name,
            std::to_string(request.prompt_tokens) + " and " + std::to_string(request.answer_tokens));
    require(request.answer_tokens <= options.max_length - request.prompt_tokens,
            "at most " + std::to_string(options.max_length) + " tokens in " + name,
            std::to_string(request.prompt_tokens) + " and " + std::to_string(request.answer_tokens));
    require(std::isfinite(request.arrival_s) && (i == 0 || request.arrival_s >= requests[i - 1].arrival_s),
            "requests in order of arrival", std::to_string(request.arrival_s) + " seconds in " + name);
  }
}

}  // namespace detail

/// Runs all requests, given in order of arrival, through a BatchScheduler over a Book. A pure function: the result
/// depends on nothing but its arguments. Costs O(rows + steps * sequences) time, and memory for the samples. Errors:
/// bad_request for options or requests out of range.
template <SlotPolicy Slots, CacheBook Book>
SimulationResult simulate(std::span<const SimulatedRequest> requests, const SimulationOptions& options) {
  detail::check(requests, options);
  return detail::Simulation<Slots, Book>(requests, options).run();
}

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Random schedules of known requests over a storage: every token and log-probability is, to the bit, what the request
/// is answered alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/scheduler/batch_scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>

#include "contract/known_requests.hpp"

namespace gpt2ie_test {

/// What the trials went through.
struct ScheduleSeen {
  std::uint64_t schedules = 0, answers = 0, tokens = 0, scored = 0, cancelled = 0, rollbacks = 0;
  std::uint64_t preemptions = 0, prefix_hits = 0, forks = 0;
};

template <class Storage>
class ScheduleTrial {
 public:
  using Backend = gpt2ie::backend::SimdCpu<float>;
  using Executor = gpt2ie::Executor<Backend, gpt2ie::attention::Flash<64, 64>, Storage>;
  using Slots = gpt2ie::slots::Continuous<17>;
  using Scheduler = gpt2ie::BatchScheduler<Slots, typename Executor::book_type>;

  /// One executor for `schedules` schedules, so that the later ones find what the earlier ones left in the cache.
  static void run(unsigned seed, int threads, int schedules, ScheduleSeen& seen) {
    std::mt19937 random(seed);
    const auto draw = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const int chunk = std::vector<int>{1, 7, 64}[static_cast<std::size_t>(draw(3))];
    // From room for one and a bit, to room for all.
    const int units = draw(2) == 0 ? 3 + draw(6) : 60;
    const gpt2ie::Limits limits{.max_sequences = Slots::count,
                                .max_rows = 96,
                                .max_logit_rows = Slots::count + draw(16),
                                .cache_units = paged ? units : 0,
                                .max_length = longest_known,
                                .tokens_per_step = chunk + (draw(3) == 0 ? 0 : Slots::count)};
    Executor executor(Backend(threads), tales_weights(), limits);
    for (int i = 0; i < schedules; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      ScheduleTrial(executor, chunk, random, seen).run();
    }
  }

 private:
  static constexpr bool paged = requires(const typename Storage::book book, gpt2ie::SeqId seq) { book.pages(seq); };

  struct Running {
    const KnownRequest* request;
    std::size_t choice;
    bool scores;
    gpt2ie::Answer<TalesOrder> answer;
    std::size_t scored = 0;
  };

  ScheduleTrial(Executor& executor, int chunk, std::mt19937& random, ScheduleSeen& seen)
      : executor_(executor),
        chunk_(chunk),
        random_(random),
        seen_(seen),
        scheduler_(executor.book(), executor.limits(), {.max_preemptions = draw(4)}) {}

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void run() {
    const int others = std::vector<int>{0, 1, 2, 7, 16}[static_cast<std::size_t>(draw(5))], pace = 1 + draw(3);
    for (int left = 1 + others; left > 0 || !scheduler_.idle();) {
      for (; left > 0 && draw(pace) == 0; --left) add();
      if (draw(16) == 0) cancel();
      step();
    }
    check_units();
    REQUIRE(executor_.book().capacity().free_units == executor_.book().capacity().total_units);
    ++seen_.schedules;
    seen_.preemptions += scheduler_.counters().preemptions;
    seen_.prefix_hits += scheduler_.counters().prefix_hits;
    seen_.forks += scheduler_.counters().forks;
  }

  void add() {
    const auto& all = known_requests<typename Storage::element>();
    const KnownRequest& request = all[static_cast<std::size_t>(draw(static_cast<int>(all.size())))];
    const int priority = draw(4) == 0 ? draw(3) - 1 : 0;
    const auto salt = static_cast<std::uint64_t>(draw(5) == 0);
    gpt2ie::SequenceId leader = gpt2ie::SequenceId::none;
    for (std::size_t i = 0; i < request.choices.size(); ++i) {
      const bool scores = i == 0 && request.prompt.size() > 1 && draw(4) == 0;
      const gpt2ie::SequenceId id = scheduler_.add({.prompt = request.prompt,
                                                    .max_new_tokens = request.options.max_new_tokens,
                                                    .priority = priority,
                                                    .salt = salt,
                                                    .prompt_logits = scores,
                                                    .leader = leader});
      if (i == 0) leader = id;
      running_.emplace(id,
                       Running{.request = &request,
                               .choice = i,
                               .scores = scores,
                               .answer = {executor_.config(), nullptr, request.options, request.prompt.size(),
                                          executor_.limits().max_length, workspace(), static_cast<std::uint32_t>(i)}});
      ids_.push_back(id);
    }
  }

  /// A neighbour goes, wherever it stands.
  void cancel() {
    if (ids_.empty()) return;
    const gpt2ie::SequenceId id = ids_[static_cast<std::size_t>(draw(static_cast<int>(ids_.size())))];
    if (running_.erase(id) == 0) return;
    scheduler_.finish(id);
    ++seen_.cancelled;
  }

  void step() {
    const gpt2ie::Plan& plan = scheduler_.plan(chunk_);
    if (plan.empty()) {
      REQUIRE(scheduler_.idle());
      return;
    }
    const std::span<const float> logits = executor_.run(plan.step);
    if (draw(24) == 0) {  // as if it had failed at its end
      scheduler_.rollback();
      ++seen_.rollbacks;
      return;
    }
    const std::span<const gpt2ie::PendingDraw> draws = scheduler_.commit();
    const auto vocab = static_cast<std::size_t>(executor_.config().vocab);
    const auto row = [&](int i) { return logits.subspan(static_cast<std::size_t>(i) * vocab, vocab); };
    for (const gpt2ie::Planned& planned : plan.sequences) {
      for (int i = 0; i < planned.logits; ++i) score(planned, i, row(planned.first_logit + i));
    }
    for (const gpt2ie::PendingDraw& draw : draws) advance(draw.sequence, row(draw.logit_row));
    check_units();
  }

  void score(const gpt2ie::Planned& planned, int i, std::span<const float> logits) {
    Running& running = running_.at(planned.sequence);
    const auto position = static_cast<std::size_t>(planned.logit_position + i);
    const std::vector<float>& expected = running.request->prompt_logprobs;
    if (!running.scores || position >= expected.size()) return;
    REQUIRE(position == running.scored);
    REQUIRE(gpt2ie::token_logprob(logits, running.request->prompt[position + 1]) == expected[position]);
    ++running.scored;
    ++seen_.scored;
  }

  void advance(gpt2ie::SequenceId id, std::span<const float> logits) {
    Running& running = running_.at(id);
    const gpt2ie::Token token = running.answer.draw(logits, scheduler_.tokens(id));
    const KnownChoice& expected = running.request->choices[running.choice];
    const std::size_t made = running.answer.result().tokens.size();
    REQUIRE(made <= expected.tokens.size());
    REQUIRE(token == expected.tokens[made - 1]);
    REQUIRE(running.answer.result().token_logprobs.back() == expected.logprobs[made - 1]);
    ++seen_.tokens;
    if (!running.answer.ended()) return scheduler_.append(id, token);
    REQUIRE(known_choice(running.answer.result()) == expected);
    REQUIRE((!running.scores || running.scored == running.request->prompt_logprobs.size()));
    scheduler_.finish(id);
    running_.erase(id);
    ++seen_.answers;
  }

  void check_units() const {
    const auto& book = executor_.book();
    const gpt2ie::Capacity capacity = book.capacity();
    const int used = capacity.total_units - capacity.free_units;
    if constexpr (paged) {
      int held = 0;
      for (int page = 0; page < capacity.total_units; ++page) held += book.references(page) > 0;
      REQUIRE(held == used);
    } else {
      // Those that wait for their leader's prompt have none yet.
      REQUIRE(used <= scheduler_.running());
    }
    REQUIRE(capacity.cached_units <= capacity.free_units);
  }

  static std::shared_ptr<gpt2ie::Candidates> workspace() {
    static const auto shared = std::make_shared<gpt2ie::Candidates>(tales_weights()->config().vocab);
    return shared;
  }

  Executor& executor_;
  int chunk_;
  std::mt19937& random_;
  ScheduleSeen& seen_;
  Scheduler scheduler_;
  std::unordered_map<gpt2ie::SequenceId, Running> running_;
  std::vector<gpt2ie::SequenceId> ids_;
};

/// `rounds` executors of five schedules each.
template <class Storage>
ScheduleSeen try_schedules(unsigned seed, int threads, int rounds) {
  ScheduleSeen seen;
  for (int round = 0; round < rounds; ++round) {
    ScheduleTrial<Storage>::run(seed * 100000 + static_cast<unsigned>(round), threads, 5, seen);
  }
  MESSAGE(seen.schedules, " schedules, ", seen.answers, " answers of ", seen.tokens, " tokens, ", seen.cancelled,
          " cancelled, ", seen.preemptions, " preemptions, ", seen.prefix_hits, " tokens found in the cache, ",
          seen.forks, " forks, ", seen.rollbacks, " steps repeated");
  return seen;
}

}  // namespace gpt2ie_test

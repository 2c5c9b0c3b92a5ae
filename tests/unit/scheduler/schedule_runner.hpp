// SPDX-License-Identifier: MIT
/// A scheduler over a book of its own with a stand-in for the model, and a check of everything it plans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>
#include <gpt2ie/scheduler/batch_scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>

namespace gpt2ie_test {

/// The stand-in: a next token that depends on every token before it.
inline gpt2ie::Token next_token(std::span<const gpt2ie::Token> tokens) {
  std::uint32_t hash = 17;
  for (const gpt2ie::Token token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * 16777619u + 1u;
  return static_cast<gpt2ie::Token>(hash >> 20);
}

/// `count` tokens, equal for equal texts.
inline std::vector<gpt2ie::Token> prompt_of(int count, int text = 0) {
  std::vector<gpt2ie::Token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(1000 * text + i);
  return tokens;
}

/// Units that sequences hold; the rest must be free or cached.
template <int PageTokens, class Hash>
int held_units(const gpt2ie::PageBook<PageTokens, Hash>& book) {
  int held = 0;
  for (int page = 0; page < book.capacity().total_units; ++page) held += book.references(page) > 0;
  return held;
}

template <class Slots, class Book = gpt2ie::PageBook<4>>
class ScheduleRunner {
 public:
  using Id = gpt2ie::SequenceId;

  explicit ScheduleRunner(const gpt2ie::Limits& limits, const gpt2ie::SchedulerOptions& options = {})
      : limits_(limits), options_(options), book_(limits), scheduler_(book_, limits, options) {}

  Id add(gpt2ie::SequenceSpec spec) {
    const Id id = scheduler_.add(spec);
    REQUIRE(known_.count(id) == 0);
    known_.emplace(id, Known{std::move(spec)});
    return id;
  }

  void finish(Id id) {
    scheduler_.finish(id);
    known_.at(id).over = true;
    check_units();
  }

  /// Plans and checks a step; it is not run yet.
  const gpt2ie::Plan& plan(int prefill_rows = std::numeric_limits<int>::max()) {
    const gpt2ie::Plan& plan = scheduler_.plan(prefill_rows);
    check(plan, prefill_rows);
    return plan;
  }

  const gpt2ie::Plan& plan_alone(Id id) {
    const gpt2ie::Plan& plan = scheduler_.plan_alone(id);
    check(plan, std::numeric_limits<int>::max());
    return plan;
  }

  void rollback() {
    scheduler_.rollback();
    check_units();
  }

  /// The planned step runs: every draw is answered with the stand-in's token.
  void commit(const gpt2ie::Plan& plan) {
    for (const gpt2ie::Move& move : book_.moves()) REQUIRE(move.from != move.to);
    book_.settle();
    for (const gpt2ie::Planned& planned : plan.sequences) {
      const gpt2ie::Run& run = plan.step.runs[static_cast<std::size_t>(planned.run)];
      Known& known = known_.at(planned.sequence);
      known.computed = run.first + run.count;
      for (int i = 0; i < planned.logits; ++i) known.scored.insert(planned.logit_position + i);
    }
    const std::span<const gpt2ie::PendingDraw> pending = scheduler_.commit();
    const std::vector<gpt2ie::PendingDraw> draws(pending.begin(), pending.end());
    const auto planned_draws = std::count_if(plan.sequences.begin(), plan.sequences.end(),
                                             [](const gpt2ie::Planned& planned) { return planned.draws; });
    REQUIRE(static_cast<std::ptrdiff_t>(draws.size()) >= planned_draws);
    for (const gpt2ie::Planned& planned : plan.sequences) finish_scored(planned.sequence);
    for (const gpt2ie::PendingDraw& draw : draws) {
      REQUIRE(draw.logit_row >= 0);
      REQUIRE(draw.logit_row < static_cast<int>(plan.step.logit_rows.size()));
      draw_for(draw.sequence);
    }
    check_units();
  }

  /// One whole step; false: nobody could run.
  bool step(int prefill_rows = std::numeric_limits<int>::max()) {
    const gpt2ie::Plan& planned = plan(prefill_rows);
    if (planned.empty()) return false;
    commit(planned);
    return true;
  }

  void run_to_end(int most_steps = 100000) {
    while (!scheduler_.idle()) {
      REQUIRE(--most_steps > 0);
      REQUIRE(step());
    }
    const gpt2ie::Capacity capacity = book_.capacity();
    REQUIRE(capacity.free_units == capacity.total_units);
    REQUIRE(scheduler_.running() == 0);
    REQUIRE(scheduler_.waiting() == 0);
  }

  /// What the stand-in says to a prompt, alone.
  static std::vector<gpt2ie::Token> alone(std::vector<gpt2ie::Token> tokens, int count) {
    std::vector<gpt2ie::Token> made;
    for (int i = 0; i < count; ++i) {
      made.push_back(next_token(tokens));
      tokens.push_back(made.back());
    }
    return made;
  }

  [[nodiscard]] const std::vector<gpt2ie::Token>& made(Id id) const { return known_.at(id).made; }
  [[nodiscard]] bool over(Id id) const { return known_.at(id).over; }
  /// Whether it ended by itself, with every token and every logit that it was to get.
  [[nodiscard]] bool complete(Id id) const {
    const Known& known = known_.at(id);
    const auto prompt = static_cast<int>(known.spec.prompt.size());
    const int longest = std::min(limits_.max_length, prompt + known.spec.max_new_tokens);
    if (known.made != alone(known.spec.prompt, longest - prompt)) return false;
    if (!known.spec.prompt_logits) return true;
    for (int position = 0; position + 1 < prompt; ++position) {
      if (known.scored.count(position) == 0) return false;
    }
    return true;
  }
  [[nodiscard]] gpt2ie::BatchScheduler<Slots, Book>& scheduler() { return scheduler_; }
  [[nodiscard]] Book& book() { return book_; }

 private:
  struct Known {
    gpt2ie::SequenceSpec spec;
    std::vector<gpt2ie::Token> made = {};
    std::set<int> scored = {};  // positions whose logits were handed out
    int computed = 0;           // positions that the cache holds of it, as far as the plans told
    int preemptions = 0;
    bool over = false;
  };

  void draw_for(Id id) {
    Known& known = known_.at(id);
    REQUIRE_FALSE(known.over);
    const auto tokens = scheduler_.tokens(id);
    REQUIRE(tokens.size() == known.spec.prompt.size() + known.made.size());
    known.made.push_back(next_token(tokens));
    const int length = static_cast<int>(tokens.size()) + 1;
    if (static_cast<int>(known.made.size()) == known.spec.max_new_tokens || length == limits_.max_length) {
      finish(id);
    } else {
      scheduler_.append(id, known.made.back());
    }
  }

  /// A prompt that is only to be scored is over with its last row.
  void finish_scored(Id id) {
    const Known& known = known_.at(id);
    const bool draws = known.spec.max_new_tokens > 0 && static_cast<int>(known.spec.prompt.size()) < limits_.max_length;
    if (!draws && known.scored.count(static_cast<int>(known.spec.prompt.size()) - 2) != 0) finish(id);
  }

  void check_units() const {
    const gpt2ie::Capacity capacity = book_.capacity();
    if constexpr (requires { held_units(book_); })
      REQUIRE(held_units(book_) + capacity.free_units == capacity.total_units);
    REQUIRE(capacity.cached_units <= capacity.free_units);
    REQUIRE(scheduler_.running() <= Slots::count);
  }

  void check(const gpt2ie::Plan& plan, int prefill_rows) {
    const gpt2ie::Step& step = plan.step;
    REQUIRE(plan.sequences.size() == step.runs.size());
    REQUIRE(step.tokens.size() == step.positions.size());
    std::set<Id> ids;
    std::set<int> slots;
    std::set<gpt2ie::SeqId> open;
    int row = 0, logit = 0, streams = 0, prefilling = 0;
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
      const gpt2ie::Planned& planned = plan.sequences[i];
      const gpt2ie::Run& run = step.runs[i];
      REQUIRE(planned.run == static_cast<int>(i));
      REQUIRE(ids.insert(planned.sequence).second);
      REQUIRE(slots.insert(planned.slot).second);
      REQUIRE(open.insert(run.seq).second);
      REQUIRE(planned.slot >= 0);
      REQUIRE(planned.slot < Slots::count);
      REQUIRE(run.row == row);
      REQUIRE(run.count > 0);
      const bool starts = check_coverage(planned.sequence, run);
      check_rows(planned, run, step, logit);
      row += run.count;
      logit += planned.logits;
      prefilling += planned.prefill ? run.count : 0;
      streams += !planned.prefill && !starts;
    }
    REQUIRE(row == step.rows());
    REQUIRE(logit == static_cast<int>(step.logit_rows.size()));
    REQUIRE(logit <= limits_.max_logit_rows);
    REQUIRE(row <= limits_.max_rows);
    // A last row of a prompt goes with the decoded ones, whatever the budget: at most one for each slot.
    if (options_.retains) REQUIRE(row <= std::max(limits_.tokens_per_step, Slots::count));
    if (streams > 0) REQUIRE(prefilling <= std::max(prefill_rows, Slots::count));
  }

  /// A sequence's runs follow one another: from what the cache held when it started, or from where its leader was.
  /// Whether this is its first run since it started.
  bool check_coverage(Id id, const gpt2ie::Run& run) {
    Known& known = known_.at(id);
    const int times = scheduler_.preemptions(id);
    const bool starts = known.computed == 0 || times != known.preemptions;
    if (times != known.preemptions) {
      REQUIRE(times > known.preemptions);
      REQUIRE(times <= std::max(options_.max_preemptions, 0));
      known.preemptions = times;
    }
    if (starts) known.computed = scheduler_.matched(id);
    if (options_.retains) REQUIRE(run.first == known.computed);
    return starts;
  }

  void check_rows(const gpt2ie::Planned& planned, const gpt2ie::Run& run, const gpt2ie::Step& step, int logit) {
    const auto tokens = scheduler_.tokens(planned.sequence);
    REQUIRE(run.first + run.count <= static_cast<int>(tokens.size()));
    bool same = true;
    for (int i = 0; i < run.count; ++i) {
      const auto at = static_cast<std::size_t>(run.row + i);
      same = same && step.positions[at] == run.first + i &&
             step.tokens[at] == tokens[static_cast<std::size_t>(run.first + i)];
    }
    REQUIRE(same);
    REQUIRE(planned.first_logit == logit);
    for (int i = 0; i < planned.logits; ++i) {
      const int row = step.logit_rows[static_cast<std::size_t>(logit + i)];
      REQUIRE(step.positions[static_cast<std::size_t>(row)] == planned.logit_position + i);
      REQUIRE(row >= run.row);
      REQUIRE(row < run.row + run.count);
    }
    if (planned.draws) {
      REQUIRE(run.first + run.count == static_cast<int>(tokens.size()));
      REQUIRE(planned.logit_position + planned.logits == run.first + run.count);
    }
  }

  gpt2ie::Limits limits_;
  gpt2ie::SchedulerOptions options_;
  Book book_;
  gpt2ie::BatchScheduler<Slots, Book> scheduler_;
  std::map<Id, Known> known_;
};

}  // namespace gpt2ie_test

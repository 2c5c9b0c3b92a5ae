// SPDX-License-Identifier: MIT
/// Random schedules over books: whatever comes, goes, fails and is short of room, each sequence gets its own tokens
/// once and in order, and every unit is accounted for at every step.
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "unit/scheduler/schedule_runner.hpp"

namespace {

namespace slots = gpt2ie::slots;
using gpt2ie::SequenceId;
using gpt2ie_test::prompt_of;
using gpt2ie_test::ScheduleRunner;

/// What was seen over many schedules.
struct Seen {
  std::uint64_t preemptions = 0, forks = 0, hits = 0, complete = 0, cancelled = 0, rollbacks = 0;
};

template <class Slots, class Book>
class Trial {
 public:
  Trial(unsigned seed, Seen& seen) : random_(seed), seen_(seen), limits_(make_limits()), runner_(limits_, options()) {}

  void run() {
    const int requests = 1 + draw(24);
    int added = 0, steps = 0;
    const int pace = 1 + draw(6);
    while (added < requests || !runner_.scheduler().idle()) {
      REQUIRE(++steps < 20000);
      for (; added < requests && draw(pace) == 0; ++added) add();
      if (draw(12) == 0) cancel();
      step();
    }
    REQUIRE(runner_.book().capacity().free_units == runner_.book().capacity().total_units);
    for (const SequenceId id : ids_) {
      if (cancelled_.count(id) != 0) continue;
      REQUIRE(runner_.complete(id));
      ++seen_.complete;
    }
    const gpt2ie::SchedulerCounters& counters = runner_.scheduler().counters();
    seen_.preemptions += counters.preemptions;
    seen_.forks += counters.forks;
    seen_.hits += counters.prefix_hits;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  gpt2ie::Limits make_limits() {
    gpt2ie::Limits limits{.max_sequences = Slots::count, .max_rows = 32, .max_logit_rows = Slots::count + draw(8)};
    limits.max_length = 8 + draw(32);
    limits.cache_units = Slots::count;
    if constexpr (requires(Book book, gpt2ie::SeqId seq) { book.pages(seq); }) {
      const int alone = Book::pages_for(limits.max_length);
      limits.cache_units = alone + draw(2 * alone);
      limits.max_sequences -= draw(4) == 0 && Slots::count > 1;
    }
    limits.tokens_per_step = 1 + draw(32);
    return limits;
  }
  gpt2ie::SchedulerOptions options() { return {.max_preemptions = draw(4)}; }

  /// One request of up to four choices.
  void add() {
    const int prompt = 1 + draw(limits_.max_length), text = draw(4), choices = draw(4) == 0 ? 1 + draw(4) : 1;
    const int priority = draw(5) == 0 ? draw(5) - 2 : 0, answer = 1 + draw(12);
    const bool scores = prompt > 1 && draw(5) == 0;
    SequenceId leader = SequenceId::none;
    for (int i = 0; i < choices; ++i) {
      const bool scored_only = scores && i == 0 && choices == 1 && draw(2) == 0;
      if (prompt == limits_.max_length && !(scores && i == 0)) continue;  // no room for an answer
      const SequenceId id = runner_.add({.prompt = prompt_of(prompt, text),
                                         .max_new_tokens = scored_only ? 0 : answer,
                                         .priority = priority,
                                         .salt = static_cast<std::uint64_t>(draw(6) == 0),
                                         .prompt_logits = scores && i == 0,
                                         .leader = leader});
      if (i == 0) leader = id;
      ids_.push_back(id);
    }
  }

  void cancel() {
    if (ids_.empty()) return;
    const SequenceId id = ids_[static_cast<std::size_t>(draw(static_cast<int>(ids_.size())))];
    if (runner_.over(id)) return;
    runner_.finish(id);
    cancelled_.insert(id);
    ++seen_.cancelled;
  }

  void step() {
    const int prefill_rows = draw(3) == 0 ? 1000 : draw(9);
    const gpt2ie::Plan& plan = runner_.plan(prefill_rows);
    if (plan.empty()) {
      // Somebody can always run, if there is anybody.
      REQUIRE(runner_.scheduler().idle());
      return;
    }
    if (draw(10) != 0) return runner_.commit(plan);
    runner_.rollback();
    ++seen_.rollbacks;
    // As an engine looks for who is at fault.
    for (const SequenceId id : ids_) {
      if (runner_.over(id) || draw(2) == 0) continue;
      const gpt2ie::Plan& alone = runner_.plan_alone(id);
      if (!alone.empty()) runner_.commit(alone);
    }
  }

  std::mt19937 random_;
  Seen& seen_;
  gpt2ie::Limits limits_;
  ScheduleRunner<Slots, Book> runner_;
  std::vector<SequenceId> ids_;
  std::set<SequenceId> cancelled_;
};

template <class Slots, class Book = gpt2ie::PageBook<4>>
Seen try_many(unsigned schedules) {
  Seen seen;
  for (unsigned seed = 1; seed <= schedules; ++seed) {
    CAPTURE(seed);
    Trial<Slots, Book>(seed, seen).run();
  }
  return seen;
}

}  // namespace

TEST_CASE("random schedules over pages: continuous") {
  const Seen seen = try_many<slots::Continuous<5>>(3000);
  CHECK(seen.complete > 10000);
  CHECK(seen.cancelled > 1000);
  CHECK(seen.preemptions > 1000);
  CHECK(seen.forks > 1000);
  CHECK(seen.hits > 1000);
  CHECK(seen.rollbacks > 1000);
}

TEST_CASE("random schedules over pages: static, one at a time, and many slots") {
  CHECK(try_many<slots::Static<4>>(500).preemptions > 50);
  CHECK(try_many<slots::Sequential>(500).preemptions == 0);
  CHECK(try_many<slots::Continuous<17>>(500).preemptions > 100);
}

TEST_CASE("random schedules over slots") {
  const Seen seen = try_many<slots::Continuous<5>, gpt2ie::SlotBook>(1000);
  CHECK(seen.complete > 5000);
  CHECK(seen.forks > 200);
  CHECK(seen.preemptions == 0);
}

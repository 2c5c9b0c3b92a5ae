// SPDX-License-Identifier: MIT
/// Who runs in which step: order, chunks, slots, giving way, forks.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/scheduler/batch_scheduler.hpp>

#include "support/count_allocations.hpp"
#include "unit/core/error_code.hpp"
#include "unit/scheduler/schedule_runner.hpp"

namespace slots = gpt2ie::slots;

using gpt2ie::errc;
using gpt2ie::Limits;
using gpt2ie::Plan;
using gpt2ie::SequenceId;
using gpt2ie_test::prompt_of;
using gpt2ie_test::ScheduleRunner;

namespace {

/// Pages of 4 tokens, as many as ask for, and steps of any size.
Limits pages(int units, int sequences = 4) {
  return {.max_sequences = sequences,
          .max_rows = 64,
          .max_logit_rows = 64,
          .cache_units = units,
          .max_length = 64,
          .tokens_per_step = 64};
}

using Rows = std::vector<std::pair<SequenceId, int>>;

/// Rows of each sequence in the next step, which is then run.
template <class Runner>
Rows rows_of_step(Runner& runner, int prefill_rows = 1000) {
  const Plan& plan = runner.plan(prefill_rows);
  Rows rows;
  for (const gpt2ie::Planned& planned : plan.sequences) {
    rows.emplace_back(planned.sequence, plan.step.runs[static_cast<std::size_t>(planned.run)].count);
  }
  runner.commit(plan);
  return rows;
}

}  // namespace

TEST_CASE("higher priority goes first, among equals who came first") {
  ScheduleRunner<slots::Sequential> runner(pages(16));
  const SequenceId a = runner.add({.prompt = prompt_of(3), .max_new_tokens = 2});
  const SequenceId b = runner.add({.prompt = prompt_of(3, 1), .max_new_tokens = 1});
  const SequenceId c = runner.add({.prompt = prompt_of(3, 2), .max_new_tokens = 1, .priority = 5});
  const SequenceId d = runner.add({.prompt = prompt_of(3, 3), .max_new_tokens = 1, .priority = -1});
  CHECK(rows_of_step(runner) == Rows{{c, 3}});
  // Who runs is not driven out by who waits.
  CHECK(rows_of_step(runner) == Rows{{a, 3}});
  const SequenceId e = runner.add({.prompt = prompt_of(2, 4), .max_new_tokens = 1, .priority = 9});
  CHECK(rows_of_step(runner) == Rows{{a, 1}});
  CHECK(rows_of_step(runner) == Rows{{e, 2}});
  CHECK(rows_of_step(runner) == Rows{{b, 3}});
  CHECK(rows_of_step(runner) == Rows{{d, 3}});
  CHECK(runner.scheduler().idle());
}

TEST_CASE("decoded tokens go first, and prompts share what is left of a step") {
  Limits limits = pages(64);
  limits.tokens_per_step = 8;
  ScheduleRunner<slots::Continuous<4>> runner(limits);
  const SequenceId a = runner.add({.prompt = prompt_of(5), .max_new_tokens = 20});
  const SequenceId b = runner.add({.prompt = prompt_of(10, 1), .max_new_tokens = 20});
  const SequenceId c = runner.add({.prompt = prompt_of(20, 2), .max_new_tokens = 20});
  CHECK(rows_of_step(runner) == Rows{{a, 5}, {b, 3}});
  CHECK(rows_of_step(runner) == Rows{{a, 1}, {b, 7}});
  CHECK(rows_of_step(runner) == Rows{{a, 1}, {b, 1}, {c, 6}});
  // Beside streams, as few rows of prompts as the caller says.
  CHECK(rows_of_step(runner, 2) == Rows{{a, 1}, {b, 1}, {c, 2}});
  CHECK(rows_of_step(runner, 0) == Rows{{a, 1}, {b, 1}});
  runner.finish(a);
  runner.finish(b);
  // Alone it has the whole step, whatever the caller says.
  CHECK(rows_of_step(runner, 1) == Rows{{c, 8}});
  CHECK(runner.scheduler().counters().prefilled == 5 + 10 + 6 + 2 + 8);
  CHECK(runner.scheduler().counters().decoded == 2 + 2 + 1 + 2);
  runner.run_to_end();
  CHECK(runner.complete(c));
}

TEST_CASE("a prompt to be scored asks for no more rows of logits than a step may have") {
  Limits limits = pages(64);
  limits.max_logit_rows = 6;
  ScheduleRunner<slots::Continuous<4>> runner(limits);
  const SequenceId a = runner.add({.prompt = prompt_of(3), .max_new_tokens = 20});
  const SequenceId b = runner.add({.prompt = prompt_of(21, 1), .max_new_tokens = 3, .prompt_logits = true});
  const SequenceId c = runner.add({.prompt = prompt_of(17, 2), .prompt_logits = true});
  CHECK(rows_of_step(runner) == Rows{{a, 3}, {b, 5}});
  CHECK(rows_of_step(runner) == Rows{{a, 1}, {b, 5}});
  runner.run_to_end();
  CHECK(runner.complete(a));
  CHECK(runner.complete(b));
  CHECK(runner.complete(c));
}

TEST_CASE("a static batch waits for its last sequence, a continuous one refills in the next step") {
  const auto third_starts = [](auto slots) {
    ScheduleRunner<decltype(slots)> runner(pages(64));
    const SequenceId a = runner.add({.prompt = prompt_of(3), .max_new_tokens = 2});
    const SequenceId b = runner.add({.prompt = prompt_of(3, 1), .max_new_tokens = 6});
    const SequenceId c = runner.add({.prompt = prompt_of(3, 2), .max_new_tokens = 2});
    int step = 1;
    for (Rows rows = rows_of_step(runner); rows.back().first != c; rows = rows_of_step(runner)) ++step;
    runner.run_to_end();
    for (const SequenceId id : {a, b, c}) CHECK(runner.complete(id));
    return step;
  };
  CHECK(third_starts(slots::Static<2>{}) == 7);
  CHECK(third_starts(slots::Continuous<2>{}) == 3);
  CHECK(third_starts(slots::Continuous<3>{}) == 1);
  CHECK(third_starts(slots::Sequential{}) == 9);
}

TEST_CASE("a static batch starts together even if its prompts need several steps") {
  Limits limits = pages(64);
  limits.tokens_per_step = 4;
  ScheduleRunner<slots::Static<2>> runner(limits);
  const SequenceId a = runner.add({.prompt = prompt_of(6), .max_new_tokens = 1});
  const SequenceId b = runner.add({.prompt = prompt_of(6, 1), .max_new_tokens = 1});
  CHECK(rows_of_step(runner) == Rows{{a, 4}});
  CHECK(runner.scheduler().running() == 2);
  CHECK(rows_of_step(runner) == Rows{{a, 2}, {b, 2}});
  CHECK(rows_of_step(runner) == Rows{{b, 4}});
  CHECK(runner.scheduler().idle());
}

TEST_CASE("B-3: the youngest gives way, starts again from all its tokens and loses none") {
  // Two of 8 + 8 tokens need 8 pages; there are 5.
  ScheduleRunner<slots::Continuous<2>> runner(pages(5));
  const SequenceId a = runner.add({.prompt = prompt_of(7), .max_new_tokens = 9});
  const SequenceId b = runner.add({.prompt = prompt_of(7, 1), .max_new_tokens = 9});
  while (runner.scheduler().preemptions(b) == 0) runner.step();
  CHECK(runner.scheduler().preemptions(a) == 0);
  CHECK(runner.scheduler().waiting() == 1);
  const std::size_t before = runner.made(b).size();
  CHECK(before > 0);
  const auto decoded = runner.scheduler().counters().decoded;
  const std::size_t left_of_a = 9 - runner.made(a).size();
  while (!runner.over(a)) runner.step();
  CHECK(runner.scheduler().counters().decoded - decoded == left_of_a);
  const int left = static_cast<int>(7 + before) - 4 * ((7 + static_cast<int>(before)) / 4);
  // What it had computed may still be cached; the rest is a prompt's rows again, and then one token a step.
  const Rows again = rows_of_step(runner);
  REQUIRE(again.size() == 1);
  CHECK(again[0].first == b);
  CHECK(again[0].second >= std::max(left, 1));
  CHECK(runner.made(b).size() == before + 1);
  runner.run_to_end();
  CHECK(runner.complete(a));
  CHECK(runner.complete(b));
}

TEST_CASE("a sequence gives way at most as often as the options say") {
  for (const int most : {0, 1, 3}) {
    CAPTURE(most);
    ScheduleRunner<slots::Continuous<4>> runner(pages(7), {.max_preemptions = most});
    std::vector<SequenceId> ids;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(runner.add({.prompt = prompt_of(2, i), .max_new_tokens = 18, .priority = i % 3}));
    }
    runner.run_to_end();
    for (const SequenceId id : ids) CHECK(runner.complete(id));
    CHECK((runner.scheduler().counters().preemptions > 0) == (most > 0));
  }
}

TEST_CASE("B-4: a sequence that can never fit is refused with both numbers") {
  ScheduleRunner<slots::Continuous<2>> runner(pages(5));
  const auto refuse = [&](int prompt, int answer) {
    const auto add = [&] { runner.add({.prompt = prompt_of(prompt), .max_new_tokens = answer}); };
    CHECK(gpt2ie_test::error_code(add) == (prompt == 0 ? errc::bad_request : errc::no_fit));
    return gpt2ie_test::error_text(add);
  };
  CHECK(refuse(10, 11).find("at most 20 tokens of prompt and answer") != std::string::npos);
  CHECK(refuse(10, 11).find("21, 10 of them the prompt") != std::string::npos);
  CHECK(refuse(65, 0).find("a prompt of at most 64 tokens, found 65") != std::string::npos);
  CHECK(refuse(0, 3).find("an empty prompt") != std::string::npos);
  CHECK(runner.scheduler().idle());
  CHECK(runner.scheduler().checked_length(10, 10) == 20);
  CHECK(ScheduleRunner<slots::Sequential>(pages(64)).scheduler().checked_length(60, 100) == 64);
  const SequenceId fits = runner.add({.prompt = prompt_of(10), .max_new_tokens = 10});
  runner.run_to_end();
  CHECK(runner.complete(fits));
}

TEST_CASE("sequences with a leader wait for its prompt and take its pages over") {
  Limits limits = pages(32);
  limits.tokens_per_step = 6;
  ScheduleRunner<slots::Continuous<4>> runner(limits);
  const SequenceId a = runner.add({.prompt = prompt_of(10), .max_new_tokens = 5});
  const SequenceId b = runner.add({.prompt = prompt_of(10), .max_new_tokens = 5, .leader = a});
  const SequenceId c = runner.add({.prompt = prompt_of(10), .max_new_tokens = 5, .leader = a});
  CHECK(rows_of_step(runner) == Rows{{a, 6}});
  CHECK(runner.scheduler().running() == 3);
  CHECK(rows_of_step(runner) == Rows{{a, 4}});
  CHECK(runner.scheduler().counters().forks == 2);
  CHECK(runner.made(a).size() == 1);
  CHECK(runner.made(c).size() == 1);
  CHECK(rows_of_step(runner) == Rows{{a, 1}, {b, 1}, {c, 1}});
  // Two full pages for all, and a third one each.
  CHECK(runner.book().capacity().total_units - runner.book().capacity().free_units == 2 + 3);
  runner.run_to_end();
  for (const SequenceId id : {a, b, c}) CHECK(runner.complete(id));
  CHECK(runner.scheduler().counters().prefilled == 10);
}

TEST_CASE("a fork that finds no sequence free waits and runs by itself") {
  ScheduleRunner<slots::Continuous<4>> runner(pages(32, 2));
  const SequenceId a = runner.add({.prompt = prompt_of(10), .max_new_tokens = 4});
  std::vector<SequenceId> ids = {a};
  for (int i = 0; i < 3; ++i) {
    ids.push_back(runner.add({.prompt = prompt_of(10), .max_new_tokens = 4, .leader = a}));
  }
  CHECK(rows_of_step(runner) == Rows{{a, 10}});
  CHECK(runner.scheduler().counters().forks == 1);
  CHECK(runner.scheduler().running() == 2);
  CHECK(runner.scheduler().waiting() == 2);
  runner.run_to_end();
  for (const SequenceId id : ids) CHECK(runner.complete(id));
}

TEST_CASE("sequences whose leader gives way or ends before its prompt is done start by themselves") {
  Limits limits = pages(8);
  limits.tokens_per_step = 4;
  ScheduleRunner<slots::Continuous<4>> runner(limits);
  const SequenceId a = runner.add({.prompt = prompt_of(9), .max_new_tokens = 5});
  const SequenceId b = runner.add({.prompt = prompt_of(9), .max_new_tokens = 5, .leader = a});
  const SequenceId c = runner.add({.prompt = prompt_of(9), .max_new_tokens = 5, .leader = a});
  CHECK(rows_of_step(runner) == Rows{{a, 4}});
  CHECK(runner.scheduler().running() == 3);
  runner.finish(b);  // attached
  runner.finish(a);  // the leader
  CHECK(runner.scheduler().running() == 0);
  CHECK(runner.scheduler().waiting() == 1);
  runner.run_to_end();
  CHECK(runner.complete(c));

  // Older ones grow until the leader has to give way in mid-prompt.
  ScheduleRunner<slots::Continuous<4>> tight(limits);
  const SequenceId old = tight.add({.prompt = prompt_of(3, 1), .max_new_tokens = 28});
  while (tight.made(old).size() < 8) tight.step();
  const SequenceId leader = tight.add({.prompt = prompt_of(14, 2), .max_new_tokens = 3});
  const SequenceId follower = tight.add({.prompt = prompt_of(14, 2), .max_new_tokens = 3, .leader = leader});
  CHECK(rows_of_step(tight, 1) == Rows{{old, 1}, {leader, 1}});
  CHECK(tight.scheduler().running() == 3);
  while (tight.scheduler().preemptions(leader) == 0) tight.step(0);
  CHECK(tight.scheduler().running() == 1);
  CHECK(tight.scheduler().preemptions(follower) == 0);
  tight.run_to_end();
  for (const SequenceId id : {old, leader, follower}) CHECK(tight.complete(id));
}

TEST_CASE("with no preemption allowed, forks start only where all of them fit to their ends") {
  ScheduleRunner<slots::Continuous<4>> runner(pages(12), {.max_preemptions = 0});
  std::vector<SequenceId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(runner.add(
        {.prompt = prompt_of(9), .max_new_tokens = 11, .leader = ids.empty() ? SequenceId::none : ids.front()}));
  }
  runner.run_to_end();
  for (const SequenceId id : ids) CHECK(runner.complete(id));
  CHECK(runner.scheduler().counters().preemptions == 0);
}

TEST_CASE("a sequence may end in any state") {
  Limits limits = pages(32);
  limits.tokens_per_step = 4;
  ScheduleRunner<slots::Continuous<2>> runner(limits);
  const SequenceId decoding = runner.add({.prompt = prompt_of(3), .max_new_tokens = 9});
  runner.step();
  const SequenceId prefilling = runner.add({.prompt = prompt_of(9, 1), .max_new_tokens = 9});
  const SequenceId waiting = runner.add({.prompt = prompt_of(9, 2), .max_new_tokens = 9});
  runner.step();
  CHECK(runner.scheduler().waiting() == 1);
  runner.finish(waiting);
  runner.finish(prefilling);
  runner.finish(decoding);
  CHECK(runner.scheduler().idle());
  CHECK(runner.book().capacity().free_units == 32);
  runner.finish(decoding);  // once more is nothing
  CHECK_FALSE(runner.scheduler().contains(decoding));
  CHECK_FALSE(runner.step());
}

TEST_CASE("a planned step that does not run is planned again") {
  ScheduleRunner<slots::Continuous<2>> runner(pages(32));
  const SequenceId a = runner.add({.prompt = prompt_of(5), .max_new_tokens = 3});
  const SequenceId b = runner.add({.prompt = prompt_of(5, 1), .max_new_tokens = 3});
  CHECK(runner.plan().sequences.size() == 2);
  runner.rollback();
  runner.commit(runner.plan_alone(b));
  CHECK(runner.made(b).size() == 1);
  CHECK(runner.made(a).empty());
  CHECK(runner.plan_alone(static_cast<SequenceId>(99)).empty());
  CHECK(rows_of_step(runner) == Rows{{b, 1}, {a, 5}});
  runner.run_to_end();
  CHECK(runner.complete(a));
  CHECK(runner.complete(b));
}

TEST_CASE("a cache that keeps nothing runs whole sequences, one at a time") {
  Limits limits = pages(0, 1);
  limits.max_rows = 16;
  ScheduleRunner<slots::Sequential, gpt2ie::NoCacheBook> runner(limits, {.retains = false});
  CHECK(runner.scheduler().checked_length(10, 100) == 16);
  const SequenceId a = runner.add({.prompt = prompt_of(10), .max_new_tokens = 3});
  const SequenceId b = runner.add({.prompt = prompt_of(2, 1), .max_new_tokens = 2});
  CHECK(rows_of_step(runner) == Rows{{a, 10}});
  CHECK(rows_of_step(runner) == Rows{{a, 11}});
  CHECK(rows_of_step(runner) == Rows{{a, 12}});
  CHECK(rows_of_step(runner) == Rows{{b, 2}});
  runner.run_to_end();
  CHECK(runner.complete(a));
}

TEST_CASE("steps that only decode allocate nothing") {
  gpt2ie::PageBook<4> book(pages(64));
  gpt2ie::BatchScheduler<slots::Continuous<4>, gpt2ie::PageBook<4>> scheduler(book, pages(64));
  for (int i = 0; i < 4; ++i) scheduler.add({.prompt = prompt_of(5, i), .max_new_tokens = 50});
  const auto step = [&] {
    REQUIRE(scheduler.plan().sequences.size() == 4);
    book.settle();
    for (const gpt2ie::PendingDraw& draw : scheduler.commit()) {
      scheduler.append(draw.sequence, gpt2ie_test::next_token(scheduler.tokens(draw.sequence)));
    }
  };
  step();
  const std::size_t before = gpt2ie_test::allocations;
  for (int i = 0; i < 40; ++i) step();
  CHECK(gpt2ie_test::allocations == before);
}

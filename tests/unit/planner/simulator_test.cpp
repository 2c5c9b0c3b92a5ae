// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/planner/simulator.hpp>
#include <gpt2ie/planner/workload.hpp>
#include <gpt2ie/scheduler/slots.hpp>

using namespace gpt2ie;

namespace {

using Requests = std::vector<SimulatedRequest>;

/// One second a step, whatever it holds.
SimulationOptions seconds_are_steps(int memory = 64, int max_length = 32) {
  return {.memory_tokens = memory, .max_length = max_length, .rows_per_step = 16, .cost = {1, 0, 0, 0}};
}

std::int64_t answer_tokens(const Requests& requests) {
  std::int64_t sum = 0;
  for (const SimulatedRequest& request : requests) sum += request.answer_tokens;
  return sum;
}

/// What must hold of any result.
void check_sane(const SimulationResult& result, const Requests& requests, int slots) {
  CHECK(result.samples.size() == result.steps);
  CHECK(result.peak_running <= slots);
  CHECK(result.mean_running <= result.peak_running);
  std::int64_t prompts = 0;
  for (const SimulatedRequest& request : requests) prompts += request.prompt_tokens;
  CHECK(result.prompt_rows >= static_cast<std::uint64_t>(prompts));
  CHECK(result.tokens_per_s * result.seconds == doctest::Approx(static_cast<double>(answer_tokens(requests))));
  double end = requests.front().arrival_s;
  for (const StepSample& sample : result.samples) {
    CHECK(sample.begin_s >= end);
    CHECK(sample.written <= sample.held);
    CHECK(sample.largest_free <= sample.free);
    end = sample.begin_s + sample.seconds;
  }
  CHECK(end - requests.front().arrival_s == doctest::Approx(result.seconds));
}

}  // namespace

TEST_CASE("two requests in one slot, step by step") {
  const Requests requests = {{0, 20, 2}, {0, 5, 3}};
  const SimulationResult result = simulate<slots::Continuous<1>, PageBook<16>>(requests, seconds_are_steps());
  // 16 and 4 rows of the first prompt, 1 drawn token; then 5 rows, and 2 drawn tokens.
  CHECK(result.steps == 6);
  CHECK(result.seconds == 6);
  CHECK(result.prompt_rows == 25);
  CHECK(result.tokens_per_s == doctest::Approx(5 / 6.0));
  CHECK(result.mean_wait_s == 1.5);  // 0 and 3
  CHECK(result.preemptions == 0);
  const std::vector<std::int64_t> written = {16, 20, 21, 5, 6, 7}, held = {16, 32, 32, 16, 16, 16};
  REQUIRE(result.samples.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const StepSample expected{.begin_s = static_cast<double>(i),
                              .seconds = 1,
                              .running = 1,
                              .waiting = i < 3 ? 1 : 0,
                              .written = written[i],
                              .held = held[i],
                              .free = 64 - held[i],
                              .largest_free = 64 - held[i]};
    CHECK(result.samples[i] == expected);
  }
  CHECK(result.internal_waste == doctest::Approx((0 + 12 / 32.0 + 11 / 32.0 + 11 / 16.0 + 10 / 16.0 + 9 / 16.0) / 6));
}

TEST_CASE("a step costs its parts") {
  const StepCost cost{.step = 1000, .row = 100, .context_token = 1, .moved_token = 0.5};
  // Rows at positions 4, 5, 6 attend to 5, 6 and 7 keys, the row at position 9 to 10.
  const std::vector<Run> runs = {{.first = 4, .count = 3}, {.first = 9, .count = 1}};
  CHECK(cost.seconds(runs, 8) == 1000 + 400 + 28 + 4);
}

TEST_CASE("requests wait for their arrival, and time passes over when nobody is there") {
  const Requests requests = {{2, 3, 1}, {2.5, 3, 1}, {10, 3, 1}};
  const SimulationResult result = simulate<slots::Continuous<4>, PageBook<16>>(requests, seconds_are_steps());
  REQUIRE(result.samples.size() == 3);
  CHECK(result.samples[0].begin_s == 2);
  CHECK(result.samples[1].begin_s == 3);
  CHECK(result.samples[2].begin_s == 10);
  CHECK(result.seconds == 9);
  CHECK(result.mean_wait_s == doctest::Approx(0.5 / 3));
}

TEST_CASE("a static batch waits for its longest answer, a continuous one does not") {
  const Requests requests = {{0, 4, 1}, {0, 4, 5}, {0, 4, 1}, {0, 4, 1}};
  const auto fixed = simulate<slots::Static<2>, PageBook<16>>(requests, seconds_are_steps());
  CHECK(fixed.seconds == 6);
  CHECK(fixed.mean_wait_s == 2.5);  // 0, 0, 5, 5
  const auto continuous = simulate<slots::Continuous<2>, PageBook<16>>(requests, seconds_are_steps());
  CHECK(continuous.seconds == 5);
  CHECK(continuous.mean_wait_s == 0.75);  // 0, 0, 1, 2
}

TEST_CASE("too little memory for all that run means preemption, and everything is answered all the same") {
  const Requests requests = {{0, 8, 24}, {0, 8, 24}, {0, 8, 24}};
  const auto paged = simulate<slots::Continuous<4>, PageBook<16>>(requests, seconds_are_steps(48));
  CHECK(paged.preemptions > 0);
  CHECK(paged.prompt_rows > 24);
  check_sane(paged, requests, 4);
  const auto growing = simulate<slots::Continuous<4>, GrowingBook>(requests, seconds_are_steps(48));
  CHECK(growing.preemptions > 0);
  CHECK(growing.moved_tokens > 0);
  check_sane(growing, requests, 4);
  const auto reserved = simulate<slots::Continuous<4>, SlotBook>(requests, seconds_are_steps(48));
  CHECK(reserved.preemptions == 0);
  CHECK(reserved.peak_running == 1);
  check_sane(reserved, requests, 4);
}

TEST_CASE("1,000 chat completions: pages waste under 8 %, reservation over 60 %, growing runs leave fragments") {
  const Requests requests = lognormal_workload({});
  REQUIRE(requests.size() == 1000);
  const SimulationOptions options;
  const auto paged = simulate<slots::Continuous<256>, PageBook<16>>(requests, options);
  const auto reserved = simulate<slots::Continuous<256>, SlotBook>(requests, options);
  const auto growing = simulate<slots::Continuous<256>, GrowingBook>(requests, options);
  for (const SimulationResult* result : {&paged, &reserved, &growing}) check_sane(*result, requests, 256);
  CHECK(paged.internal_waste < 0.08);
  CHECK(paged.external_fragmentation == 0);
  CHECK(reserved.internal_waste > 0.6);
  CHECK(reserved.external_fragmentation == 0);
  CHECK(reserved.peak_running == 16);
  CHECK(growing.external_fragmentation > 0.2);
  CHECK(growing.internal_waste > paged.internal_waste);
  CHECK(paged.peak_running > 3 * reserved.peak_running);
  CHECK(paged.peak_running > growing.peak_running);

  const auto fixed = simulate<slots::Static<16>, PageBook<16>>(requests, options);
  const auto continuous = simulate<slots::Continuous<16>, PageBook<16>>(requests, options);
  check_sane(fixed, requests, 16);
  check_sane(continuous, requests, 16);
  CHECK(continuous.tokens_per_s > fixed.tokens_per_s);
  CHECK(continuous.mean_wait_s < fixed.mean_wait_s);
}

TEST_CASE("a simulation is a pure function of its arguments") {
  const Requests requests = lognormal_workload({.requests = 100, .rate = 3});
  const SimulationOptions options{.memory_tokens = 4096};
  const auto once = simulate<slots::Continuous<64>, GrowingBook>(requests, options);
  const auto again = simulate<slots::Continuous<64>, GrowingBook>(requests, options);
  CHECK(once.samples == again.samples);
  CHECK(once.mean_wait_s == again.mean_wait_s);
  CHECK(once.tokens_per_s == again.tokens_per_s);
}

TEST_CASE("what can't be simulated is refused with both numbers") {
  const auto refused = [](const Requests& requests, const SimulationOptions& options) {
    CHECK_THROWS_AS((simulate<slots::Continuous<4>, PageBook<16>>(requests, options)), Error);
  };
  const Requests one = {{0, 3, 3}};
  CHECK_THROWS_WITH((simulate<slots::Continuous<4>, PageBook<16>>(one, seconds_are_steps(31))),
                    "gpt2ie: expected a memory of at least 32 tokens, which the longest sequence may take, found 31");
  CHECK_THROWS_WITH((simulate<slots::Continuous<4>, PageBook<16>>(Requests{{0, 30, 3}}, seconds_are_steps())),
                    "gpt2ie: expected at most 32 tokens in request 0, found 30 and 3");
  refused({}, seconds_are_steps());
  refused({{0, 0, 3}}, seconds_are_steps());
  refused({{0, 3, -1}}, seconds_are_steps());
  refused({{1, 3, 3}, {0, 3, 3}}, seconds_are_steps());
  refused({{std::nan(""), 3, 3}}, seconds_are_steps());
  SimulationOptions options = seconds_are_steps();
  options.rows_per_step = 0;
  refused(one, options);
  options = seconds_are_steps(64, 1);
  refused(one, options);
  options = seconds_are_steps();
  options.cost.row = -1;
  refused(one, options);
  options.cost = {0, 0, 0, 1};
  refused(one, options);
}

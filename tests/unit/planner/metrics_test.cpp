// SPDX-License-Identifier: MIT
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/planner/metrics.hpp>

using namespace gpt2ie;

TEST_CASE("figures are means over time, worked out by hand") {
  const std::vector<StepSample> samples = {{.begin_s = 0,
                                            .seconds = 1,
                                            .running = 2,
                                            .waiting = 1,
                                            .written = 30,
                                            .held = 40,
                                            .free = 60,
                                            .largest_free = 30},
                                           {.begin_s = 1,
                                            .seconds = 3,
                                            .running = 4,
                                            .waiting = 2,
                                            .written = 90,
                                            .held = 100,
                                            .free = 0,
                                            .largest_free = 0},
                                           {.begin_s = 6,
                                            .seconds = 4,
                                            .running = 1,
                                            .waiting = 0,
                                            .written = 10,
                                            .held = 20,
                                            .free = 80,
                                            .largest_free = 8}};
  // (1 * 10/40 + 3 * 10/100 + 4 * 10/20) / 8
  CHECK(internal_waste(samples) == doctest::Approx(2.55 / 8));
  // Nobody waits in the last step: (1 * 30/60 + 3 * 0) / 4
  CHECK(external_fragmentation(samples) == doctest::Approx(0.5 / 4));
  CHECK(mean_running(samples) == doctest::Approx((2 + 12 + 4) / 8.0));
  CHECK(peak_running(samples) == 4);
}

TEST_CASE("without steps, or steps that count, figures are 0") {
  CHECK(internal_waste({}) == 0);
  CHECK(external_fragmentation({}) == 0);
  CHECK(mean_running({}) == 0);
  CHECK(peak_running({}) == 0);
  const std::vector<StepSample> idle = {{.seconds = 1, .free = 10, .largest_free = 1}};
  CHECK(internal_waste(idle) == 0);
  CHECK(external_fragmentation(idle) == 0);
}

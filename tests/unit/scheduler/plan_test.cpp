// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/scheduler/plan.hpp>

TEST_CASE("a plan is emptied for the next step") {
  gpt2ie::Plan plan;
  CHECK(plan.empty());
  plan.step.tokens = {1, 2};
  plan.step.positions = {0, 1};
  plan.step.runs.push_back({.count = 2});
  plan.step.logit_rows = {1};
  plan.sequences.push_back({.sequence = gpt2ie::SequenceId{1},
                            .slot = 0,
                            .run = 0,
                            .prefill = true,
                            .draws = true,
                            .first_logit = 0,
                            .logits = 1,
                            .logit_position = 1});
  CHECK_FALSE(plan.empty());
  plan.clear();
  CHECK(plan.empty());
  CHECK(plan.step.empty());
  CHECK(plan.step.rows() == 0);
}

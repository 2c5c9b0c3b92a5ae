// SPDX-License-Identifier: MIT
#include <type_traits>

#include <doctest/doctest.h>

#include <gpt2ie/core/step.hpp>

static_assert(std::is_trivially_copyable_v<gpt2ie::StepView>);  // kernels take it by value

TEST_CASE("a cleared step is as new and keeps its memory") {
  gpt2ie::Step step;
  CHECK(step.empty());
  step.tokens = {1, 2, 3};
  step.positions = {0, 1, 2};
  step.runs = {{.seq = gpt2ie::SeqId{0}, .count = 3}};
  step.logit_rows = {2};
  step.layer_begin = 1;
  step.layer_end = 2;
  CHECK(step.rows() == 3);
  CHECK_FALSE(step.empty());
  const auto* memory = step.tokens.data();
  step.clear();
  CHECK(step.rows() == 0);
  CHECK(step.empty());
  CHECK(step.layer_begin == 0);
  CHECK(step.layer_end == -1);
  step.tokens = {4};
  CHECK(step.tokens.data() == memory);
}

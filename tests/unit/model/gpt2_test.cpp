// SPDX-License-Identifier: MIT
/// What a step may hold, and that layers can be run in parts.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/row_memory.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/model/gpt2.hpp>

#include "support/random_checkpoint.hpp"
#include "support/tolerance.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::SeqId;
using gpt2ie::Step;

using Backend = gpt2ie::backend::SimdCpu<float>;
using Small = gpt2ie::Executor<Backend, gpt2ie::attention::Standard, gpt2ie::kv::Contiguous<float>>;

Small make_small() {
  Backend backend(1);
  const auto weights = std::make_shared<const gpt2ie::Weights<Backend>>(
      backend, gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(2, 4, 16)));
  return Small(std::move(backend), weights, {.max_sequences = 2, .max_rows = 6, .max_logit_rows = 2});
}

/// Two runs of 3 and 2 rows.
Step good_step() {
  Step step;
  step.tokens = {1, 2, 100, 0, 5};
  step.positions = {0, 1, 2, 0, 1};
  step.runs = {{.seq = SeqId{0}, .first = 0, .count = 3, .row = 0},
               {.seq = SeqId{1}, .first = 0, .count = 2, .row = 3}};
  step.logit_rows = {2, 4};
  return step;
}

/// What the model says to the good step after `change`.
template <class Change>
std::optional<errc> verdict(const Change& change) {
  static const Small small = make_small();
  Step step = good_step();
  change(step);
  return gpt2ie_test::error_code([&] { small.model().check(step); });
}

}  // namespace

TEST_CASE("a good step passes") {
  CHECK(verdict([](Step&) {}) == std::nullopt);
  CHECK(verdict([](Step& step) { step.clear(); }) == std::nullopt);
}

TEST_CASE("steps beyond the limits are refused") {
  CHECK(verdict([](Step& step) {
          step.tokens.resize(7);
          step.positions = {0, 1, 2, 0, 1, 2, 3};
          step.runs[1].count = 4;
        }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.logit_rows = {0, 2, 4}; }) == errc::bad_request);
  CHECK(verdict([](Step& step) {
          step.runs[1].count = 1;
          step.runs.push_back({.seq = SeqId{2}, .first = 1, .count = 1, .row = 4});
        }) == errc::bad_request);
}

TEST_CASE("B-7: tokens and positions that the model does not have are refused") {
  CHECK(verdict([](Step& step) { step.tokens[2] = 101; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.tokens[2] = -1; }) == errc::bad_request);
  CHECK(verdict([](Step& step) {
          step.runs[0].first = 13;
          step.positions = {13, 14, 15, 0, 1};
        }) == std::nullopt);
  CHECK(verdict([](Step& step) {
          step.runs[0].first = 14;
          step.positions = {14, 15, 16, 0, 1};
        }) == errc::no_fit);
  CHECK(verdict([](Step& step) { step.runs[0].first = 2147483647; }) == errc::no_fit);
}

TEST_CASE("steps that contradict themselves are refused") {
  CHECK(verdict([](Step& step) { step.positions.pop_back(); }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.positions[1] = 7; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[1].row = 2; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[1].count = 3; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[1].count = 1; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[1].count = 0; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[0].first = -1; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.logit_rows = {5}; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.logit_rows = {-1}; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.layer_begin = -1; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.layer_end = 99; }) == errc::bad_request);
  CHECK(verdict([](Step& step) { step.runs[0].adapter = gpt2ie::AdapterId{0}; }) == errc::bad_request);
}

TEST_CASE("layers in two parts give the logits of all at once") {
  const auto run = [](const std::vector<std::pair<int, int>>& parts) {
    Small small = make_small();
    REQUIRE(small.book().open({}, 0).has_value());
    REQUIRE(small.book().open({}, 0).has_value());
    Step step = good_step();
    REQUIRE(small.book().reserve(step.runs));
    std::span<const float> logits;
    for (const auto& [begin, end] : parts) {
      step.layer_begin = begin;
      step.layer_end = end;
      logits = small.run(step);
    }
    return std::vector<float>(logits.begin(), logits.end());
  };
  const auto whole = run({{0, -1}});
  CHECK(whole.size() == 2 * 101);
  CHECK(gpt2ie_test::same_bits(run({{0, 1}, {1, 2}}), whole));
  CHECK_FALSE(gpt2ie_test::same_bits(run({{0, 1}}), whole));
}

TEST_CASE("a step without rows of logits gives none") {
  Small small = make_small();
  REQUIRE(small.book().open({}, 0).has_value());
  REQUIRE(small.book().open({}, 0).has_value());
  Step step = good_step();
  step.logit_rows.clear();
  REQUIRE(small.book().reserve(step.runs));
  CHECK(small.run(step).empty());
}

TEST_CASE("what is stored in int8 has a scale for each row and head, and shows what is not finite") {
  constexpr int n_head = 2, head_dim = 3, embd = n_head * head_dim;
  const float inf = std::numeric_limits<float>::infinity();
  // Two rows of q, k and v; q is not stored.
  const std::vector<float> qkv = {
      9, 9, 9, 9, 9, 9, /* k */ 127, -64, 1, 0,     0, 0,  /* v */ -254, 2, 4, 508, 0,    -4,
      9, 9, 9, 9, 9, 9, /* k */ 1,   inf, 1, 12.7f, 0, -1, /* v */ 1,    1, 1, 0,   -127, 0};
  std::vector<gpt2ie::int8> elements(2 * 2 * embd);
  std::vector<float> scales(2 * 2 * n_head);
  const gpt2ie::SlabRows<gpt2ie::int8> slab{{elements.data(), scales.data()}, 2 * embd};
  const int position[] = {0, 1}, row_run[] = {0, 0};
  gpt2ie::StepView step{};
  step.position = position;
  step.row_run = row_run;
  const gpt2ie::SlabView<gpt2ie::int8> view{step, &slab, embd, head_dim};
  const gpt2ie::detail::StoreKernel<gpt2ie::SlabView<gpt2ie::int8>> kernel{view, qkv.data(), 0, n_head, head_dim};
  kernel(0);
  kernel(1);
  std::vector<int> found;
  for (const gpt2ie::int8 element : elements) found.push_back(element.value);
  CHECK(found == std::vector<int>{127,  -64, 1, 0,   0, 0,  0,   0,   0,   127, 0,    -10,  //
                                  -127, 1,   2, 127, 0, -1, 127, 127, 127, 0,   -127, 0});
  CHECK(std::isnan(scales[2]));
  scales[2] = 0;
  CHECK(scales == std::vector<float>{1, 0, 0, 12.7f / 127, 2, 4, 1.0f / 127, 1});
}

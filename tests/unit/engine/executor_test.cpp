// SPDX-License-Identifier: MIT
/// Limits are completed and checked; steps are counted; sequences and reservations give back what they hold.
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/random_checkpoint.hpp"
#include "support/tolerance.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::complete_limits;
using gpt2ie::errc;
using gpt2ie::Limits;
using gpt2ie::ModelConfig;
using gpt2ie::OpenSequence;
using gpt2ie::Step;
using gpt2ie::Token;
using gpt2ie_test::error_code;
using gpt2ie_test::error_text;

using Backend = gpt2ie::backend::SimdCpu<float>;
using Small = gpt2ie::Executor<Backend, gpt2ie::attention::Standard, gpt2ie::kv::Paged<float, 4>>;
using Sequence = OpenSequence<Small::book_type>;

Small make_small(const Limits& limits) {
  static const auto weights = [] {
    Backend backend(1);
    return std::make_shared<const gpt2ie::Weights<Backend>>(
        backend, gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(2, 4, 32)));
  }();
  return Small(Backend(1), weights, limits);
}

/// The logits of every token, in chunks.
std::vector<float> run_all(Small& executor, const std::vector<Token>& tokens, int chunk) {
  std::vector<float> all;
  Sequence sequence(executor.book(), {});
  Step step;
  gpt2ie::run_tokens(executor, sequence, tokens, chunk, true, step, [&](int position, std::span<const float> logits) {
    CHECK(static_cast<std::size_t>(position) * 101 == all.size());
    all.insert(all.end(), logits.begin(), logits.end());
  });
  return all;
}

int free_units(const Small& executor) { return executor.book().capacity().free_units; }

const std::vector<Token> tokens = {5, 17, 3, 99, 0, 42, 7, 7, 100, 23};

}  // namespace

TEST_CASE("limits that are left at 0 are filled in, others are bounded by the model") {
  ModelConfig config;
  CHECK(complete_limits({}, config) == Limits{.max_sequences = 1,
                                              .max_rows = 256,
                                              .max_logit_rows = 1,
                                              .cache_units = 0,
                                              .max_length = 1024,
                                              .tokens_per_step = 256});
  const Limits large =
      complete_limits({.max_rows = 8, .max_logit_rows = 100, .max_length = 5000, .tokens_per_step = 100}, config);
  CHECK(large.max_length == 1024);
  CHECK(large.max_logit_rows == 8);
  CHECK(large.tokens_per_step == 8);
}

TEST_CASE("limits out of their range are refused by name") {
  const ModelConfig config;
  CHECK(error_code([&] { static_cast<void>(complete_limits({.max_sequences = 0}, config)); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(complete_limits({.max_rows = 0}, config)); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(complete_limits({.max_logit_rows = -1}, config)); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(complete_limits({.max_length = -1}, config)); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(complete_limits({.tokens_per_step = -1}, config)); }) == errc::bad_request);
  const auto text = error_text([&] { static_cast<void>(complete_limits({.cache_units = -3}, config)); });
  CHECK(text == "gpt2ie: expected Limits::cache_units from 0 to 16777216, found -3");
  for (const Limits& huge : {Limits{.max_sequences = 2'000'000'000}, Limits{.max_rows = 2'000'000'000},
                             Limits{.cache_units = 2'000'000'000}}) {
    CHECK(error_code([&] { static_cast<void>(complete_limits(huge, config)); }) == errc::bad_request);
  }
  ModelConfig longest;
  longest.n_positions = 1'000'000;
  CHECK(error_code([&] { static_cast<void>(complete_limits({.max_sequences = 60'000}, longest)); }) ==
        errc::bad_request);
}

TEST_CASE("steps and rows are counted") {
  Small executor = make_small({.max_rows = 8, .max_logit_rows = 8});
  run_all(executor, tokens, 4);
  CHECK(executor.counters().steps == 3);
  CHECK(executor.counters().rows == 10);
}

TEST_CASE("chunks of any length give the same logits, to the bit") {
  Small executor = make_small({.max_rows = 16, .max_logit_rows = 16});
  const std::vector<float> whole = run_all(executor, tokens, 16);
  CHECK(whole.size() == tokens.size() * 101);
  for (const int chunk : {1, 3, 4, 7}) CHECK(gpt2ie_test::same_bits(run_all(executor, tokens, chunk), whole));
}

TEST_CASE("run_tokens starts where the sequence ends, and gives the last token's logits alone if asked") {
  Small executor = make_small({.max_rows = 16, .max_logit_rows = 16});
  const std::vector<float> whole = run_all(executor, tokens, 16);
  Sequence sequence(executor.book(), {});
  Step step;
  int visits = 0;
  const auto visit = [&](int position, std::span<const float> logits) {
    ++visits;
    CHECK(gpt2ie_test::same_bits(logits, std::span(whole).subspan(static_cast<std::size_t>(position) * 101, 101)));
  };
  gpt2ie::run_tokens(executor, sequence, std::span(tokens).first(6), 4, false, step, visit);
  CHECK(visits == 1);
  CHECK(sequence.length() == 6);
  gpt2ie::run_tokens(executor, sequence, std::span(tokens), 4, false, step, visit);
  CHECK(visits == 2);
  CHECK(sequence.length() == 10);
  CHECK(executor.counters().rows == 20);
}

TEST_CASE("a full cache is no_fit with the numbers, and gives back what the step had reserved") {
  Small executor = make_small({.max_rows = 16, .max_logit_rows = 16, .cache_units = 2});
  CHECK(free_units(executor) == 2);
  CHECK(error_code([&] { run_all(executor, tokens, 4); }) == errc::no_fit);
  CHECK(free_units(executor) == 2);
}

TEST_CASE("a step that the model refuses is rolled back") {
  Small executor = make_small({.max_rows = 16, .max_logit_rows = 16});
  const int free = free_units(executor);
  CHECK(error_code([&] { run_all(executor, {1, 2, 101}, 16); }) == errc::bad_request);
  CHECK(free_units(executor) == free);
  CHECK(executor.counters().steps == 0);
}

TEST_CASE("a reservation is rolled back unless it is committed") {
  Small executor = make_small({.max_rows = 16});
  Sequence sequence(executor.book(), {});
  Step step;
  step.tokens = {1};
  step.positions = {0};
  step.runs = {{.seq = sequence.id(), .first = 0, .count = 1, .row = 0}};
  const int free = free_units(executor);
  {
    REQUIRE(executor.book().reserve(step.runs));
    const gpt2ie::Reservation reservation(executor.book());
    CHECK(free_units(executor) == free - 1);
  }
  CHECK(free_units(executor) == free);
  CHECK(sequence.length() == 0);
  {
    REQUIRE(executor.book().reserve(step.runs));
    gpt2ie::Reservation reservation(executor.book());
    reservation.commit(step);
  }
  CHECK(free_units(executor) == free - 1);
  CHECK(sequence.length() == 1);
}

TEST_CASE("an open sequence is closed once, also when it was moved") {
  Small executor = make_small({.max_rows = 16});
  {
    Sequence first(executor.book(), {});
    CHECK(error_code([&] { Sequence second(executor.book(), {}); }) == errc::busy);
    Sequence moved = std::move(first);
    moved.close();
    Sequence second(executor.book(), {});
    moved.close();
    CHECK(error_code([&] { Sequence third(executor.book(), {}); }) == errc::busy);
  }
  CHECK(error_code([&] { Sequence again(executor.book(), {}); }) == std::nullopt);
}

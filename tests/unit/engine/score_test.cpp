// SPDX-License-Identifier: MIT
/// Scores of a text against one forward pass for each of its beginnings.
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/no_cache.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/random_checkpoint.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::Token;
using gpt2ie_test::error_code;

using Backend = gpt2ie::backend::SimdCpu<float>;
using Small = gpt2ie::Executor<Backend, gpt2ie::attention::Standard, gpt2ie::kv::Contiguous<float>>;

using Uncached = gpt2ie::Executor<Backend, gpt2ie::attention::Standard, gpt2ie::kv::NoCache>;

template <class Executor = Small>
Executor make_small(const gpt2ie::Limits& limits) {
  Backend backend(1);
  const auto weights = std::make_shared<const gpt2ie::Weights<Backend>>(
      backend, gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(2, 4, 16)));
  return Executor(std::move(backend), weights, limits);
}

const std::vector<Token> tokens = {5, 17, 3, 99, 0, 42, 7};

}  // namespace

TEST_CASE("each token's log-probability is that under the tokens before it") {
  Small executor = make_small({.max_rows = 16, .max_logit_rows = 3});
  const std::vector<float> logprobs = gpt2ie::score(executor, tokens);
  REQUIRE(logprobs.size() == tokens.size() - 1);
  for (std::size_t n = 1; n < tokens.size(); ++n) {
    double logprob = 0;
    gpt2ie::for_each_logits(executor, std::span(tokens).first(n), [&](int position, std::span<const float> logits) {
      if (static_cast<std::size_t>(position) + 1 != n) return;
      double sum = 0;
      for (const float x : logits) sum += std::exp(static_cast<double>(x));
      logprob = static_cast<double>(logits[static_cast<std::size_t>(tokens[n])]) - std::log(sum);
    });
    CHECK(static_cast<double>(logprobs[n - 1]) == doctest::Approx(logprob).epsilon(1e-5));
  }
}

TEST_CASE("every token is visited once, in order, whatever fits in a step") {
  for (const int rows : {1, 3, 16}) {
    Small executor = make_small({.max_rows = 16, .max_logit_rows = rows});
    int next = 0;
    gpt2ie::for_each_logits(executor, tokens, [&](int position, std::span<const float> logits) {
      CHECK(position == next++);
      CHECK(logits.size() == 101);
    });
    CHECK(next == 7);
    CHECK(executor.book().capacity().free_units == 1);
  }
}

TEST_CASE("a text that the cache holds already gets the same scores") {
  using Paged = gpt2ie::Executor<Backend, gpt2ie::attention::Standard, gpt2ie::kv::Paged<float, 4>>;
  Paged executor = make_small<Paged>({.max_rows = 16, .max_logit_rows = 3});
  const std::vector<float> first = gpt2ie::score(executor, tokens);
  CHECK(first.size() == tokens.size() - 1);
  CHECK(gpt2ie::score(executor, tokens) == first);
}

TEST_CASE("without a cache the whole text is one step, which the limits must allow") {
  Small cached = make_small({.max_rows = 16});
  Uncached uncached = make_small<Uncached>({.max_rows = 7, .max_logit_rows = 7});
  const std::vector<float> found = gpt2ie::score(uncached, tokens), expected = gpt2ie::score(cached, tokens);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  for (const gpt2ie::Limits& limits :
       {gpt2ie::Limits{.max_rows = 16, .max_logit_rows = 6}, gpt2ie::Limits{.max_rows = 6, .max_logit_rows = 16},
        gpt2ie::Limits{.max_rows = 16}}) {
    Uncached small = make_small<Uncached>(limits);
    CHECK(error_code([&] { static_cast<void>(gpt2ie::score(small, tokens)); }) == errc::no_fit);
    CHECK(gpt2ie_test::error_text([&] { static_cast<void>(gpt2ie::score(small, tokens)); }).find("max_logit_rows") !=
          std::string::npos);
    CHECK(small.book().capacity().free_units == 1);
  }
}

TEST_CASE("one token has no score") {
  Small executor = make_small({.max_rows = 16});
  CHECK(gpt2ie::score(executor, std::vector<Token>{3}).empty());
}

TEST_CASE("no tokens, too many and foreign ones are refused") {
  Small executor = make_small({.max_rows = 16});
  CHECK(error_code([&] { static_cast<void>(gpt2ie::score(executor, {})); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(gpt2ie::score(executor, std::vector<Token>(17, 1))); }) == errc::no_fit);
  CHECK(error_code([&] {
          static_cast<void>(gpt2ie::score(executor, std::vector<Token>{1, 101}));
        }) == errc::bad_request);
  CHECK(executor.book().capacity().free_units == 1);
}

TEST_CASE("perplexity is the exponential of the mean negative log-probability") {
  CHECK(gpt2ie::perplexity(std::vector<float>{std::log(0.5f), std::log(0.125f)}) == doctest::Approx(4));
  CHECK(gpt2ie::perplexity({}) == 1.0);
}

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/log_probs.hpp>

#include "helpers.hpp"

using namespace gpt2ie;
using gpt2ie_test::check_error;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("log_sum_exp and token_logprob agree with double arithmetic") {
  const std::vector<float> logits = gpt2ie_test::random_logits(50257, 3, 7);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  CHECK(std::abs(log_sum_exp(logits) - std::log(sum)) < 1e-6);
  CHECK(static_cast<double>(token_logprob(logits, 123)) ==
        doctest::Approx(static_cast<double>(logits[123]) - std::log(sum)).epsilon(1e-6));
}

TEST_CASE("N-7: logits of +200 and more neither overflow nor lose the distribution") {
  for (const float shift : {200.0f, 1e4f, -1e4f}) {
    const std::vector<float> logits = {shift + 2, shift + 1, shift};
    double sum = 0;
    for (Token t = 0; t < 3; ++t) sum += std::exp(static_cast<double>(token_logprob(logits, t)));
    CHECK(sum == doctest::Approx(1).epsilon(1e-6));
    CHECK(std::exp(static_cast<double>(token_logprob(logits, 0))) == doctest::Approx(0.665241).epsilon(1e-5));
  }
}

TEST_CASE("N-9: log-probabilities of NaN, +inf or nothing but -inf are a named error") {
  check_error(errc::bad_logits, {"NaN for token 1"}, [] {
    log_sum_exp(std::vector<float>{0, not_a_number, not_a_number});
  });
  check_error(errc::bad_logits, {"+inf for token 2"}, [] { token_logprob(std::vector<float>{0, 1, infinity}, 0); });
  check_error(errc::bad_logits, {"2 logits that are all -inf"}, [] {
    top_logprobs(std::vector<float>{-infinity, -infinity}, 1);
  });
  check_error(errc::bad_logits, {"0 logits"}, [] { log_sum_exp({}); });
}

TEST_CASE("a token outside the vocabulary has no log-probability") {
  const std::vector<float> logits = {0, 1};
  check_error(errc::bad_request, {"[0, 2)", "2"}, [&] { token_logprob(logits, 2); });
  check_error(errc::bad_request, {"[0, 2)", "-1"}, [&] { token_logprob(logits, -1); });
}

TEST_CASE("top_logprobs sorts by probability, then by id") {
  const std::vector<float> logits = {1, 3, 2, 3, -infinity, 2};
  const auto top = top_logprobs(logits, 4);
  REQUIRE(top.size() == 4);
  CHECK(top[0].token == 1);
  CHECK(top[1].token == 3);
  CHECK(top[2].token == 2);
  CHECK(top[3].token == 5);
  for (const TokenLogprob& entry : top) CHECK(entry.logprob == token_logprob(logits, entry.token));
  CHECK(top_logprobs(logits, 100).size() == 6);
  CHECK(top_logprobs(logits, 100).back().logprob == -infinity);
  CHECK(top_logprobs(logits, 0).empty());
  CHECK(top_logprobs(logits, -1).empty());
}

TEST_CASE("top_logprobs agrees with a full sort on rows with many ties") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<float> logits = gpt2ie_test::random_logits(500, 3, seed);
    for (float& x : logits) x = std::round(x);
    std::vector<Token> order(logits.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Token>(i);
    std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) {
      return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
    });
    const auto top = top_logprobs(logits, 37);
    for (std::size_t i = 0; i < 37; ++i) REQUIRE(top[i].token == order[i]);
  }
}

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/sampling/sampler_chain.hpp>

#include "helpers.hpp"
#include "support/shared_data.hpp"

using namespace gpt2ie;
using gpt2ie_test::check_error;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Pearson's statistic of `draws` picks at different positions against the chain's own distribution. Tokens that are
// expected less than 10 times are pooled. Returns the statistic and its degrees of freedom.
struct ChiSquare {
  double statistic;
  int freedom;
};

ChiSquare chi_square(SamplerChain<>& chain, const std::vector<float>& logits, const std::vector<double>& expected,
                     int draws) {
  std::vector<int> counts(logits.size(), 0);
  const std::vector<Token> tokens(static_cast<std::size_t>(draws), 0);
  for (std::size_t position = 0; position < tokens.size(); ++position) {
    ++counts[static_cast<std::size_t>(chain.pick(logits, {tokens.data(), position}, 0).token)];
  }
  double statistic = 0, pooled_expected = 0, pooled = 0;
  int cells = 0;
  const auto add = [&](double found, double wanted) {
    statistic += (found - wanted) * (found - wanted) / wanted;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] == 0) {
      REQUIRE(counts[i] == 0);
    } else if (expected[i] * draws < 10) {
      pooled += counts[i];
      pooled_expected += expected[i] * draws;
    } else {
      add(counts[i], expected[i] * draws);
    }
  }
  if (pooled_expected > 0) add(pooled, pooled_expected);
  return {statistic, cells - 1};
}

// The value that a chi-square variable exceeds once in 1,000 times, by Wilson and Hilferty.
double critical(int freedom) {
  const double v = 2.0 / (9.0 * freedom), z = 3.0902;
  return freedom * std::pow(1 - v + z * std::sqrt(v), 3);
}

std::vector<double> softmax(const std::vector<float>& logits) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  std::vector<double> result;
  for (const float x : logits) result.push_back(std::exp(static_cast<double>(x)) / sum);
  return result;
}

}  // namespace

TEST_CASE("every reference case keeps the same tokens with the same probabilities") {
  const auto path = gpt2ie_test::shared_path("reference/sampling.json");
  if (!path) return;
  std::ifstream file(*path);
  const nlohmann::json cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() >= 60);
  int swapped = 0;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    CAPTURE(c);
    const nlohmann::json& reference = cases[c];
    GenerateOptions options;
    for (const auto& [name, value] : reference["params"].items()) {
      if (name == "temperature")
        options.temperature = value;
      else if (name == "top_k")
        options.top_k = value;
      else if (name == "top_p")
        options.top_p = value;
      else if (name == "min_p")
        options.min_p = value;
      else if (name == "typical_p")
        options.typical_p = value;
      else if (name == "repetition_penalty")
        options.repetition_penalty = value;
      else if (name == "no_repeat_ngram_size")
        options.no_repeat_ngram_size = value;
      else
        FAIL("a parameter that this test doesn't know: ", name);
    }
    const auto logits = reference["logits"].get<std::vector<float>>();
    const auto tokens = reference["previous_ids"].get<std::vector<Token>>();
    const auto probabilities = reference["probs"].get<std::vector<double>>();
    SamplerChain<> chain(options, static_cast<int>(logits.size()), {});
    const auto their_kept = reference["kept"].get<std::vector<Token>>();
    std::vector<Token> kept, ours_alone, theirs_alone;
    for (const TokenProbability& ours : chain.distribution(logits, tokens, tokens.size())) {
      kept.push_back(ours.token);
      const double theirs = probabilities[static_cast<std::size_t>(ours.token)];
      if (theirs > 0) CHECK(std::abs(ours.probability - theirs) < 1e-5);
    }
    // Which of several equal tokens at the edge of top_p stay is left to Hugging Face's sort: it may keep a twin of one
    // that this library keeps.
    std::set_difference(kept.begin(), kept.end(), their_kept.begin(), their_kept.end(), std::back_inserter(ours_alone));
    std::set_difference(their_kept.begin(), their_kept.end(), kept.begin(), kept.end(),
                        std::back_inserter(theirs_alone));
    REQUIRE(ours_alone.size() == theirs_alone.size());
    for (std::size_t i = 0; i < ours_alone.size(); ++i) {
      CHECK(logits[static_cast<std::size_t>(ours_alone[i])] == logits[static_cast<std::size_t>(theirs_alone[i])]);
      CHECK(ours_alone[i] < theirs_alone[i]);
    }
    swapped += static_cast<int>(!ours_alone.empty());
  }
  CHECK(swapped <= 2);
}

TEST_CASE("P-6: of equal maxima the lowest id wins, greedy always and top_p = 0 too") {
  std::vector<float> logits(100, 0.0f);
  logits[5] = logits[9] = logits[77] = 4;
  SamplerChain<> greedy({.temperature = 0}, 100, {});
  SamplerChain<> biased({.temperature = 0, .logit_bias = {{50, 4.0f}}}, 100, {});
  SamplerChain<> nucleus({.top_p = 0}, 100, {});
  std::vector<Token> tokens;
  for (int i = 0; i < 20; ++i) {
    CHECK(greedy.pick(logits, tokens, 0).token == 5);
    CHECK(biased.pick(logits, tokens, 0).token == 5);
    CHECK(nucleus.pick(logits, tokens, 0).token == 5);
    tokens.push_back(0);
  }
}

TEST_CASE("P-7: temperatures next to 0 pick the best token") {
  const std::vector<float> logits = {1, 1.0001f, 0.5f};
  for (const float t : {0.0f, 1e-45f, 1e-38f, 1e-6f, 1e-5f}) {
    SamplerChain<> chain({.temperature = t}, 3, {});
    for (std::uint32_t choice = 0; choice < 20; ++choice) REQUIRE(chain.pick(logits, {}, 0, choice).token == 1);
  }
}

TEST_CASE("greedy takes penalties, bans and bias into account, and no truncation") {
  const std::vector<float> logits = {3, 2.5f, 1};
  const std::vector<Token> tokens = {0};
  const auto pick = [&](GenerateOptions options) {
    options.temperature = 0;
    SamplerChain<> chain(options, 3, {});
    const Token token = chain.pick(logits, tokens, 0).token;
    CHECK(chain.distribution(logits, tokens, 0).at(0).token == token);
    return token;
  };
  CHECK(pick({}) == 0);
  CHECK(pick({.repetition_penalty = 2}) == 1);
  CHECK(pick({.no_repeat_ngram_size = 1}) == 1);
  CHECK(pick({.presence_penalty = 2}) == 1);
  CHECK(pick({.logit_bias = {{2, 10.0f}}}) == 2);
  CHECK(pick({.typical_p = 0.01f}) == 0);
}

TEST_CASE("a draw carries the log-probability under the raw logits") {
  const std::vector<float> logits = gpt2ie_test::random_logits(1000, 2, 5);
  for (const GenerateOptions& options :
       {GenerateOptions{.temperature = 0}, GenerateOptions{}, GenerateOptions{.temperature = 0.5f, .top_k = 5},
        GenerateOptions{.temperature = 0, .logit_bias = {{7, 100.0f}}}}) {
    SamplerChain<> chain(options, 1000, {});
    const Draw draw = chain.pick(logits, {}, 0);
    CHECK(std::abs(draw.logprob - token_logprob(logits, draw.token)) < 1e-5f);
  }
}

TEST_CASE("N-7: logits of +200 draw from finite probabilities that sum to 1") {
  const std::vector<float> logits = {200, 199, 198, -200};
  SamplerChain<> chain({.seed = 1}, 4, {});
  double sum = 0;
  for (const TokenProbability& candidate : chain.distribution(logits, {}, 0)) sum += candidate.probability;
  CHECK(sum == doctest::Approx(1));
  CHECK(std::isfinite(chain.pick(logits, {}, 0).logprob));
}

TEST_CASE("N-9: NaN, +inf, all -inf and nothing left end with a named error, and the chain goes on") {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplerChain<> chain({.temperature = temperature, .logit_bias = {{0, -infinity}}}, 3, {});
    const auto pick = [&](const std::vector<float>& logits) { chain.pick(logits, {}, 0); };
    check_error(errc::bad_logits, {"NaN for token 1"}, [&] { pick({0, not_a_number, 1}); });
    check_error(errc::bad_logits, {"NaN for token 0"}, [&] { pick({not_a_number, not_a_number, not_a_number}); });
    check_error(errc::bad_logits, {"+inf for token 2"}, [&] { pick({0, 1, infinity}); });
    check_error(errc::bad_logits, {"3 logits that are all -inf"}, [&] { pick({-infinity, -infinity, -infinity}); });
    check_error(errc::bad_logits, {"a token left to pick"}, [&] { pick({1, -infinity, -infinity}); });
    CHECK(chain.pick(std::vector<float>{9, -infinity, 1}, {}, 0).token == 2);
  }
}

TEST_CASE("P-9: a million draws never give a masked token") {
  std::vector<float> logits = gpt2ie_test::random_logits(40, 1, 6);
  for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = -infinity;
  SamplerChain<> chain({.logit_bias = {{1, -infinity}}, .seed = 3}, 40, {});
  int masked = 0;
  const std::vector<Token> tokens(1000, 0);
  for (std::uint32_t choice = 0; choice < 1000; ++choice) {
    for (std::size_t position = 0; position < tokens.size(); ++position) {
      const Token token = chain.pick(logits, {tokens.data(), position}, 0, choice).token;
      masked += token % 3 == 0 || token == 1;
    }
  }
  CHECK(masked == 0);
  CHECK(chain.pick_at(std::nextafter(1.0, 0.0), logits, {}, 0).token == 38);
}

TEST_CASE("P-10: a draw depends on seed, choice and position alone") {
  const std::vector<float> logits = gpt2ie_test::random_logits(5000, 1, 8);
  const std::vector<Token> tokens(50, 1);
  const auto text = [&](SamplerChain<>& chain, std::uint32_t choice) {
    std::vector<Token> drawn;
    for (std::size_t n = 10; n < tokens.size(); ++n) {
      drawn.push_back(chain.pick(logits, {tokens.data(), n}, 10, choice).token);
    }
    return drawn;
  };
  SamplerChain<> alone({.seed = 42}, 5000, {});
  const std::vector<Token> reference = text(alone, 0);

  // Beside a seeded and an unseeded neighbour that share its memory, interleaved and backwards.
  const auto workspace = std::make_shared<Candidates>(5000);
  SamplerChain<> shared({.seed = 42}, 5000, {}, workspace), seeded({.seed = 7}, 5000, {}, workspace),
      unseeded({.top_k = 10}, 5000, {}, workspace);
  for (std::size_t n = tokens.size(); n-- > 10;) {
    seeded.pick(logits, {tokens.data(), n}, 10);
    unseeded.pick(logits, {tokens.data(), n}, 10);
    REQUIRE(shared.pick(logits, {tokens.data(), n}, 10).token == reference[n - 10]);
  }
  CHECK(text(alone, 1) != reference);
  CHECK(text(seeded, 0) != reference);
  CHECK(text(alone, 0) == reference);
}

TEST_CASE("P-12: two requests without a seed differ, and each can tell its seed") {
  const std::vector<float> logits(50257, 0.0f);
  SamplerChain<> first({}, 50257, {}), second({}, 50257, {});
  CHECK(first.seed() != second.seed());
  const std::vector<Token> tokens(8, 0);
  std::vector<Token> a, b, again;
  SamplerChain<> repeated({.seed = first.seed()}, 50257, {});
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    a.push_back(first.pick(logits, {tokens.data(), n}, 0).token);
    b.push_back(second.pick(logits, {tokens.data(), n}, 0).token);
    again.push_back(repeated.pick(logits, {tokens.data(), n}, 0).token);
  }
  CHECK(a != b);
  CHECK(a == again);
}

TEST_CASE("P-15: draws without truncation follow the full softmax") {
  const std::vector<float> logits = gpt2ie_test::random_logits(400, 2, 9);
  SamplerChain<> chain({.top_k = 0, .seed = 11}, 400, {});
  const ChiSquare result = chi_square(chain, logits, softmax(logits), 100000);
  CHECK(result.freedom > 100);
  CHECK(result.statistic < critical(result.freedom));
}

TEST_CASE("draws with temperature, top_k and top_p follow the truncated softmax") {
  const std::vector<float> logits = gpt2ie_test::random_logits(400, 2, 10);
  SamplerChain<> chain({.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .seed = 12}, 400, {});
  std::vector<double> expected(400, 0.0);
  for (const TokenProbability& p : chain.distribution(logits, {}, 0)) {
    expected[static_cast<std::size_t>(p.token)] = p.probability;
  }
  const ChiSquare result = chi_square(chain, logits, expected, 100000);
  CHECK(result.freedom > 10);
  CHECK(result.freedom < 40);
  CHECK(result.statistic < critical(result.freedom));
}

TEST_CASE("sizes that don't fit are refused") {
  SamplerChain<> chain({}, 3, {});
  const std::vector<float> logits = {1, 2, 3};
  check_error(errc::bad_request, {"3 logits", "found 2"}, [&] { chain.pick(std::vector<float>{1, 2}, {}, 0); });
  check_error(errc::bad_request, {"prompt length of 1"}, [&] { chain.pick(logits, {}, 1); });
  check_error(errc::bad_request, {"top_p"}, [] { SamplerChain<>({.top_p = 2}, 3, {}); });
  check_error(errc::bad_request, {"workspace for 3 tokens", "4"},
              [] { SamplerChain<>({}, 3, {}, std::make_shared<Candidates>(4)); });
}

// SPDX-License-Identifier: MIT
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/penalties.hpp>

#include "helpers.hpp"

using namespace gpt2ie;
using gpt2ie_test::check_error;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The scores that one processor leaves.
template <class Processor>
std::vector<float> scores(const std::vector<float>& logits, const GenerateOptions& options,
                          const std::vector<Token>& tokens, std::size_t prompt_length = 0,
                          const std::vector<Token>& end_ids = {}) {
  Candidates candidates(static_cast<int>(logits.size()));
  candidates.assign(logits);
  Processor{}.apply(candidates, {options, tokens, prompt_length, end_ids});
  return {candidates.scores().begin(), candidates.scores().end()};
}

}  // namespace

TEST_CASE("P-1: the repetition penalty multiplies negative scores, and counts a token once") {
  const GenerateOptions options{.repetition_penalty = 2};
  CHECK(scores<sampling::RepetitionPenalty>({2, -2, 0}, options, {0, 1, 2}) == std::vector<float>{1, -4, 0});
  CHECK(scores<sampling::RepetitionPenalty>({2, -2, 0}, options, {1, 1, 1, 1, 1}) == std::vector<float>{2, -4, 0});
  CHECK(scores<sampling::RepetitionPenalty>({2, -2, 0}, options, {0, 1}, 2) == std::vector<float>{1, -4, 0});
}

TEST_CASE("repetition penalty leaves banned tokens banned and refuses tokens outside the vocabulary") {
  const GenerateOptions options{.repetition_penalty = 2};
  CHECK(scores<sampling::RepetitionPenalty>({-infinity, 1}, options, {0, 1}) == std::vector<float>{-infinity, 0.5f});
  for (const Token bad : {-1, 2}) {
    check_error(errc::bad_request, {"vocabulary's size of 2", std::to_string(bad)}, [&] {
      scores<sampling::RepetitionPenalty>({1, 1}, options, {0, bad});
    });
  }
}

TEST_CASE("logit_bias adds up, and -infinity bans") {
  const GenerateOptions options{.logit_bias = {{0, 1.5f}, {0, 0.5f}, {2, -infinity}}};
  CHECK(scores<sampling::LogitBias>({1, 1, 1}, options, {}) == std::vector<float>{3, 1, -infinity});
}

TEST_CASE("no_repeat_ngram bans what would complete an n-gram that is there already") {
  const std::vector<float> logits(5, 1.0f);
  const auto banned = [&](int n, const std::vector<Token>& tokens) {
    std::vector<Token> ids;
    const auto left = scores<sampling::NoRepeatNgram>(logits, {.no_repeat_ngram_size = n}, tokens);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == -infinity) ids.push_back(static_cast<Token>(i));
    }
    return ids;
  };
  CHECK(banned(1, {3, 1, 3}) == std::vector<Token>{1, 3});
  CHECK(banned(2, {1, 2, 1, 3, 1}) == std::vector<Token>{2, 3});
  CHECK(banned(3, {1, 2, 3, 4, 1, 2}) == std::vector<Token>{3});
  CHECK(banned(2, {1, 1}) == std::vector<Token>{1});
  CHECK(banned(3, {1, 2}).empty());
  CHECK(banned(2, {}).empty());
  CHECK(banned(1, {}).empty());
  CHECK(banned(1000, {1, 2, 3}).empty());
}

TEST_CASE("min_new_tokens bans the ends of a text until enough tokens follow the prompt") {
  const GenerateOptions options{.min_new_tokens = 2};
  const std::vector<float> logits(3, 1.0f);
  CHECK(scores<sampling::MinNewTokens>(logits, options, {0, 0, 1}, 2, {1, 2}) ==
        std::vector<float>{1, -infinity, -infinity});
  CHECK(scores<sampling::MinNewTokens>(logits, options, {0, 0, 1, 1}, 2, {1, 2}) == logits);
}

TEST_CASE("a stop token id counts as an end of the text for min_new_tokens") {
  const std::vector<float> logits = {0, 5, 4};
  SamplerChain<> chain({.temperature = 0, .min_new_tokens = 1, .stop_token_ids = {2}}, 3, std::vector<Token>{1});
  CHECK(chain.pick(logits, std::vector<Token>{0}, 1).token == 0);
  CHECK(chain.pick(logits, std::vector<Token>{0, 0}, 1).token == 1);
}

TEST_CASE("presence and frequency penalties look at generated tokens alone") {
  const GenerateOptions options{.presence_penalty = 0.5f, .frequency_penalty = 0.25f};
  CHECK(scores<sampling::PresenceAndFrequency>({1, 1, 1}, options, {0, 0, 1, 1, 2}, 2) ==
        std::vector<float>{1, 0, 0.25f});
}

TEST_CASE("penalties find their tokens after a truncation too, and skip those that are gone") {
  const std::vector<float> logits = {4, 1, 3, 2};
  const std::vector<Token> tokens = {0, 1, 2};
  const GenerateOptions options{.repetition_penalty = 2};
  Candidates candidates(4);
  candidates.assign(logits);
  candidates.keep_at_least(2);
  sampling::RepetitionPenalty{}.apply(candidates, {options, tokens, 0, {}});
  CHECK(std::vector<float>(candidates.scores().begin(), candidates.scores().end()) == std::vector<float>{2, 1.5f, 2});
  CHECK(candidates.id(1) == 2);
  CHECK(candidates.find(1) == nullptr);
}

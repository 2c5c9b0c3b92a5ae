// SPDX-License-Identifier: MIT
/// From logits to tokens to text: how an answer ends, and what it gives out when.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/answer.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>

#include "support/shared_data.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::GenerateOptions;
using gpt2ie::Token;
using Answer = gpt2ie::Answer<gpt2ie::sampling::HuggingFaceOrder>;

const gpt2ie::Tokenizer& tokenizer() {
  static const gpt2ie::Tokenizer tokenizer = gpt2ie::load_tokenizer(gpt2ie_test::model_path("fairytale-1m"));
  return tokenizer;
}

gpt2ie::ModelConfig config() {
  gpt2ie::ModelConfig config;
  config.vocab = 4096;
  config.eos_token_ids = {4095};
  return config;
}

Answer make(GenerateOptions options, std::size_t prompt = 2, int context = 1024, bool text = true) {
  return Answer(config(), text ? &tokenizer() : nullptr, options, prompt, context, nullptr);
}

/// Logits that leave nothing but this token.
std::vector<float> only(Token token) {
  std::vector<float> logits(4096, -30.0f);
  logits[static_cast<std::size_t>(token)] = 30.0f;
  return logits;
}

/// Makes the answer say the tokens of `text` until it ends; what each draw gave out.
std::vector<std::string> say(Answer& answer, std::string_view text) {
  std::vector<Token> tokens(answer.result().prompt_tokens, 5);
  std::vector<std::string> pieces;
  for (const Token token : tokenizer().encode(text)) {
    if (answer.ended()) break;
    CHECK(answer.draw(only(token), tokens) == token);
    tokens.push_back(token);
    answer.read_text(pieces.emplace_back());
  }
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

}  // namespace

TEST_CASE("an answer of no tokens is over before it begins") {
  for (const Answer& answer : {make({.max_new_tokens = 0}), make({.max_new_tokens = 5}, 10, 10)}) {
    CHECK(answer.ended());
    CHECK(answer.result().finish_reason == FinishReason::length);
    CHECK(answer.result().tokens.empty());
  }
}

TEST_CASE("it ends at its length, at the end of the context and at the end of the text") {
  Answer length = make({.max_new_tokens = 3});
  say(length, "Once upon a time there was");
  CHECK(length.result().finish_reason == FinishReason::length);
  CHECK(length.result().tokens.size() == 3);
  Answer context = make({}, 8, 10);
  say(context, "Once upon a time there was");
  CHECK(context.result().finish_reason == FinishReason::length);
  CHECK(context.result().tokens.size() == 2);
  Answer end = make({});
  CHECK(end.draw(only(4095), std::vector<Token>{1, 2}) == 4095);
  CHECK(end.result().finish_reason == FinishReason::stop);
  CHECK(end.result().text.empty());
}

TEST_CASE("a stop string may lie across tokens; what could begin one is held back") {
  Answer answer = make({.stop = {"a time there"}});
  const std::vector<std::string> pieces = say(answer, "Once upon a time there was");
  CHECK(joined(pieces) == "Once upon ");
  CHECK(answer.result().text == "Once upon ");
  CHECK(answer.result().stop == "a time there");
  CHECK(answer.result().finish_reason == FinishReason::stop);
  // The held text comes when it turns out to be none.
  Answer other = make({.max_new_tokens = 4, .stop = {"a time they"}});
  CHECK(joined(say(other, "Once upon a time there was")).starts_with("Once upon a time"));
  CHECK(other.result().text == tokenizer().decode(other.result().tokens));
}

TEST_CASE("an end from outside gives out what was held back") {
  Answer answer = make({.stop = {"time there"}});
  std::vector<Token> tokens = {1, 2};
  std::string text;
  for (const Token token : tokenizer().encode("a time")) {
    answer.draw(only(token), tokens);
    tokens.push_back(token);
    answer.read_text(text);
  }
  CHECK(text == "a ");
  answer.end(FinishReason::cancelled);
  answer.read_text(text);
  CHECK(text == "a time");
  CHECK(answer.result().text == "a time");
  CHECK(answer.take_result().finish_reason == FinishReason::cancelled);
}

TEST_CASE("log-probabilities are told for each token, the likeliest if asked") {
  Answer answer = make({.max_new_tokens = 2, .temperature = 0, .top_logprobs = 2});
  std::vector<float> logits(4096, 0.0f);
  logits[7] = 3;
  logits[9] = 2;
  answer.draw(logits, std::vector<Token>{1, 2});
  const double total = std::exp(3.0) + std::exp(2.0) + 4094;
  REQUIRE(answer.result().top_logprobs.size() == 1);
  CHECK(answer.result().token_logprobs[0] == doctest::Approx(3 - std::log(total)));
  CHECK(answer.result().top_logprobs[0][1].token == 9);
  CHECK(answer.result().top_logprobs[0][1].logprob == doctest::Approx(2 - std::log(total)));
}

TEST_CASE("choices of one seed draw apart, and each again the same") {
  const auto tokens_of = [](std::uint32_t choice) {
    Answer answer(config(), nullptr, {.max_new_tokens = 20, .seed = 42}, 1, 1024, nullptr, choice);
    std::vector<Token> tokens = {5};
    while (!answer.ended()) tokens.push_back(answer.draw(std::vector<float>(4096, 0.0f), tokens));
    return tokens;
  };
  CHECK(tokens_of(0) == tokens_of(0));
  CHECK(tokens_of(0) != tokens_of(1));
}

TEST_CASE("bad logits and stop strings without a tokenizer are errors") {
  Answer answer = make({});
  CHECK(gpt2ie_test::error_code([&] {
          answer.draw(std::vector<float>(4096, NAN), std::vector<Token>{1, 2});
        }) == errc::bad_logits);
  CHECK(gpt2ie_test::error_code([] { make({.stop = {"x"}}, 2, 1024, false); }) == errc::bad_request);
}

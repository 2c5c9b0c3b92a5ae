// SPDX-License-Identifier: MIT
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/request.hpp>

using gpt2ie::Request;
using gpt2ie::Token;

TEST_CASE("a request is a text or tokens, and asks for one answer by default") {
  const Request text{.prompt = "Once", .options = {.temperature = 0.8f}};
  CHECK(std::get<std::string>(text.prompt) == "Once");
  CHECK(text.n == 1);
  CHECK_FALSE(text.prompt_logprobs);
  CHECK(text.priority == 0);
  CHECK(text.cache_salt.empty());
  CHECK_FALSE(text.timeout.has_value());
  CHECK_FALSE(static_cast<bool>(text.on_piece));
  const Request tokens{.prompt = std::vector<Token>{1, 2}};
  CHECK(std::get<std::vector<Token>>(tokens.prompt).size() == 2);
}

TEST_CASE("a piece has not ended anything unless it says so") {
  const gpt2ie::Piece piece{.text = "a"};
  CHECK(piece.finish_reason == gpt2ie::FinishReason::none);
  CHECK_FALSE(gpt2ie::ScoredToken{.token = 3}.logprob.has_value());
}

// SPDX-License-Identifier: MIT
/// How one request goes: limits, ends, stop strings, failures, and what it holds.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/utf8.hpp>
#include <gpt2ie/engine/generation.hpp>
#include <gpt2ie/engine/generator.hpp>

#include "support/random_checkpoint.hpp"
#include "unit/engine/tales.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::GenerateOptions;
using gpt2ie::GenerateResult;
using gpt2ie::Token;
using gpt2ie_test::error_code;
using gpt2ie_test::error_text;
using gpt2ie_test::greedy;
using gpt2ie_test::holds_nothing;
using gpt2ie_test::make_tales;
using gpt2ie_test::opening;

/// Options under which the model writes one token again and again.
GenerateOptions only(Token token, int count) {
  GenerateOptions options = greedy(count);
  options.logit_bias = {{token, 1000.0f}};
  return options;
}

Token token_of(std::string_view text) {
  const auto ids = gpt2ie_test::tales_tokenizer()->encode(text);
  REQUIRE(ids.size() == 1);
  return ids.front();
}

}  // namespace

TEST_CASE("a result is consistent in itself") {
  auto tales = make_tales();
  const GenerateResult result = tales.generate(opening, greedy(40));
  CHECK(result.tokens.size() == 40);
  CHECK(result.token_logprobs.size() == 40);
  CHECK(result.prompt_tokens == tales.tokenizer()->encode(opening).size());
  CHECK(result.text == tales.tokenizer()->decode(result.tokens));
  CHECK(result.finish_reason == FinishReason::length);
  CHECK_FALSE(result.stop.has_value());
  CHECK(std::all_of(result.token_logprobs.begin(), result.token_logprobs.end(), [](float x) { return x <= 0; }));
  CHECK(result.timings.first_token > 0);
  CHECK(result.timings.decode > 0);
  CHECK(holds_nothing(tales));
}

TEST_CASE("a prompt in text and the same in tokens give the same") {
  auto tales = make_tales();
  const auto text = tales.generate(opening, greedy(8));
  const auto tokens = tales.generate(tales.tokenizer()->encode(opening), greedy(8));
  CHECK(text.tokens == tokens.tokens);
  CHECK(text.text == tokens.text);
}

TEST_CASE("B-12: max_new_tokens 0 gives nothing, 1 gives exactly one token") {
  auto tales = make_tales();
  const auto none = tales.generate(opening, greedy(0));
  CHECK(none.tokens.empty());
  CHECK(none.text.empty());
  CHECK(none.prompt_tokens > 0);
  CHECK(none.finish_reason == FinishReason::length);
  const auto one = tales.generate(opening, greedy(1));
  CHECK(one.tokens.size() == 1);
  CHECK(one.finish_reason == FinishReason::length);
}

TEST_CASE("B-10: an empty prompt stands for the beginning of a text") {
  auto tales = make_tales();
  const Token end_of_text = *tales.tokenizer()->end_of_text();
  const auto empty = tales.generate("", greedy(8));
  CHECK(empty.prompt_tokens == 1);
  CHECK(empty.tokens == tales.generate(std::vector<Token>{end_of_text}, greedy(8)).tokens);
  CHECK(error_code([&] { tales.generate(std::vector<Token>{}, greedy(8)); }) == errc::bad_request);
  CHECK(tales.generate("", greedy(8)).tokens == empty.tokens);
}

TEST_CASE("B-7: a text ends with \"length\" at exactly the longest context, and a longer prompt is refused") {
  auto tales = make_tales();
  std::vector<Token> prompt(1020);
  std::iota(prompt.begin(), prompt.end(), 100);
  const auto filled = tales.generate(prompt, greedy(10));
  CHECK(filled.tokens.size() == 4);
  CHECK(filled.finish_reason == FinishReason::length);
  prompt.resize(1024, 7);
  const auto full = tales.generate(prompt, greedy(1));
  CHECK(full.tokens.empty());
  CHECK(full.finish_reason == FinishReason::length);
  prompt.push_back(7);
  CHECK(error_code([&] { tales.generate(prompt, greedy(1)); }) == errc::no_fit);
  const std::string text = error_text([&] { tales.generate(prompt, greedy(1)); });
  CHECK(text.find("1024") != std::string::npos);
  CHECK(text.find("1025") != std::string::npos);
  CHECK(holds_nothing(tales));
}

TEST_CASE("the smaller of max_length and the cache bounds a text") {
  const std::vector<Token> prompt(10, 5);
  auto short_context = make_tales({.max_rows = 8, .max_length = 12});
  CHECK(short_context.generate(prompt, greedy(10)).tokens.size() == 2);
  auto small_cache = make_tales({.max_rows = 8, .cache_units = 1});  // one page of 16 tokens
  CHECK(small_cache.generate(prompt, greedy(10)).tokens.size() == 6);
  CHECK(error_code([&] { small_cache.generate(std::vector<Token>(17, 5), greedy(1)); }) == errc::no_fit);
}

TEST_CASE("R-8: the model's own end of text ends a text unless it is ignored") {
  auto tales = make_tales();
  const Token end_of_text = tales.config().eos_token_ids.front();
  GenerateOptions options = only(end_of_text, 5);
  const auto ignored = tales.generate(opening, options);
  CHECK(ignored.tokens == std::vector<Token>(5, end_of_text));
  CHECK(ignored.finish_reason == FinishReason::length);
  CHECK(ignored.text.empty());
  options.ignore_eos = false;
  const auto ended = tales.generate(opening, options);
  CHECK(ended.tokens == std::vector<Token>{end_of_text});
  CHECK(ended.finish_reason == FinishReason::stop);
  CHECK_FALSE(ended.stop.has_value());
  CHECK(ended.text.empty());
}

TEST_CASE("a stop token ends a text and its own text is not returned") {
  auto tales = make_tales();
  const auto whole = tales.generate(opening, greedy(30));
  const Token stop = whole.tokens[12];
  const auto at =
      static_cast<std::size_t>(std::find(whole.tokens.begin(), whole.tokens.end(), stop) - whole.tokens.begin());
  GenerateOptions options = greedy(30);
  options.stop_token_ids = {stop};
  const auto cut = tales.generate(opening, options);
  CHECK(cut.finish_reason == FinishReason::stop);
  CHECK(cut.tokens == std::vector<Token>(whole.tokens.begin(), whole.tokens.begin() + static_cast<int>(at) + 1));
  CHECK(cut.text == tales.tokenizer()->decode(std::span(whole.tokens).first(at)));
}

TEST_CASE("S-7: a stop string across tokens ends a text and nothing of it is sent") {
  auto tales = make_tales();
  const auto whole = tales.generate(opening, greedy(40));
  const auto begin = whole.text.find(' ', whole.text.size() / 2);
  for (const std::size_t length : {1u, 5u, 20u}) {
    CAPTURE(length);
    GenerateOptions options = greedy(40);
    const std::string stop = whole.text.substr(begin, length);
    options.stop = {"never written", stop};
    std::string sent;
    const auto cut = tales.generate(opening, options, [&](std::string_view piece) { sent += piece; });
    CHECK(cut.text == whole.text.substr(0, whole.text.find(stop)));
    CHECK(sent == cut.text);
    CHECK(cut.finish_reason == FinishReason::stop);
    CHECK(cut.stop == stop);
    CHECK(holds_nothing(tales));
  }
}

TEST_CASE("S-9: text that was held back for a stop string arrives when the text ends without it") {
  auto tales = make_tales();
  const Token the = token_of(" the");
  for (const bool by_end_of_text : {false, true}) {
    CAPTURE(by_end_of_text);
    GenerateOptions options = only(the, 3);
    options.stop = {" the the the end"};
    if (by_end_of_text) options.stop_token_ids = {the};
    int pieces = 0;
    const auto result = tales.generate(opening, options, [&](std::string_view) { ++pieces; });
    CHECK(result.text == (by_end_of_text ? "" : " the the the"));
    CHECK(pieces == (by_end_of_text ? 0 : 1));
    CHECK(result.finish_reason == (by_end_of_text ? FinishReason::stop : FinishReason::length));
    CHECK_FALSE(result.stop.has_value());
  }
}

TEST_CASE("S-10: a stop string inside one token keeps what is before it") {
  auto tales = make_tales();
  GenerateOptions options = only(token_of(" the"), 3);
  options.stop = {"h"};
  const auto result = tales.generate(opening, options);
  CHECK(result.text == " t");
  CHECK(result.tokens.size() == 1);
  CHECK(result.finish_reason == FinishReason::stop);
}

TEST_CASE("S-1, S-4: pieces are whole characters, whatever the tokens") {
  auto tales = make_tales();
  bool replaced = false;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    GenerateOptions options{.max_new_tokens = 30, .temperature = 50, .seed = seed, .ignore_eos = true};
    options.stop = {"\xc3\xa9z"};
    std::string sent;
    bool whole = true;
    const auto result = tales.generate(opening, options, [&](std::string_view piece) {
      whole = whole && gpt2ie::detail::is_utf8(piece) && !piece.empty();
      sent += piece;
    });
    CHECK(whole);
    CHECK(sent == result.text);
    gpt2ie::IncrementalDecoder decoder(*tales.tokenizer());
    std::string expected;
    for (const Token token : result.tokens) {
      if (!tales.tokenizer()->is_special(token)) expected += decoder.push(token);
    }
    expected += decoder.finish();
    CHECK(result.text == expected);
    replaced = replaced || expected.find("\xef\xbf\xbd") != std::string::npos;
  }
  CHECK(replaced);  // tokens that are no characters were among them
}

TEST_CASE("bad requests are refused before anything is held") {
  auto tales = make_tales();
  CHECK(error_code([&] { tales.generate(opening, {.temperature = -1}); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate(opening, {.max_new_tokens = -1}); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate(opening, {.stop = {""}}); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate(std::vector<Token>{1, 4096}, greedy(1)); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate(std::vector<Token>{-1}, greedy(1)); }) == errc::bad_request);
  CHECK(holds_nothing(tales));
  CHECK(tales.generate(opening, greedy(2)).tokens.size() == 2);
}

TEST_CASE("without a tokenizer requests are in tokens, and text is refused") {
  gpt2ie_test::Tales tales(gpt2ie_test::tales_weights(), nullptr, gpt2ie::backend::SimdCpu<float>(1));
  auto with_text = make_tales();
  const auto prompt = gpt2ie_test::tales_tokenizer()->encode(opening);
  const auto result = tales.generate(prompt, greedy(8));
  CHECK(result.tokens == with_text.generate(prompt, greedy(8)).tokens);
  CHECK(result.text.empty());
  CHECK(result.finish_reason == FinishReason::length);
  CHECK(error_code([&] { tales.generate(opening, greedy(8)); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate("", greedy(8)); }) == errc::bad_request);
  CHECK(error_code([&] { tales.generate(prompt, {.stop = {"x"}}); }) == errc::bad_request);
  CHECK(holds_nothing(tales));
}

TEST_CASE("N-9: NaN from the model ends that request with a named error, and others go on") {
  gpt2ie::ModelConfig config = gpt2ie_test::small_config(2, 4, 16);
  config.bos_token_id = 0;
  auto tensors = gpt2ie_test::random_tensors(config);
  for (gpt2ie::Tensor& tensor : tensors) {
    if (tensor.name != "wpe.weight") continue;
    std::vector<float> values(tensor.size());
    gpt2ie::read_floats(tensor, 0, values.size(), values.data());
    values[3 * static_cast<std::size_t>(config.n_embd)] = std::numeric_limits<float>::quiet_NaN();  // at position 3
    tensor = gpt2ie::float_tensor("wpe.weight", tensor.shape, values);
  }
  gpt2ie_test::Tales model(gpt2ie_test::checkpoint_of(config, std::move(tensors)));

  using Generation = gpt2ie_test::Tales::generation_type;
  {
    Generation generation(model.executor(), nullptr, {1, 2}, greedy(8), std::make_shared<gpt2ie::Candidates>(101));
    std::string piece;
    CHECK(error_code([&] {
            while (generation.next(piece)) {}
          }) == errc::bad_logits);
    CHECK(generation.result().tokens.size() == 2);
    CHECK_FALSE(generation.next(piece));
    CHECK(generation.result().tokens.size() == 2);
  }
  CHECK(holds_nothing(model));
  CHECK(model.generate(std::vector<Token>{1, 2}, greedy(1)).tokens.size() == 1);
}

TEST_CASE("K-1, R-4: a thousand requests that stop early or throw leave every unit free") {
  const gpt2ie::ModelConfig config = gpt2ie_test::small_config(1, 4, 32);
  gpt2ie_test::Tales model(gpt2ie_test::random_checkpoint(config), gpt2ie::backend::SimdCpu<float>(1));
  using Generation = gpt2ie_test::Tales::generation_type;
  const auto workspace = std::make_shared<gpt2ie::Candidates>(config.vocab);
  std::string piece;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Token> prompt(static_cast<std::size_t>(1 + i % 20), 3);
    if (i % 3 == 0) {
      try {
        Generation generation(model.executor(), nullptr, prompt, greedy(20), workspace);
        generation.next(piece);
        throw std::runtime_error("the reader has left");
      } catch (const std::runtime_error&) {}
    } else {
      Generation generation(model.executor(), nullptr, prompt, greedy(20), workspace);
      for (int n = 0; n < i % 4; ++n) generation.next(piece);
    }
    if (!holds_nothing(model)) FAIL("a unit was lost by request " << i);
  }
  CHECK(holds_nothing(model));
}

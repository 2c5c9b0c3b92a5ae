// SPDX-License-Identifier: MIT
/// Generators: what they share, that they can be moved, callbacks and seeds.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/kv_cache/no_cache.hpp>
#include <gpt2ie/scheduler/scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>

#include "support/random_checkpoint.hpp"
#include "unit/engine/tales.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::GenerateOptions;
using gpt2ie::Token;
using gpt2ie_test::error_code;
using gpt2ie_test::greedy;
using gpt2ie_test::holds_nothing;
using gpt2ie_test::make_tales;
using gpt2ie_test::opening;

constexpr GenerateOptions drawn(std::uint64_t seed) { return {.max_new_tokens = 24, .seed = seed}; }

}  // namespace

TEST_CASE("a generator made of a checkpoint loads weights and tokenizer") {
  gpt2ie_test::Tales tales(gpt2ie::load_checkpoint(gpt2ie_test::model_path("fairytale-1m")));
  CHECK(tales.config().n_layer == 2);
  REQUIRE(tales.tokenizer() != nullptr);
  CHECK(tales.tokenizer()->size() == tales.config().vocab);
  CHECK(tales.generate(opening, greedy(12)).tokens == make_tales().generate(opening, greedy(12)).tokens);
}

TEST_CASE("a generator on a checkpoint without a folder has no tokenizer") {
  gpt2ie_test::Tales model(gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(1, 4, 16)));
  CHECK(model.tokenizer() == nullptr);
  CHECK(model.generate(std::vector<Token>{1, 2, 3}, greedy(4)).tokens.size() == 4);
  CHECK_THROWS_AS(gpt2ie_test::Tales(nullptr, nullptr), gpt2ie::Error);
}

TEST_CASE("two generators share weights in two threads and give what each gives alone") {
  auto alone = make_tales();
  const auto expected_king = alone.generate(opening, greedy(40)).text;
  const auto expected_fox = alone.generate("The fox said", drawn(7)).text;
  auto first = make_tales(), second = make_tales();
  CHECK(first.weights() == second.weights());
  std::string king, fox;
  std::thread other([&] { fox = second.generate("The fox said", drawn(7)).text; });
  king = first.generate(opening, greedy(40)).text;
  other.join();
  CHECK(king == expected_king);
  CHECK(fox == expected_fox);
}

TEST_CASE("a moved generator goes on, and so do its open streams") {
  auto tales = make_tales();
  const auto whole = tales.generate(opening, greedy(20)).text;
  std::string text;
  auto stream = tales.stream(opening, greedy(20));
  auto piece = stream.begin();
  text += *piece;
  auto moved = std::move(tales);
  for (++piece; piece != stream.end(); ++piece) text += *piece;
  CHECK(text == whole);
  CHECK(moved.generate(opening, greedy(20)).text == whole);
}

TEST_CASE("a callback that returns false stops the request, one that returns nothing or true does not") {
  auto tales = make_tales();
  const auto whole = tales.generate(opening, greedy(20));
  int pieces = 0;
  const auto stopped = tales.generate(opening, greedy(20), [&](std::string_view) { return ++pieces < 3; });
  CHECK(pieces == 3);
  CHECK(stopped.finish_reason == FinishReason::none);
  CHECK(!stopped.text.empty());
  CHECK(whole.text.starts_with(stopped.text));
  CHECK(stopped.tokens.size() < whole.tokens.size());
  CHECK(holds_nothing(tales));
  std::string sent;
  CHECK(tales
            .generate(opening, greedy(20),
                      [&](std::string_view piece) {
                        sent += piece;
                        return true;
                      })
            .text == whole.text);
  CHECK(sent == whole.text);
}

TEST_CASE("what a callback throws passes through, and the next request is served") {
  auto tales = make_tales();
  CHECK_THROWS_AS(
      tales.generate(opening, greedy(20), [](std::string_view) { throw std::runtime_error("the reader has left"); }),
      std::runtime_error);
  CHECK(holds_nothing(tales));
  CHECK(tales.generate(opening, greedy(3)).tokens.size() == 3);
}

TEST_CASE("P-10: a seed gives the same text alone, after others and between the steps of others") {
  auto alone = make_tales();
  const auto expected = alone.generate(opening, drawn(42));
  CHECK(expected.seed == 42);

  auto tales = make_tales({.max_sequences = 3, .max_rows = 64});
  tales.generate("The fox said", drawn(1));
  CHECK(tales.generate(opening, drawn(42)).tokens == expected.tokens);

  auto seeded = tales.stream(opening, drawn(42));
  auto unseeded = tales.stream(opening, {.max_new_tokens = 24});
  auto other = tales.stream("A wolf", drawn(43));
  auto at = seeded.begin();
  auto first_neighbour = unseeded.begin();
  auto second_neighbour = other.begin();
  std::string text;
  for (; at != seeded.end(); ++at) {
    text += *at;
    if (first_neighbour != unseeded.end()) ++first_neighbour;
    if (second_neighbour != other.end()) ++second_neighbour;
  }
  CHECK(text == expected.text);
  CHECK(seeded.result().tokens == expected.tokens);
}

TEST_CASE("P-12: requests without a seed differ, and the seed that they report repeats them") {
  auto tales = make_tales();
  const auto first = tales.generate(opening, {.max_new_tokens = 24});
  const auto second = tales.generate(opening, {.max_new_tokens = 24});
  CHECK(first.seed != second.seed);
  CHECK(first.tokens != second.tokens);
  CHECK(tales.generate(opening, drawn(first.seed)).tokens == first.tokens);
}

TEST_CASE("P-7: a temperature of almost 0 is greedy") {
  auto tales = make_tales();
  const auto expected = tales.generate(opening, greedy(12)).tokens;
  for (const float temperature : {1e-45f, 1e-38f, 1e-6f}) {
    GenerateOptions options = greedy(12);
    options.temperature = temperature;
    CHECK(tales.generate(opening, options).tokens == expected);
  }
}

TEST_CASE("T-9: the name of a special token in a prompt is text unless it is allowed") {
  auto tales = make_tales();
  GenerateOptions options = greedy(1);
  const auto as_text = tales.generate("<|endoftext|>", options);
  options.allow_special = true;
  const auto allowed = tales.generate("<|endoftext|>", options);
  CHECK(as_text.prompt_tokens > 1);
  CHECK(allowed.prompt_tokens == 1);
}

TEST_CASE("there is room for as many sequences as the scheduler has slots, or for more") {
  using Batched = gpt2ie::Generator<gpt2ie::Scheduler<gpt2ie::slots::Static<4>>>;
  const auto sequences = [](const gpt2ie::Limits& limits) {
    return Batched(gpt2ie_test::tales_weights(), nullptr, gpt2ie::backend::SimdCpu<float>(1), limits)
        .executor()
        .limits()
        .max_sequences;
  };
  CHECK(sequences(gpt2ie::generator_limits) == 4);
  CHECK(sequences({.max_sequences = 1}) == 4);
  CHECK(sequences({.max_sequences = 3}) == 4);
  CHECK(sequences({.max_sequences = 6}) == 6);
  for (const int none : {0, -1}) CHECK(error_code([&] { sequences({.max_sequences = none}); }) == errc::bad_request);
}

TEST_CASE("without a cache the rows of a step bound the context") {
  using Naive = gpt2ie::Generator<gpt2ie::Attention<gpt2ie::attention::Standard>, gpt2ie::KVCache<gpt2ie::kv::NoCache>>;
  const std::vector<Token> prompt = gpt2ie_test::tales_tokenizer()->encode(opening);
  Naive naive(gpt2ie_test::tales_weights(), gpt2ie_test::tales_tokenizer(), gpt2ie::backend::SimdCpu<float>(1));
  CHECK(naive.executor().limits().max_rows == naive.config().n_positions);
  CHECK(naive.generate(prompt, greedy(8)).tokens == make_tales().generate(prompt, greedy(8)).tokens);

  const int rows = static_cast<int>(prompt.size()) + 2;
  Naive small(gpt2ie_test::tales_weights(), gpt2ie_test::tales_tokenizer(), gpt2ie::backend::SimdCpu<float>(1),
              {.max_rows = rows});
  const auto filled = small.generate(prompt, greedy(8));
  CHECK(filled.tokens.size() == 2);
  CHECK(filled.finish_reason == FinishReason::length);
  CHECK(error_code([&] { small.generate(std::vector<Token>(prompt.size() + 3, 5), greedy(1)); }) == errc::no_fit);
}

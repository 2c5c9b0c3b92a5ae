// SPDX-License-Identifier: MIT
/// Generators over each kind of storage: what is left behind when requests end early, and what happens at the end of
/// the context.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/kv_cache/kv_cache.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

#include "golden/fairytale_continuations.hpp"
#include "support/shared_data.hpp"

namespace gpt2ie_test {
namespace {

namespace kv = gpt2ie::kv;

template <class Storage>
using Tales = gpt2ie::Generator<gpt2ie::KVCache<Storage>>;

template <class Generator>
bool all_units_free(const Generator& generator) {
  const gpt2ie::Capacity capacity = generator.executor().book().capacity();
  return capacity.free_units == capacity.total_units;
}

/// Starts a request and ends it early, in one of several ways.
template <class Generator>
void begin_and_stop(Generator& generator, int way) {
  const gpt2ie::GenerateOptions options{.max_new_tokens = 6, .seed = static_cast<std::uint64_t>(way)};
  const std::string prompt = "Once upon a time";
  int pieces = 0;
  switch (way % 7) {
    case 0: {
      for (const std::string_view piece : generator.stream(prompt, options)) {
        if (!piece.empty() && ++pieces == 2) break;
      }
      break;
    }
    case 1: {
      const auto stream = generator.stream(prompt, options);
      CHECK(stream.result().tokens.empty());
      break;
    }
    case 2: {
      const auto result = generator.generate(prompt, options, [&](std::string_view) { return ++pieces < 2; });
      CHECK(result.tokens.size() <= 6);
      break;
    }
    case 3: {
      CHECK_THROWS_AS(generator.generate(prompt, options,
                                         [&](std::string_view) {
                                           if (++pieces == 2) throw std::runtime_error("enough");
                                         }),
                      std::runtime_error);
      break;
    }
    case 4: {
      // One stream at a time: the second is refused and the first goes on.
      auto stream = generator.stream(prompt, options);
      CHECK_THROWS_AS(static_cast<void>(generator.stream(prompt, options)), gpt2ie::Error);
      for (const std::string_view piece : stream) pieces += !piece.empty();
      CHECK(pieces > 0);
      break;
    }
    case 5: {
      CHECK_THROWS_AS(generator.generate(std::vector<gpt2ie::Token>{3, -1}, options), gpt2ie::Error);
      break;
    }
    default: {
      const auto result = generator.generate(prompt, options);
      CHECK(result.finish_reason != gpt2ie::FinishReason::none);
    }
  }
}

template <class Storage>
void many_cycles(int cycles) {
  Tales<Storage> generator(gpt2ie::load_checkpoint(model_path("fairytale-1m")), gpt2ie::backend::SimdCpu<float>(1));
  for (int i = 0; i < cycles; ++i) {
    begin_and_stop(generator, i);
    REQUIRE(all_units_free(generator));
  }
  const Continuation& expected = fairytale_1m_continuations[1];
  const std::vector<gpt2ie::Token> prompt(expected.tokens.begin(), expected.tokens.begin() + expected.prompt);
  std::vector<gpt2ie::Token> found = prompt;
  for (const gpt2ie::Token token : generator.generate(prompt, {.max_new_tokens = 64, .temperature = 0}).tokens) {
    found.push_back(token);
  }
  CHECK(found == expected.tokens);
}

template <class Storage>
void end_of_context() {
  Tales<Storage> generator(gpt2ie::load_checkpoint(model_path("fairytale-1m")), gpt2ie::backend::SimdCpu<float>(2));
  const gpt2ie::GenerateOptions options{.max_new_tokens = 10, .temperature = 0, .ignore_eos = true};
  std::vector<gpt2ie::Token> prompt;
  for (int i = 0; i < 1025; ++i) prompt.push_back(i * 31 % 4096);
  CHECK_THROWS_AS(generator.generate(prompt, options), gpt2ie::Error);
  REQUIRE(all_units_free(generator));

  prompt.pop_back();
  const gpt2ie::GenerateResult full = generator.generate(prompt, options);
  CHECK(full.tokens.empty());
  CHECK(full.finish_reason == gpt2ie::FinishReason::length);
  REQUIRE(all_units_free(generator));

  prompt.resize(1023);
  const gpt2ie::GenerateResult last = generator.generate(prompt, options);
  CHECK(last.tokens.size() == 1);
  CHECK(last.finish_reason == gpt2ie::FinishReason::length);

  prompt.resize(1020);
  const gpt2ie::GenerateResult four = generator.generate(prompt, options);
  CHECK(four.tokens.size() == 4);
  CHECK(four.prompt_tokens + four.tokens.size() == 1024);
  CHECK(four.finish_reason == gpt2ie::FinishReason::length);
  CHECK(four.tokens.front() < 4096);
  REQUIRE(all_units_free(generator));
}

}  // namespace

TEST_CASE("a thousand requests that stop early or throw leave every unit free") {
  many_cycles<kv::Paged<float, 16>>(1000);
  many_cycles<kv::Contiguous<float>>(200);
  many_cycles<kv::Concat<float>>(200);
  many_cycles<kv::NoCache>(200);
}

TEST_CASE("B-7: a context of 1024 ends at exactly 1024 tokens, and a longer prompt is refused") {
  end_of_context<kv::Paged<float, 16>>();
  end_of_context<kv::NoCache>();
}

}  // namespace gpt2ie_test

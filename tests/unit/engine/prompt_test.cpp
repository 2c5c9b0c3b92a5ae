// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/prompt.hpp>
#include <gpt2ie/io/checkpoint.hpp>

#include "support/random_checkpoint.hpp"
#include "support/shared_data.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::encode_prompt;
using gpt2ie::errc;
using gpt2ie::Token;
using gpt2ie_test::error_code;
using gpt2ie_test::error_text;

const gpt2ie::Checkpoint& tales() {
  static const gpt2ie::Checkpoint checkpoint = gpt2ie::load_checkpoint(gpt2ie_test::model_path("fairytale-1m"));
  return checkpoint;
}

}  // namespace

TEST_CASE("tokens of a prompt are those of the vocabulary") {
  gpt2ie::check_prompt(std::vector<Token>{0, 4095}, 4096);
  CHECK(error_code([] { gpt2ie::check_prompt(std::vector<Token>{4096}, 4096); }) == errc::bad_request);
  CHECK(error_text([] {
          gpt2ie::check_prompt(std::vector<Token>{3, -1}, 4096);
        }).find("found -1") != std::string::npos);
}

TEST_CASE("a prompt in text needs a tokenizer, and an empty one begins a text") {
  const auto tokenizer = gpt2ie::find_tokenizer(tales());
  REQUIRE(tokenizer != nullptr);
  CHECK(error_code([] { encode_prompt(nullptr, tales().config(), "a", {}); }) == errc::bad_request);
  CHECK(encode_prompt(tokenizer.get(), tales().config(), "Once", {}) == tokenizer->encode("Once"));
  CHECK(encode_prompt(tokenizer.get(), tales().config(), "", {}) == std::vector<Token>{4095});
  gpt2ie::ModelConfig without = tales().config();
  without.bos_token_id = -1;
  CHECK(encode_prompt(tokenizer.get(), without, "", {}) == std::vector<Token>{4095});
}

TEST_CASE("names of special tokens are text unless the request allows them") {
  const auto tokenizer = gpt2ie::find_tokenizer(tales());
  CHECK(encode_prompt(tokenizer.get(), tales().config(), "<|endoftext|>", {}).size() > 1);
  CHECK(encode_prompt(tokenizer.get(), tales().config(), "<|endoftext|>", {.allow_special = true}) ==
        std::vector<Token>{4095});
}

TEST_CASE("a checkpoint in memory has no tokenizer, and no weights are refused") {
  const auto config = gpt2ie_test::small_config(1, 4, 8);
  CHECK(gpt2ie::find_tokenizer(gpt2ie_test::random_checkpoint(config)) == nullptr);
  using Backend = gpt2ie::backend::SimdCpu<float>;
  CHECK(error_code([] { gpt2ie::require_weights<Backend>(nullptr); }) == errc::bad_request);
}

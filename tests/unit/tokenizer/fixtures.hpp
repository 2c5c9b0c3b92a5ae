// SPDX-License-Identifier: MIT
/// Tokenizers for tests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/tokenizer/load_tokenizer.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

#include "support/shared_data.hpp"

namespace gpt2ie_test {

/// Token i is byte i; then come `more`, which no merges lead to.
inline std::vector<std::string> byte_tokens(std::vector<std::string> more = {}) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (std::string& token : more) tokens.push_back(std::move(token));
  return tokens;
}

/// The vocabulary and merges of the published GPT-2; nothing where the reference data is absent.
inline const std::optional<gpt2ie::Tokenizer>& gpt2() {
  static const std::optional<gpt2ie::Tokenizer> tokenizer = [] {
    const auto folder = shared_path("gpt2");
    return folder ? std::optional(gpt2ie::load_tokenizer(*folder)) : std::nullopt;
  }();
  return tokenizer;
}

/// The tokenizer of the bundled models.
inline const gpt2ie::Tokenizer& fairytale() {
  static const gpt2ie::Tokenizer tokenizer = gpt2ie::load_tokenizer(model_path("fairytale-6m"));
  return tokenizer;
}

}  // namespace gpt2ie_test

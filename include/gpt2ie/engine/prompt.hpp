// SPDX-License-Identifier: MIT
/// From what a user gives, a model's files and a prompt, to what the engine works with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>
#include <gpt2ie/sampling/options.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Throws Error (bad_request) for a prompt token outside the vocabulary.
inline void check_prompt(std::span<const Token> prompt, int vocab) {
  for (const Token token : prompt) {
    if (token < 0 || token >= vocab) {
      fail(errc::bad_request, "prompt tokens in [0, " + std::to_string(vocab) + ")", std::to_string(token));
    }
  }
}

/// A prompt in tokens. An empty one is the token that begins a text; none if the model has no such token. Errors:
/// bad_request without a tokenizer, bad_text.
inline std::vector<Token> encode_prompt(const Tokenizer* tokenizer, const ModelConfig& config, std::string_view prompt,
                                        const GenerateOptions& options) {
  if (!tokenizer) {
    fail(errc::bad_request,
         "a prompt in tokens, as the model has no whole tokenizer (vocab.json and merges.txt, or tokenizer.json)",
         "a prompt in text");
  }
  if (!prompt.empty()) {
    return tokenizer->encode(prompt, options.allow_special ? SpecialTokens::allow : SpecialTokens::as_text);
  }
  const Token start = config.bos_token_id >= 0 ? config.bos_token_id : tokenizer->end_of_text().value_or(-1);
  return start >= 0 ? std::vector<Token>{start} : std::vector<Token>{};
}

/// The tokenizer beside a checkpoint; null if there is none.
inline std::shared_ptr<const Tokenizer> find_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.folder().empty() || !has_tokenizer(checkpoint.folder())) return nullptr;
  return std::make_shared<const Tokenizer>(load_tokenizer(checkpoint.folder()));
}

template <Backend B>
std::shared_ptr<const Weights<B>> pack_weights(B& backend, const Checkpoint& checkpoint) {
  return std::make_shared<const Weights<B>>(backend, checkpoint);
}

/// Errors: bad_request for null.
template <Backend B>
std::shared_ptr<const Weights<B>> require_weights(std::shared_ptr<const Weights<B>> weights) {
  if (!weights) fail(errc::bad_request, "weights to generate with", "a null pointer");
  return weights;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

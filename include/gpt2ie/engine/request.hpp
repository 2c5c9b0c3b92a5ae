// SPDX-License-Identifier: MIT
/// What an engine is asked, and what it answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/engine/result.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/sampling/options.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A token of an answer or a prompt, how likely it was, and what else was.
struct ScoredToken {
  Token token = 0;
  std::optional<float> logprob = {};   ///< none for the first token of a prompt
  std::vector<TokenLogprob> top = {};  ///< GenerateOptions::top_logprobs of them, best first
};

/// Some of one answer: what a step of the model added to it. The last piece of a choice has a finish_reason.
struct Piece {
  int choice = 0;
  std::string text = {};                 ///< whole characters; empty while they may yet become a stop string
  std::vector<ScoredToken> tokens = {};  ///< drawn in this step, the one that ends the text included
  FinishReason finish_reason = FinishReason::none;
};

/// Meant for designated initialisers: `{.prompt = "Once upon a time", .options = {.temperature = 0.8f}, .n = 2}`.
struct Request {
  std::variant<std::string, std::vector<Token>> prompt;  ///< an empty string: begin a new text
  GenerateOptions options = {};
  int n = 1;                                              ///< answers, 1 to 128; they share the prompt's work
  bool prompt_logprobs = false;                           ///< tell how likely each token of the prompt was
  int priority = 0;                                       ///< higher goes first
  std::string cache_salt = {};                            ///< only requests of equal salt share cached prompts
  std::optional<std::chrono::milliseconds> timeout = {};  ///< from submit to the last token
  std::function<void(const Piece&)> on_piece = {};        ///< called on the engine's thread, in place of Handle::next
};

/// Tokens that a request took.
struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;      ///< of the prompt, found in the cache
  std::size_t completion_tokens = 0;  ///< of all choices
};

/// A request that is over.
struct Completion {
  std::vector<GenerateResult> choices;  ///< n of them; cancelled and timed-out ones hold what there was
  std::vector<ScoredToken> prompt;      ///< if prompt_logprobs
  Usage usage;
};

/// The queue is at its limit: ask again later.
struct QueueFull {
  int queued, max_queued;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

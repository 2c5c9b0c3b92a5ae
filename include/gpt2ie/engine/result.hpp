// SPDX-License-Identifier: MIT
/// What a finished request has to show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/log_probs.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Why a text ended.
enum class FinishReason {
  none,    ///< it has not, or its reader stopped early
  stop,    ///< end of text, a stop token or a stop string
  length,  ///< max_new_tokens, or the context is full
  cancelled,
  timeout,
  error,
};

/// OpenAI's names where it has one: "stop", "length"; "" for none.
[[nodiscard]] inline std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::timeout:
      return "timeout";
    case FinishReason::error:
      return "error";
    case FinishReason::none:
      break;
  }
  return "";
}

/// Time spent on a request, in seconds.
struct Timings {
  double first_token = 0;  ///< from the start of the request to its first token
  double decode = 0;       ///< from there to the last token

  /// Tokens per second after the first; 0 when there is at most one.
  [[nodiscard]] double decode_rate(std::size_t tokens) const {
    return tokens > 1 && decode > 0 ? static_cast<double>(tokens - 1) / decode : 0;
  }
};

/// The outcome of one request.
struct GenerateResult {
  std::string text;                                     ///< without the prompt and without the stop string
  std::vector<Token> tokens;                            ///< generated, the token that ended the text included
  std::vector<float> token_logprobs;                    ///< of each token under the model's own distribution
  std::vector<std::vector<TokenLogprob>> top_logprobs;  ///< the likeliest at each token's place, best first; if asked
  std::size_t prompt_tokens = 0;
  FinishReason finish_reason = FinishReason::none;
  std::optional<std::string> stop;  ///< the stop string that ended it
  std::uint64_t seed = 0;           ///< gives the same text again
  Timings timings;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

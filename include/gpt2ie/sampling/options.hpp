// SPDX-License-Identifier: MIT
/// Everything that one request may set, with its ranges.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What a request asks for. Every default is "off" but the length, so that `{}` samples from the model's own
/// distribution. Meant for designated initialisers: `{.max_new_tokens = 100, .temperature = 0.8f, .top_k = 40}`.
struct GenerateOptions {
  int max_new_tokens = 128;      ///< tokens after the prompt, >= 0
  float temperature = 1.0f;      ///< scores are divided by it, >= 0; below 1e-5 (0 too): greedy
  int top_k = 0;                 ///< keep the k best; 0 or -1: off; more than the vocabulary: off
  float top_p = 1.0f;            ///< keep the fewest tokens that hold this mass, in [0, 1]; 1: off; 0: the best one
  float min_p = 0.0f;            ///< drop what is less likely than this share of the best, in [0, 1]; 0: off
  float typical_p = 1.0f;        ///< keep the tokens nearest to the entropy that hold this mass, in (0, 1]; 1: off
  float repetition_penalty = 1;  ///< of every token of prompt and output, > 0; 1: off
  int no_repeat_ngram_size = 0;  ///< no n tokens in a row twice, prompt included, >= 0; 0: off
  int min_new_tokens = 0;        ///< no token that ends the text before so many, >= 0
  float presence_penalty = 0;    ///< taken once from each generated token, in [-2, 2]
  float frequency_penalty = 0;   ///< taken for each time a token was generated, in [-2, 2]
  std::vector<std::pair<Token, float>> logit_bias =
      {};                                  ///< added to raw logits; finite, or -infinity: never; may repeat
  std::optional<std::uint64_t> seed = {};  ///< of all draws of the request; none: a fresh one
  std::vector<std::string> stop = {};      ///< bytes that end the text and aren't returned; none of them empty
  std::vector<Token> stop_token_ids = {};  ///< tokens that end the text, beside the model's own
  int top_logprobs = 0;                    ///< likeliest tokens to tell of at each generated token's place, >= 0
  bool ignore_eos = false;                 ///< go on after the model's own end of text
  bool allow_special = false;              ///< names of special tokens in the prompt become those tokens
};

/// Below this, temperature means greedy: 1 / T would leave float's range before the softmax does.
inline constexpr float greedy_temperature = 1e-5f;

/// Whether a request takes the best token each time instead of drawing.
inline bool is_greedy(const GenerateOptions& options) { return options.temperature < greedy_temperature; }

/// A seed that nobody can guess from another one. Safe from any thread; it keeps no state of its own.
inline std::uint64_t fresh_seed() {
  std::random_device entropy;
  const std::uint64_t high = entropy();
  return high << 32 | (entropy() & 0xffffffffu);
}

namespace detail {

/// A number as text, the same in every locale.
template <class Number>
std::string number_text(Number value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value);
  return {text, written.ptr};
}

/// Refuses a field unless `holds`. A NaN makes every comparison false, so it is refused like any other value.
template <class Number>
void require_field(bool holds, std::string_view field, std::string_view range, Number value) {
  if (holds) return;
  fail(errc::bad_request, std::string(field) + ' ' + std::string(range), number_text(value));
}

inline void require_token(std::string_view field, Token token, int vocab) {
  require_field(token >= 0 && token < vocab, field, "to hold token ids in [0, " + number_text(vocab) + ")", token);
}

}  // namespace detail

/// Throws Error (bad_request) for the first field that is outside its range, with its name, range and value.
/// vocab: rows of the model's embedding table.
inline void validate(const GenerateOptions& options, int vocab) {
  using detail::require_field;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto within = [](float value, float low, float high) { return value >= low && value <= high; };

  require_field(options.max_new_tokens >= 0, "max_new_tokens", "of 0 or more", options.max_new_tokens);
  require_field(options.temperature >= 0 && options.temperature < infinity, "temperature", "finite and 0 or more",
                options.temperature);
  require_field(options.top_k >= -1, "top_k", "of -1 or more", options.top_k);
  require_field(within(options.top_p, 0, 1), "top_p", "in [0, 1]", options.top_p);
  require_field(within(options.min_p, 0, 1), "min_p", "in [0, 1]", options.min_p);
  require_field(options.typical_p > 0 && options.typical_p <= 1, "typical_p", "in (0, 1]", options.typical_p);
  require_field(options.repetition_penalty > 0 && options.repetition_penalty < infinity, "repetition_penalty",
                "finite and above 0", options.repetition_penalty);
  require_field(options.no_repeat_ngram_size >= 0, "no_repeat_ngram_size", "of 0 or more",
                options.no_repeat_ngram_size);
  require_field(options.min_new_tokens >= 0, "min_new_tokens", "of 0 or more", options.min_new_tokens);
  require_field(within(options.presence_penalty, -2, 2), "presence_penalty", "in [-2, 2]", options.presence_penalty);
  require_field(within(options.frequency_penalty, -2, 2), "frequency_penalty", "in [-2, 2]", options.frequency_penalty);
  require_field(options.top_logprobs >= 0, "top_logprobs", "of 0 or more", options.top_logprobs);
  for (const auto& [token, bias] : options.logit_bias) {
    detail::require_token("logit_bias", token, vocab);
    require_field(bias < infinity, "logit_bias", "to hold values that are finite or -inf", bias);
  }
  for (const std::string& stop : options.stop) {
    if (stop.empty()) fail(errc::bad_request, "stop to hold strings of one byte or more", "an empty string");
  }
  for (const Token token : options.stop_token_ids) detail::require_token("stop_token_ids", token, vocab);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

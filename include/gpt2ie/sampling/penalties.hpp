// SPDX-License-Identifier: MIT
/// Processors that raise, lower or ban single tokens. They touch only the tokens that they are about.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI::sampling {

/// Adds the request's logit_bias; -infinity bans for good. Several entries for one token add up.
struct LogitBias {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions& options) { return !options.logit_bias.empty(); }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    for (const auto& [token, bias] : context.options.logit_bias) {
      if (bias == detail::minus_infinity) {
        candidates.ban(token);
      } else if (float* score = candidates.find(token)) {
        *score += bias;
      }
    }
  }
};

/// Each distinct token of prompt and output once: a score below 0 times r, any other divided by r.
///
/// Source: Keskar et al., "CTRL", 2019, section 4.1, with the sign rule of Hugging Face. O(tokens).
struct RepetitionPenalty {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions& options) { return options.repetition_penalty != 1; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const float penalty = context.options.repetition_penalty;
    candidates.for_each_distinct(
        context.tokens, [penalty](float& score, int) { score = score < 0 ? score * penalty : score / penalty; });
  }
};

/// Bans every token that would complete an n-gram that prompt and output already hold; n = 1 bans all tokens seen.
/// O(tokens * n) at worst, close to O(tokens) on text.
struct NoRepeatNgram {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions& options) { return options.no_repeat_ngram_size > 0; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const std::span<const Token> tokens = context.tokens;
    const std::size_t prefix_length = static_cast<std::size_t>(context.options.no_repeat_ngram_size) - 1;
    if (tokens.size() <= prefix_length) return;
    const std::span<const Token> prefix = tokens.last(prefix_length);
    for (std::size_t next = prefix_length; next < tokens.size(); ++next) {
      if (std::equal(prefix.begin(), prefix.end(),
                     tokens.begin() + static_cast<std::ptrdiff_t>(next - prefix_length))) {
        candidates.ban(tokens[next]);
      }
    }
  }
};

/// Bans the tokens that end a text until min_new_tokens were generated; the prompt doesn't count.
struct MinNewTokens {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions& options) { return options.min_new_tokens > 0; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    if (context.generated().size() >= static_cast<std::size_t>(context.options.min_new_tokens)) return;
    for (const Token token : context.end_ids) candidates.ban(token);
  }
};

/// Takes presence_penalty once and frequency_penalty per occurrence from each generated token; the prompt doesn't
/// count, as OpenAI and vLLM have it.
struct PresenceAndFrequency {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions& options) {
    return options.presence_penalty != 0 || options.frequency_penalty != 0;
  }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const float presence = context.options.presence_penalty, frequency = context.options.frequency_penalty;
    candidates.for_each_distinct(context.generated(), [presence, frequency](float& score, int times) {
      score -= presence + frequency * static_cast<float>(times);
    });
  }
};

static_assert(LogitsProcessor<LogitBias> && LogitsProcessor<RepetitionPenalty> && LogitsProcessor<NoRepeatNgram> &&
              LogitsProcessor<MinNewTokens> && LogitsProcessor<PresenceAndFrequency>);

}  // namespace gpt2ie::inline GPT2IE_ABI::sampling

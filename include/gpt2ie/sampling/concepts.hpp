// SPDX-License-Identifier: MIT
/// What a logits processor is, from small named requirements.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/candidates.hpp>
#include <gpt2ie/sampling/options.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What a processor may know about the text that it acts on. Views: valid during one call.
struct SamplingContext {
  const GenerateOptions& options;
  std::span<const Token> tokens;   ///< prompt and output so far
  std::size_t prompt_length;       ///< how many of them are the prompt, <= tokens.size()
  std::span<const Token> end_ids;  ///< tokens that end the text: the model's own and the request's stop_token_ids

  [[nodiscard]] std::span<const Token> generated() const { return tokens.subspan(prompt_length); }
};

/// `P::enabled(options)` says whether a request needs this processor at all; if not, it is never applied.
template <class P>
concept HasSwitch = requires(const GenerateOptions& options) {
  { P::enabled(options) } -> std::same_as<bool>;
};

/// `P::shapes_greedy` says whether it acts on greedy requests too (penalties and bans do, truncation doesn't).
template <class P>
concept HasGreedyRule = requires {
  { P::shapes_greedy } -> std::convertible_to<bool>;
};

/// `processor.apply(candidates, context)` changes scores or drops candidates.
template <class P>
concept HasApply = requires(P processor, Candidates& candidates, const SamplingContext& context) {
  { processor.apply(candidates, context) } -> std::same_as<void>;
};

/// One step between logits and a draw.
///
/// Meant beside the syntax: apply is a pure function of candidates and context, allocates nothing in steady state, adds
/// no candidate, never makes a NaN, and leaves at least one candidate above -infinity unless its purpose is to ban.
template <class P>
concept LogitsProcessor = std::default_initializable<P> && HasSwitch<P> && HasGreedyRule<P> && HasApply<P>;

}  // namespace gpt2ie::inline GPT2IE_ABI

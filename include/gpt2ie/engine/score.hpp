// SPDX-License-Identifier: MIT
/// How likely a model finds a text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/sampling/log_probs.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Calls visit(position, logits [vocab]) for every token in order: the logits after positions 0 to its own. Runs
/// Limits::max_logit_rows rows at a time; a cache that does not retain runs all of them in one step, so that
/// max_logit_rows must be the number of tokens or more. Errors: bad_request for no tokens or one outside the
/// vocabulary, no_fit for more than the context holds, or than one step where it has to be one.
template <class Executor, class Visit>
void for_each_logits(Executor& executor, std::span<const Token> tokens, Visit&& visit) {
  if (tokens.empty()) fail(errc::bad_request, "at least one token to score", "none");
  if (tokens.size() > static_cast<std::size_t>(executor.limits().max_length)) {
    fail(errc::no_fit, "at most " + std::to_string(executor.limits().max_length) + " tokens",
         std::to_string(tokens.size()));
  }
  if (!Executor::retains && tokens.size() > static_cast<std::size_t>(executor.limits().max_logit_rows)) {
    fail(errc::no_fit,
         "Limits::max_logit_rows and max_rows of at least " + std::to_string(tokens.size()) +
             ", the tokens to score, as a cache that does not retain needs them in one step",
         std::to_string(executor.limits().max_logit_rows) + " and " + std::to_string(executor.limits().max_rows));
  }
  const auto vocab = static_cast<std::size_t>(executor.config().vocab);
  OpenSequence sequence(executor.book(), {});  // no prompt, so that no token is taken from the cache without logits
  Step step;
  run_tokens(executor, sequence, tokens, executor.limits().max_logit_rows, true, step,
             [&](int position, std::span<const float> logits) {
               for (std::size_t row = 0; row * vocab < logits.size(); ++row) {
                 visit(position + static_cast<int>(row), logits.subspan(row * vocab, vocab));
               }
             });
}

/// Log-probability of each token after those before it. The first has none, so there is one less than tokens.
template <class Executor>
[[nodiscard]] std::vector<float> score(Executor& executor, std::span<const Token> tokens) {
  std::vector<float> logprobs;
  logprobs.reserve(tokens.size());
  for_each_logits(executor, tokens, [&](int position, std::span<const float> logits) {
    const auto next = static_cast<std::size_t>(position) + 1;
    if (next < tokens.size()) logprobs.push_back(token_logprob(logits, tokens[next]));
  });
  return logprobs;
}

/// exp of the mean negative log-probability; 1 for none.
[[nodiscard]] inline double perplexity(std::span<const float> logprobs) {
  double sum = 0;
  for (const float logprob : logprobs) sum += static_cast<double>(logprob);
  return logprobs.empty() ? 1.0 : std::exp(-sum / static_cast<double>(logprobs.size()));
}

}  // namespace gpt2ie::inline GPT2IE_ABI

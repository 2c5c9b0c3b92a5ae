// SPDX-License-Identifier: MIT
/// Natural logarithms of probabilities, from raw logits.
///
/// Shapes: logits are [vocab]. Log-probabilities are exact within 1e-6 plus what float logits can tell apart. Pure,
/// safe from any thread. All throw Error (bad_logits) if the logits hold NaN or +infinity, or -infinity alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/row_math.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A token and the logarithm of its probability.
struct TokenLogprob {
  Token token;
  float logprob;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

namespace detail {

/// The highest logit and its lowest index, once the row is known to make a distribution.
inline RowMax checked_row_max(std::span<const float> logits) {
  const RowMax highest = row_max(logits);
  if (highest.value == minus_infinity) {
    fail(errc::bad_logits, "a logit above -inf", std::to_string(logits.size()) + " logits that are all -inf");
  }
  if (!(highest.value <= std::numeric_limits<float>::max())) {
    const auto bad =
        std::find_if(logits.begin(), logits.end(), [](float x) { return !(x <= std::numeric_limits<float>::max()); });
    fail(errc::bad_logits, "logits that are finite or -inf",
         std::string(std::isnan(*bad) ? "NaN" : "+inf") + " for token " + std::to_string(bad - logits.begin()));
  }
  return highest;
}

}  // namespace detail

/// log(sum of e^logit), with the highest subtracted first, so that no logit overflows. One pass for the maximum, one
/// for the sum.
inline double log_sum_exp(std::span<const float> logits) {
  const float highest = detail::checked_row_max(logits).value;
  return static_cast<double>(highest) + std::log(detail::row_exp_sum(logits, highest));
}

/// The log-probability of one token. Throws Error (bad_request) if it isn't in [0, vocab).
inline float token_logprob(std::span<const float> logits, Token token) {
  if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) {
    fail(errc::bad_request, "a token in [0, " + std::to_string(logits.size()) + ")", std::to_string(token));
  }
  return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)]) - log_sum_exp(logits));
}

/// The n most likely tokens (all, if there are fewer), best first, of equally likely ones the lowest id first. n below
/// 1 gives none. O(vocab + n log n), allocates.
inline std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int n) {
  const double normaliser = log_sum_exp(logits);
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(n, 0)), logits.size());
  const auto logit = [&](Token token) { return logits[static_cast<std::size_t>(token)]; };
  const auto precedes = [&](Token a, Token b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; };

  // A heap of the best so far with its worst on top: most tokens cost one comparison.
  std::vector<Token> best;
  best.reserve(count);
  for (Token token = 0; count > 0 && static_cast<std::size_t>(token) < logits.size(); ++token) {
    if (best.size() == count) {
      if (!precedes(token, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), precedes);
      best.pop_back();
    }
    best.push_back(token);
    std::push_heap(best.begin(), best.end(), precedes);
  }
  std::sort_heap(best.begin(), best.end(), precedes);

  std::vector<TokenLogprob> result;
  result.reserve(count);
  for (const Token token : best) {
    result.push_back({token, static_cast<float>(static_cast<double>(logit(token)) - normaliser)});
  }
  return result;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Made-up requests for the simulator: when they arrive, how long prompt and answer are, and what tokens they have.
///
/// Everything is a pure function of its arguments: the same seed gives the same requests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/philox.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A chat completion: a prompt of so many tokens, and an answer of exactly so many.
struct SimulatedRequest {
  double arrival_s = 0;
  int prompt_tokens = 1, answer_tokens = 1;  ///< each at least 1

  friend bool operator==(const SimulatedRequest&, const SimulatedRequest&) = default;
};

struct WorkloadOptions {
  int requests = 1000;
  double prompt_median = 128, answer_median = 96;  ///< tokens
  double sigma = 0.8;                              ///< standard deviation of the logarithm of both lengths
  int max_length = 1024;                           ///< prompt and answer together, in tokens
  double rate = 0;                                 ///< requests a second, arriving as a Poisson process; 0: all at once
  std::uint64_t seed = 7;
};

namespace detail {

/// What a random block of the simulator is for; blocks for different purposes are independent.
enum class WorkloadDraw : std::uint32_t { prompt_length, answer_length, arrival, token };

inline PhiloxBlock workload_block(std::uint64_t seed, WorkloadDraw purpose, std::uint32_t request,
                                  std::uint32_t position = 0) {
  return philox4x32_10({{request, static_cast<std::uint32_t>(purpose), position, 0}},
                       {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// Uniform in (0, 1], so that its logarithm is finite; from word `first` and the one after it.
inline double uniform_above_zero(const PhiloxBlock& block, int first) {
  const std::uint64_t bits = std::uint64_t{block.word[first]} << 32 | block.word[first + 1];
  return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

/// A standard normal draw: Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958).
inline double standard_normal(const PhiloxBlock& block) {
  const double radius = std::sqrt(-2 * std::log(uniform_above_zero(block, 0)));
  return radius * std::cos(2 * std::numbers::pi * uniform_above_zero(block, 2));
}

/// Log-normal, rounded to a whole number of tokens from 1 to `most`.
inline int lognormal_tokens(const PhiloxBlock& block, double median, double sigma, int most) {
  const double tokens = std::round(median * std::exp(sigma * standard_normal(block)));
  return static_cast<int>(std::clamp(tokens, 1.0, static_cast<double>(most)));
}

}  // namespace detail

/// Requests with log-normal lengths, in order of arrival. A prompt is cut to max_length - 1 tokens, then the answer to
/// what is left of max_length. Errors: bad_request for options out of range.
inline std::vector<SimulatedRequest> lognormal_workload(const WorkloadOptions& options) {
  const auto require = [](bool holds, const char* expected, double found) {
    if (!holds) fail(errc::bad_request, expected, std::to_string(found));
  };
  const auto finite_from = [](double value, double least) { return std::isfinite(value) && value >= least; };
  require(options.requests >= 1, "at least 1 request", options.requests);
  require(finite_from(options.prompt_median, 1), "a median of prompts of at least 1 token", options.prompt_median);
  require(finite_from(options.answer_median, 1), "a median of answers of at least 1 token", options.answer_median);
  require(finite_from(options.sigma, 0), "a sigma of lengths of at least 0", options.sigma);
  require(options.max_length >= 2, "a longest sequence of at least 2 tokens", options.max_length);
  require(finite_from(options.rate, 0), "a rate of at least 0 requests a second", options.rate);

  using detail::WorkloadDraw;
  std::vector<SimulatedRequest> requests(static_cast<std::size_t>(options.requests));
  double now = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto block = [&](WorkloadDraw purpose) {
      return detail::workload_block(options.seed, purpose, static_cast<std::uint32_t>(i));
    };
    SimulatedRequest& request = requests[i];
    if (options.rate > 0) {
      now -= std::log(detail::uniform_above_zero(block(WorkloadDraw::arrival), 0)) / options.rate;
    }
    request.arrival_s = now;
    request.prompt_tokens = detail::lognormal_tokens(block(WorkloadDraw::prompt_length), options.prompt_median,
                                                     options.sigma, options.max_length - 1);
    request.answer_tokens = detail::lognormal_tokens(block(WorkloadDraw::answer_length), options.answer_median,
                                                     options.sigma, options.max_length - request.prompt_tokens);
  }
  return requests;
}

/// The token of request number `request` at a position. Requests differ from their first tokens on, so that they share
/// no pages but by chance.
inline Token simulated_token(std::uint64_t seed, std::size_t request, int position) {
  constexpr std::uint32_t vocab = 50257;
  const PhiloxBlock block = detail::workload_block(
      seed, detail::WorkloadDraw::token, static_cast<std::uint32_t>(request), static_cast<std::uint32_t>(position));
  return static_cast<Token>(block.word[0] % vocab);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

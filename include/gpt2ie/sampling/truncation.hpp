// SPDX-License-Identifier: MIT
/// Processors that flatten or cut the distribution. Greedy requests pass them by.
#pragma once

#include <cmath>
#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/sampling/concepts.hpp>
#include <gpt2ie/sampling/row_math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::sampling {

/// Divides every score by the temperature.
struct Temperature {
  static constexpr bool shapes_greedy = false;
  static bool enabled(const GenerateOptions& options) { return options.temperature != 1; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    detail::row_divide(candidates.scores(), context.options.temperature);
  }
};

/// Keeps the k highest scores and all that equal the k-th, so that more than k may stay.
struct TopK {
  static constexpr bool shapes_greedy = false;
  static bool enabled(const GenerateOptions& options) { return options.top_k > 0; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const auto k = static_cast<std::size_t>(context.options.top_k);
    if (k < candidates.size()) candidates.keep_at_least(candidates.kth_best(k));
  }
};

/// Nucleus sampling: drops tokens from the least likely on while what is dropped holds 1 - p at most; the best stays.
/// Of equally likely tokens at the edge the lowest ids stay.
///
/// Source: Holtzman et al., "The curious case of neural text degeneration", ICLR 2020, section 3.1.
struct TopP {
  static constexpr bool shapes_greedy = false;
  static bool enabled(const GenerateOptions& options) { return options.top_p < 1; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const double p = static_cast<double>(context.options.top_p);
    const double best = static_cast<double>(candidates.best()), total = candidates.weigh().total;
    // Were all tokens as likely as (1 - p) / size, they would hold 1 - p: what is below goes without being ordered. The
    // small constant keeps rounding out of it.
    const double hopeless = best + std::log((1 - p) * total / static_cast<double>(candidates.size())) - 1e-3;
    candidates.keep_at_least(static_cast<float>(hopeless));
    candidates.keep_mass(best, p * total, Candidates::Ties::lowest_ids);
  }
};

/// Drops what is less likely than min_p times the best; equality stays.
///
/// Source: Nguyen et al., "Turning up the heat: min-p sampling", 2024, section 3; compared as logarithms.
struct MinP {
  static constexpr bool shapes_greedy = false;
  static bool enabled(const GenerateOptions& options) { return options.min_p > 0; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    candidates.keep_at_least(candidates.best() + std::log(context.options.min_p));
  }
};

/// Locally typical sampling: keeps the tokens whose information is nearest to the entropy until they hold the mass
/// asked for, and all that are as near as the last one. May drop the best token.
///
/// Source: Meister et al., "Locally typical sampling", TACL 2023, section 4. With p(i) = e^(s(i) - z) the distance
/// |-log p(i) - H| is |s(i) - mean|, where mean is the expected score: z and H need not be known.
struct TypicalP {
  static constexpr bool shapes_greedy = false;
  static bool enabled(const GenerateOptions& options) { return options.typical_p < 1; }

  void apply(Candidates& candidates, const SamplingContext& context) const {
    const Candidates::Weights weights = candidates.weigh();
    double sum = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (weights.each[i] > 0) {
        sum += static_cast<double>(weights.each[i]) * static_cast<double>(candidates.scores()[i]);
      }
    }
    const double target = static_cast<double>(context.options.typical_p) * weights.total;
    candidates.keep_mass(sum / weights.total, target, Candidates::Ties::all);
  }
};

static_assert(LogitsProcessor<Temperature> && LogitsProcessor<TopK> && LogitsProcessor<TopP> && LogitsProcessor<MinP> &&
              LogitsProcessor<TypicalP>);

}  // namespace gpt2ie::inline GPT2IE_ABI::sampling

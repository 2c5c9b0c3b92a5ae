// SPDX-License-Identifier: MIT
/// What the contract suites share. Each is included by one source file for each backend, which defines the two
/// functions below, and runs over every attention policy and every storage of the type lists.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/any_executor.hpp"
#include "support/random_checkpoint.hpp"
#include "support/steps.hpp"
#include "support/tolerance.hpp"

namespace gpt2ie_test {

/// Every combination on the backend of this program.
std::vector<Combination> contract_combinations(const gpt2ie::Checkpoint& checkpoint);

/// Whether two results over a cache of this element count as the same on the backend of this program: to the bit, or
/// within a tolerance.
bool same(const std::string& element, std::span<const float> found, std::span<const float> expected);

/// Fails unless they are the same.
inline void check_same(const Combination& combination, std::span<const float> found, std::span<const float> expected) {
  CHECK(same(combination.element, found, expected));
}

/// Tiny models: heads of a size with no kernel of its own, and of the sizes that have one.
inline const std::vector<gpt2ie::ModelConfig>& contract_models() {
  static const std::vector<gpt2ie::ModelConfig> models = {small_config(3, 20, 160), small_config(1, 64, 160),
                                                          small_config(1, 128, 160)};
  return models;
}

/// Calls body for each combination on each tiny model.
inline void for_each_combination(const std::function<void(const Combination&)>& body) {
  for (const gpt2ie::ModelConfig& config : contract_models()) {
    for (const Combination& combination : contract_combinations(random_checkpoint(config))) {
      INFO(combination.name(), ", heads of ", config.head_dim());
      body(combination);
    }
  }
}

/// The same for those that retain, on one of the models: where tokens are kept has nothing to do with heads.
inline void for_each_retaining(const std::function<void(const Combination&)>& body) {
  for (const Combination& combination : contract_combinations(random_checkpoint(contract_models().front()))) {
    INFO(combination.name());
    if (combination.retains) body(combination);
  }
}

/// Logits of a sequence that is run whole, by itself, in an executor of its own.
inline Logits alone(const Combination& combination, const Tokens& tokens) {
  const auto executor = combination.make(limits_for(1, static_cast<int>(tokens.size())), 1);
  return advance(*executor, open(*executor), tokens);
}

/// Tokens of the tiny models.
inline Tokens some_tokens(int count, int salt = 0) { return make_tokens(count, contract_models().front().vocab, salt); }

/// Rows of the tiny models.
inline std::span<const float> rows_of(std::span<const float> logits, std::size_t first, std::size_t count) {
  return rows(logits, first, count, static_cast<std::size_t>(contract_models().front().vocab));
}

/// a followed by b.
inline Tokens joined(Tokens a, std::span<const gpt2ie::Token> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace gpt2ie_test

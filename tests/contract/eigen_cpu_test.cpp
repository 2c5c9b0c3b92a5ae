// SPDX-License-Identifier: MIT
/// The contract on backend::EigenCpu: within its tolerance, in memory that is poisoned with NaN.
#include <span>
#include <string>
#include <vector>

#include <gpt2ie/backend/eigen_cpu.hpp>

#include "contract/same_answer_suite.hpp"
#include "contract/sequences_suite.hpp"
#include "support/poisoned.hpp"

std::vector<gpt2ie_test::Combination> gpt2ie_test::contract_combinations(const gpt2ie::Checkpoint& checkpoint) {
  return combinations<Poisoned<gpt2ie::backend::EigenCpu<float>>>(checkpoint);
}

/// Where the last bits differ, a half-precision cache may round to its next value.
bool gpt2ie_test::same(const std::string& element, std::span<const float> found, std::span<const float> expected) {
  return within(found, expected, element == "float" ? backend_tolerance : attention_tolerance(element));
}

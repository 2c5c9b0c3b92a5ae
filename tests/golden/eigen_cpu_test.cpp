// SPDX-License-Identifier: MIT
/// The reference values on backend::EigenCpu.
#include <vector>

#include <gpt2ie/backend/policies.hpp>

#include "golden/reference_suite.hpp"

std::vector<gpt2ie_test::Combination> gpt2ie_test::reference_combinations(const gpt2ie::Checkpoint& checkpoint) {
  return combinations<gpt2ie::backend::EigenCpu<float>>(checkpoint);
}

// SPDX-License-Identifier: MIT
/// Attention on backend::EigenCpu against float64.
#include <vector>

#include <gpt2ie/backend/policies.hpp>

#include "contract/attention_suite.hpp"
#include "support/poisoned.hpp"

const std::vector<gpt2ie_test::Solver>& gpt2ie_test::solvers() {
  static const std::vector<Solver> all =
      make_solvers<Poisoned<gpt2ie::backend::EigenCpu<float>>>(gpt2ie::attentions{}, gpt2ie::storages{});
  return all;
}

// SPDX-License-Identifier: MIT
/// The contract on backend::SimdCpu with weights in halves and in integers: to the bit as well.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "contract/same_answer_suite.hpp"
#include "support/poisoned.hpp"

namespace gpt2ie_test {

namespace {

template <class W>
void add_precision(const gpt2ie::Checkpoint& checkpoint, std::vector<Combination>& all) {
  using Storages = gpt2ie::type_list<gpt2ie::kv::Paged<float, 16>, gpt2ie::kv::Contiguous<float>>;
  using Policies = gpt2ie::type_list<gpt2ie::attention::Flash<64, 64>>;
  using Backend = Poisoned<gpt2ie::backend::SimdCpu<W>>;
  for (Combination& combination : combinations<Backend, Storages, Policies>(checkpoint)) {
    // Answers are compared where weights and K and V are kept alike.
    combination.element += " with weights in " + std::string(gpt2ie::weight_name<W>);
    combination.storage += " with weights in " + std::string(gpt2ie::weight_name<W>);
    all.push_back(std::move(combination));
  }
}

}  // namespace

std::vector<Combination> contract_combinations(const gpt2ie::Checkpoint& checkpoint) {
  std::vector<Combination> all;
  add_precision<gpt2ie::bf16>(checkpoint, all);
  add_precision<gpt2ie::f16>(checkpoint, all);
  add_precision<gpt2ie::int8>(checkpoint, all);
  add_precision<gpt2ie::int4>(checkpoint, all);
  return all;
}

bool same(const std::string& /*element*/, std::span<const float> found, std::span<const float> expected) {
  return same_bits(found, expected);
}

}  // namespace gpt2ie_test

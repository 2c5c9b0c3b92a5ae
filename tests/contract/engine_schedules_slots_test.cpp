// SPDX-License-Identifier: MIT
/// The same answer over slots: alone, among others, and in chunks, to the bit what pages give.
#include <doctest/doctest.h>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/kv_cache/concat.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>

#include "contract/schedule_trials.hpp"
#include "support/test_seed.hpp"

namespace gpt2ie_test {
namespace {

template <class Storage>
void check_storage() {
  const unsigned seed = test_seed();
  CHECK(try_schedules<Storage>(seed, 1, 80).forks > 50);
  CHECK(try_schedules<Storage>(seed + 1, 2, 20).answers > 200);
}

}  // namespace

TEST_CASE_TEMPLATE("over one slab for each sequence each request gets what it gets alone", T, float, gpt2ie::bf16,
                   gpt2ie::f16, gpt2ie::int8) {
  check_storage<gpt2ie::kv::Contiguous<T>>();
}

TEST_CASE_TEMPLATE("over arrays that grow with each step each request gets what it gets alone", T, float, gpt2ie::bf16,
                   gpt2ie::f16, gpt2ie::int8) {
  check_storage<gpt2ie::kv::Concat<T>>();
}

}  // namespace gpt2ie_test

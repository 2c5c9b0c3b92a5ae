// SPDX-License-Identifier: MIT
#include <concepts>

#include <doctest/doctest.h>

#include <gpt2ie/engine/presets.hpp>

namespace {

using namespace gpt2ie;

template <class Generator, class Policy, class Storage>
constexpr bool is_made_of =
    std::same_as<typename Generator::executor_type, Executor<backend::SimdCpu<float>, Policy, Storage>>;

}  // namespace

TEST_CASE("the four names stand for the reference engine's four variants") {
  CHECK(is_made_of<NaiveGpt2, attention::Standard, kv::NoCache>);
  CHECK(is_made_of<CachedGpt2, attention::Standard, kv::Concat<float>>);
  CHECK(is_made_of<PagedGpt2, attention::Standard, kv::Paged<float, 16>>);
  CHECK(is_made_of<FlashGpt2, attention::Flash<64, 64>, kv::Paged<float, 16>>);
  CHECK(std::same_as<Generator<>, FlashGpt2>);
}

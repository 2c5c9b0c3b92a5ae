// SPDX-License-Identifier: MIT
/// Parts come in any order, and each may be left out.
#include <concepts>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/engine/parts.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>

namespace {

using namespace gpt2ie;

template <class B, class Policy, class Storage, class Slots, class Order>
struct Made {};

template <class... Parts>
using Composed = typename decltype(detail::compose<Made, Scheduler<slots::Sequential>, Parts...>())::type;

using Default = Made<backend::SimdCpu<float>, attention::Flash<64, 64>, kv::Paged<float, 16>, slots::Sequential,
                     sampling::HuggingFaceOrder>;
using Other = Made<backend::EigenCpu<float>, attention::Standard, kv::Contiguous<bf16>, slots::Continuous<8>,
                   sampling::LlamaCppOrder>;

template <class... Parts>
constexpr bool is_other = std::same_as<Composed<Parts...>, Other>;

}  // namespace

TEST_CASE("no part gives the defaults, and the scheduler that whoever composes names") {
  CHECK(std::same_as<Composed<>, Default>);
  using Batched = typename decltype(detail::compose<Made, Scheduler<slots::Continuous<8>>>())::type;
  CHECK(std::same_as<Batched, Made<backend::SimdCpu<float>, attention::Flash<64, 64>, kv::Paged<float, 16>,
                                   slots::Continuous<8>, sampling::HuggingFaceOrder>>);
}

TEST_CASE("one part replaces its default alone") {
  CHECK(std::same_as<Composed<Attention<attention::Standard>>,
                     Made<backend::SimdCpu<float>, attention::Standard, kv::Paged<float, 16>, slots::Sequential,
                          sampling::HuggingFaceOrder>>);
  CHECK(std::same_as<Composed<KVCache<kv::Contiguous<float>>>,
                     Made<backend::SimdCpu<float>, attention::Flash<64, 64>, kv::Contiguous<float>, slots::Sequential,
                          sampling::HuggingFaceOrder>>);
}

TEST_CASE("all parts in any order give one type") {
  using B = backend::EigenCpu<float>;
  using A = Attention<attention::Standard>;
  using K = KVCache<kv::Contiguous<bf16>>;
  using S = Scheduler<slots::Continuous<8>>;
  using C = SamplerChain<sampling::LlamaCppOrder>;
  CHECK(is_other<B, A, K, S, C>);
  CHECK(is_other<C, S, K, A, B>);
  CHECK(is_other<K, B, C, A, S>);
  CHECK(is_other<A, C, B, S, K>);
}

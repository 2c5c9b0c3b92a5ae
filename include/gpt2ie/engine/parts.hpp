// SPDX-License-Identifier: MIT
/// How Generator<Parts...> and Engine<Parts...> take their parts in any order, and says in one sentence what does not
/// fit.
#pragma once

#include <type_traits>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/kv_cache/kv_cache.hpp>
#include <gpt2ie/kv_cache/paged.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>
#include <gpt2ie/scheduler/scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

enum class Role { backend, attention, cache, scheduler, sampler, unknown };

template <class Part>
struct role_of {
  static constexpr Role value = Backend<Part> ? Role::backend : Role::unknown;
};
template <class Policy>
struct role_of<Attention<Policy>> {
  static constexpr Role value = Role::attention;
};
template <class Storage>
struct role_of<KVCache<Storage>> {
  static constexpr Role value = Role::cache;
};
template <class Slots>
struct role_of<Scheduler<Slots>> {
  static constexpr Role value = Role::scheduler;
};
template <class Order>
struct role_of<SamplerChain<Order>> {
  static constexpr Role value = Role::sampler;
};

/// The first of Parts with this role, else Default.
template <Role Wanted, class Default, class... Parts>
struct pick_part {
  using type = Default;
};
template <Role Wanted, class Default, class Part, class... Rest>
struct pick_part<Wanted, Default, Part, Rest...>
    : std::conditional_t<role_of<Part>::value == Wanted, std::type_identity<Part>,
                         pick_part<Wanted, Default, Rest...>> {};

/// The parts by name, defaults filled in.
template <class DefaultScheduler, class... Parts>
struct PartsOf {
  using backend = typename pick_part<Role::backend, gpt2ie::backend::SimdCpu<float>, Parts...>::type;
  using attention = typename pick_part<Role::attention, Attention<gpt2ie::attention::Flash<64, 64>>, Parts...>::type;
  using cache = typename pick_part<Role::cache, KVCache<kv::Paged<float, 16>>, Parts...>::type;
  using scheduler = typename pick_part<Role::scheduler, DefaultScheduler, Parts...>::type;
  using sampler = typename pick_part<Role::sampler, SamplerChain<sampling::HuggingFaceOrder>, Parts...>::type;
};

template <Role Wanted, class... Parts>
inline constexpr int count_of = ((role_of<Parts>::value == Wanted ? 1 : 0) + ... + 0);

/// Whether the parts are parts, and none is given twice.
template <class... Parts>
struct KnownParts {
  static constexpr bool known = ((role_of<Parts>::value != Role::unknown || refused<Parts>)&&...);
  static constexpr bool once = count_of<Role::backend, Parts...> < 2 && count_of<Role::attention, Parts...> < 2 &&
                               count_of<Role::cache, Parts...> < 2 && count_of<Role::scheduler, Parts...> < 2 &&
                               count_of<Role::sampler, Parts...> < 2;
  static_assert(
      known,
      "gpt2ie: a part is none of a backend, Attention<P>, KVCache<S>, Scheduler<S> and SamplerChain<O>; a policy "
      "goes into its wrapper, as in Attention<attention::Flash<64, 64>> (docs/extending.md)");
  static_assert(once,
                "gpt2ie: a part is given twice; one backend, Attention, KVCache, Scheduler and SamplerChain at most");
  static constexpr bool valid = known && once && !(refused<Parts> || ...);
};

/// Whether parts that are each in order also fit together. Asserted here, where they meet, so that the sentence comes
/// first.
template <class Backend, class Policy, class Storage, class Slots>
struct FittingParts {
  static constexpr bool reads = Reads<Policy, typename Storage::element>;
  static constexpr bool keeps = RetainingStorage<Storage> || Slots::count == 1;
  static_assert(
      reads,
      "gpt2ie: this attention policy can't read this cache's element; choose one that Policy::reads lists, such "
      "as kv::Paged<float, 16>");
  static_assert(
      keeps,
      "gpt2ie: kv::NoCache keeps nothing between steps, so no batch can go on over it; use slots::Sequential, or "
      "a cache that keeps, such as kv::Paged<float, 16>");
  static constexpr bool valid = reads && keeps;
};

/// Stands where parts do not fit, so that making one adds no error to the sentence.
struct Rejected {
  template <class... Args>
  explicit Rejected(Args&&... /*args*/) {}
};

/// Names the type that stands for the parts: Made<backend, policy, storage, slots, order> if they fit, else Rejected.
template <template <class, class, class, class, class> class Made, class DefaultScheduler, class... Parts>
consteval auto compose() {
  if constexpr (!KnownParts<Parts...>::valid) {
    return std::type_identity<Rejected>{};
  } else {
    using P = PartsOf<DefaultScheduler, Parts...>;
    if constexpr (!P::attention::valid || !P::cache::valid || !P::scheduler::valid) {
      return std::type_identity<Rejected>{};
    } else if constexpr (!FittingParts<typename P::backend, typename P::attention::policy, typename P::cache::storage,
                                       typename P::scheduler::slot_policy>::valid) {
      return std::type_identity<Rejected>{};
    } else {
      return std::type_identity<Made<typename P::backend, typename P::attention::policy, typename P::cache::storage,
                                     typename P::scheduler::slot_policy, typename P::sampler::order>>{};
    }
  }
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

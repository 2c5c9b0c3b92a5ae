// SPDX-License-Identifier: MIT
/// Scheduler<Slots>: names who runs together.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/scheduler/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

template <class Slots>
constexpr bool has_slots() {
  if constexpr (SlotPolicy<Slots>) return Slots::count > 0;
  return false;
}

}  // namespace detail

/// Slots: a SlotPolicy such as slots::Sequential.
template <class Slots>
struct Scheduler {
  static_assert(SlotPolicy<Slots>,
                "gpt2ie: Scheduler<S>: S is no slot policy; it is one of slots::Sequential, slots::Static<N> and "
                "slots::Continuous<N>");
  static_assert(!SlotPolicy<Slots> || detail::has_slots<Slots>(),
                "gpt2ie: Scheduler<S>: a scheduler needs at least one slot, so N of slots::Static<N> and "
                "slots::Continuous<N> is 1 or more");
  using slot_policy = Slots;
  static constexpr bool valid = detail::has_slots<Slots>();
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// What a slot policy is: how many sequences run at once, and when a free slot is filled again.
#pragma once

#include <concepts>
#include <type_traits>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// S::count: how many sequences run in one step; a constant.
template <class S>
concept HasSlotCount = requires {
  { S::count } -> std::convertible_to<int>;
  typename std::bool_constant<(S::count > 0)>;
};

/// S::refills: a finished sequence's slot is given away in the next step; false: only when all have finished.
template <class S>
concept HasRefills = requires {
  typename std::bool_constant<S::refills>;
};

template <class S>
concept SlotPolicy = HasSlotCount<S> && HasRefills<S>;

}  // namespace gpt2ie::inline GPT2IE_ABI

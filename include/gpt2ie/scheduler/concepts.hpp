// SPDX-License-Identifier: MIT
/// What a slot policy is: how many sequences run at once, and when a free slot is filled again.
#pragma once

#include <concepts>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// S::count: how many sequences run in one step.
template <class S>
concept HasSlotCount = requires {
  { S::count } -> std::convertible_to<int>;
};

/// S::refills: a finished sequence's slot is given away in the next step; false: only when all have finished.
template <class S>
concept HasRefills = requires {
  { S::refills } -> std::convertible_to<bool>;
};

template <class S>
concept SlotPolicy = HasSlotCount<S> && HasRefills<S>;

}  // namespace gpt2ie::inline GPT2IE_ABI

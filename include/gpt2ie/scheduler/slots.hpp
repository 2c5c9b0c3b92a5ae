// SPDX-License-Identifier: MIT
/// The slot policies.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/scheduler/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace slots {

/// One sequence at a time.
struct Sequential {
  static constexpr int count = 1;
  static constexpr bool refills = true;
};

/// N sequences start together, and the next N when all of them have finished. The baseline.
template <int N>
struct Static {
  static constexpr int count = N;
  static constexpr bool refills = false;
};

/// N sequences; a finished one's slot is refilled in the next step (Yu et al., "Orca", OSDI 2022, section 3.1).
template <int N>
struct Continuous {
  static constexpr int count = N;
  static constexpr bool refills = true;
};

}  // namespace slots

static_assert(SlotPolicy<slots::Sequential> && SlotPolicy<slots::Static<4>> && SlotPolicy<slots::Continuous<4>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

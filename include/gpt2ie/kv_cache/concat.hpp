// SPDX-License-Identifier: MIT
/// kv::Concat: a new, larger array at each append, as torch.cat does.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace kv {

/// Copies the whole past at every step: n tokens cost O(n^2) bytes. It is here to be measured against; choose
/// kv::Contiguous or kv::Paged for work. T: as for kv::Paged.
template <class T>
struct Concat {
  using element = T;
  using book = SlotBook;
  template <class B>
  using pool = detail::SlabPool<T, B, detail::SlabGrowth::each_step>;
  static constexpr bool retains = true;
};

}  // namespace kv

static_assert(RetainingStorage<kv::Concat<float>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

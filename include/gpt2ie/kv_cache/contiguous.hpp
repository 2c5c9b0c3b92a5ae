// SPDX-License-Identifier: MIT
/// kv::Contiguous: one slab of max_length tokens for each sequence, allocated at the start.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace kv {

/// Memory: max_sequences * max_length tokens from the start, used or not. Reading is one long run of memory. Do not
/// choose it for many sequences of unknown length: kv::Paged holds only what is used. T: as for kv::Paged.
template <class T>
struct Contiguous {
  using element = T;
  using book = SlotBook;
  template <class B>
  using pool = detail::SlabPool<T, B, detail::SlabGrowth::none>;
  static constexpr bool retains = true;
};

}  // namespace kv

static_assert(RetainingStorage<kv::Contiguous<float>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

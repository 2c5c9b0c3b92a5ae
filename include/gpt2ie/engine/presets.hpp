// SPDX-License-Identifier: MIT
/// Readable names for four well-known ways to run GPT-2.
#pragma once

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Computes the whole sequence anew for every token.
using NaiveGpt2 = Generator<Attention<attention::Standard>, KVCache<kv::NoCache>>;

/// Keeps K and V in arrays that grow by copying.
using CachedGpt2 = Generator<Attention<attention::Standard>, KVCache<kv::Concat<float>>>;

/// Keeps K and V in pages.
using PagedGpt2 = Generator<Attention<attention::Standard>, KVCache<kv::Paged<float, 16>>>;

/// Pages and flash attention: what Generator<> is.
using FlashGpt2 = Generator<Attention<attention::Flash<64, 64>>, KVCache<kv::Paged<float, 16>>>;

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// KVCache<Storage>: names the cache of a generator or an engine.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Storage: a CacheStorage such as kv::Paged<float, 16>.
template <class Storage>
struct KVCache {
  static_assert(HasElement<Storage> || detail::refused<Storage>,
                "gpt2ie: KVCache<S>: S is no cache storage, for it names no element of float, bf16, f16, int8 or fp8; "
                "an attention or slot policy in the cache's place is the usual mistake (docs/extending.md#storage)");
  static_assert(!HasElement<Storage> || HasBook<Storage> || detail::refused<Storage>,
                "gpt2ie: KVCache<S>: S::book does not meet CacheBook (docs/extending.md#storage)");
  static_assert(!HasElement<Storage> || !HasBook<Storage> || HasPool<Storage> || detail::refused<Storage>,
                "gpt2ie: KVCache<S>: S::pool<Backend>::stage must return a trivially copyable view with tile_count, "
                "tile and place (docs/extending.md#storage)");
  using storage = Storage;
  static constexpr bool valid = CacheStorage<Storage> && !detail::refused<Storage>;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

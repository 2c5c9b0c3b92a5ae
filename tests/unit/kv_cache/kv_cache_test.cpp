// SPDX-License-Identifier: MIT
#include <concepts>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/kv_cache.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

TEST_CASE("a cache names its storage, and every shipped storage is one") {
  CHECK(std::same_as<gpt2ie::KVCache<gpt2ie::kv::NoCache>::storage, gpt2ie::kv::NoCache>);
  int count = 0;
  gpt2ie::storages::for_each([&]<class Storage>() {
    CHECK(gpt2ie::KVCache<Storage>::valid);
    ++count;
  });
  CHECK(count >= 10);
}

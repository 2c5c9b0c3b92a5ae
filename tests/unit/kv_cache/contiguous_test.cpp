// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/contiguous.hpp>

#include "unit/kv_cache/views.hpp"

TEST_CASE("rows come back from a slab") {
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Contiguous<float>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Contiguous<gpt2ie::bf16>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Contiguous<gpt2ie::int8>>();
}

TEST_CASE_TEMPLATE("appending copies nothing, forking copies the rows that there are", T, gpt2ie::f16, gpt2ie::int8) {
  using Cache = gpt2ie_test::Cache<gpt2ie::kv::Contiguous<T>>;
  Cache cache({.max_sequences = 2, .max_rows = 16, .max_length = 16});
  const auto seq = cache.open();
  cache.step({{seq, 5}});
  cache.step({{seq, 1}});
  CHECK(cache.copies().bytes == 0);
  CHECK(cache.copies().seconds == 0);
  const auto child = cache.book().fork(seq);
  REQUIRE(child.has_value());
  cache.inherit(seq, *child);
  cache.step({{*child, 1}});
  CHECK(cache.copies().bytes == 6 * Cache::row_bytes());
  CHECK(cache.copies().seconds > 0);
}

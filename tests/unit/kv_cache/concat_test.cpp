// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/concat.hpp>

#include "unit/kv_cache/views.hpp"

TEST_CASE("rows come back from arrays that grow") {
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Concat<float>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Concat<gpt2ie::f16>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Concat<gpt2ie::int8>>();
}

TEST_CASE_TEMPLATE("every append copies the whole past", T, float, gpt2ie::int8) {
  using Cache = gpt2ie_test::Cache<gpt2ie::kv::Concat<T>>;
  Cache cache({.max_sequences = 1, .max_rows = 16, .max_length = 16});
  const auto seq = cache.open();
  cache.step({{seq, 5}});
  CHECK(cache.copies().bytes == 0);
  cache.step({{seq, 1}});
  cache.step({{seq, 1}});
  CHECK(cache.copies().bytes == (5 + 6) * Cache::row_bytes());
  CHECK(cache.copies().seconds > 0);
}

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/paged.hpp>

#include "unit/kv_cache/views.hpp"

TEST_CASE("rows come back from pages of any size") {
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<float, 16>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<float, 1>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<gpt2ie::bf16, 5>>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<gpt2ie::int8, 4>>();
}

TEST_CASE_TEMPLATE("appending copies nothing, a fork copies one page when it first writes into it", T, float,
                   gpt2ie::int8) {
  using Cache = gpt2ie_test::Cache<gpt2ie::kv::Paged<T, 4>>;
  Cache cache({.max_sequences = 2, .max_rows = 16, .max_length = 16});
  const auto seq = cache.open();
  cache.step({{seq, 6}});
  cache.step({{seq, 1}});
  CHECK(cache.copies().bytes == 0);
  const auto child = cache.book().fork(seq);
  REQUIRE(child.has_value());
  cache.inherit(seq, *child);
  cache.step({{*child, 1}});
  CHECK(cache.copies().bytes == 4 * Cache::row_bytes());
  cache.step({{*child, 1}, {seq, 1}});
  CHECK(cache.copies().bytes == 4 * Cache::row_bytes());
}

TEST_CASE("R-3: pages hold all layers, so a cache of 64 pages of 16 holds 1,024 tokens whatever the layers") {
  gpt2ie::PageBook<16> book({.max_sequences = 1, .cache_units = 64, .max_length = 1024});
  CHECK(book.fits_alone(1024));
}

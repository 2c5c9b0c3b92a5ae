// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/no_cache.hpp>

#include "unit/kv_cache/views.hpp"

TEST_CASE("a step's own rows come back, and every step begins at 0") {
  gpt2ie_test::Cache<gpt2ie::kv::NoCache> cache({.max_sequences = 2, .max_rows = 16, .max_length = 16});
  const auto a = cache.open(), b = cache.open();
  cache.step({{a, 7}});
  CHECK(cache.book().length(a) == 0);
  cache.step({{a, 8}, {b, 3}});
  CHECK(cache.copies().bytes == 0);
}

// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "unit/kv_cache/views.hpp"

namespace {

/// Writes over all of what it has the system give, and keeps count: a page that held something would show.
struct SpoilingBackend : gpt2ie::HostBackend {
  using HostBackend::HostBackend;

  template <class T>
  void populate(T* data, std::size_t n) {
    std::memset(static_cast<void*>(data), 0x55, n * sizeof(T));
    calls.push_back(n);
  }

  std::vector<std::size_t> calls;
};

}  // namespace

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

TEST_CASE("pages whose memory is given ahead are pages that hold nothing") {
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<float, 4>, SpoilingBackend>();
  gpt2ie_test::check_retaining_storage<gpt2ie::kv::Paged<gpt2ie::int8, 1>, SpoilingBackend>();
}

TEST_CASE("memory of pages is given before they are used, a page for each sequence at most, and never twice") {
  gpt2ie_test::Cache<gpt2ie::kv::Paged<float, 4>, SpoilingBackend> cache(
      {.max_sequences = 2, .max_rows = 16, .cache_units = 5, .max_length = 16});
  constexpr std::size_t page = std::size_t{4} * 6 * 2 * 2;
  const auto seq = cache.open();
  const std::vector<std::size_t>& calls = cache.backend().calls;
  cache.step({{seq, 1}});  // page 0 of 5 is in use
  CHECK(calls == std::vector<std::size_t>{page});
  cache.step({{seq, 1}});  // two are ahead
  CHECK(calls == std::vector<std::size_t>{page, page});
  cache.step({{seq, 2}});
  CHECK(calls.size() == 2);
  cache.step({{seq, 8}});  // pages 1 and 2: pages 3 and 4 follow
  CHECK(calls == std::vector<std::size_t>{page, page, 2 * page});
  cache.step({{seq, 4}});
  cache.book().close(seq);
  cache.step({{cache.open(), 16}});
  CHECK(calls.size() == 3);
}

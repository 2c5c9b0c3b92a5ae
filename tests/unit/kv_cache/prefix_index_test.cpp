// SPDX-License-Identifier: MIT
/// Pages are found by all of their key, whatever the hash, and as fast among many as among few.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/prefix_index.hpp>

using gpt2ie::Hash128;
using gpt2ie::PageKey;
using gpt2ie::Token;

namespace {

struct ConstantHash {
  Hash128 operator()(const PageKey& /*key*/) const { return {0, 0}; }
};

template <class Hash>
void check_keys() {
  gpt2ie::PrefixIndex<2, Hash> index(4);
  constexpr int none = decltype(index)::none;
  const std::vector<Token> text = {1, 2}, other = {1, 3};
  CHECK(index.find({0, 0, text}) == none);
  CHECK_FALSE(index.holds(3));
  CHECK(index.add(3, {0, 0, text}) == 3);
  CHECK(index.find({0, 0, text}) == 3);
  CHECK(index.find({0, 0, other}) == none);
  CHECK(index.find({0, 1, text}) == none);
  CHECK(index.find({1, 0, text}) == none);

  CHECK(index.add(0, {0, 0, text}) == 3);  // known already
  CHECK_FALSE(index.holds(0));
  CHECK(index.add(0, {index.serial(3), 0, text}) == 0);
  CHECK(index.add(1, {0, 1, text}) == 1);

  const std::uint64_t serial = index.serial(3);
  index.remove(3);
  CHECK_FALSE(index.holds(3));
  CHECK(index.find({0, 0, text}) == none);
  CHECK(index.find({serial, 0, text}) == 0);
  CHECK(index.find({0, 1, text}) == 1);
  CHECK(index.add(3, {0, 0, text}) == 3);
  CHECK(index.serial(3) > serial);
  CHECK(index.find({index.serial(3), 0, text}) == none);
}

/// Pages looked at, on average, to find each of `pages` pages and as many that are not there.
double visits_per_search(int pages) {
  gpt2ie::PrefixIndex<2, gpt2ie::KeyedHash> index(pages);
  for (Token i = 0; i < pages; ++i) {
    const Token text[] = {i, 0};
    REQUIRE(index.add(i, {0, 0, text}) == i);
  }
  const std::uint64_t before = index.visited();
  for (Token i = 0; i < pages; ++i) {
    const Token text[] = {i, 0}, missing[] = {i, 1};
    REQUIRE(index.find({0, 0, text}) == i);
    REQUIRE(index.find({0, 0, missing}) == -1);
  }
  return static_cast<double>(index.visited() - before) / (2 * pages);
}

}  // namespace

TEST_CASE("a page is found by its parent, salt and tokens together") { check_keys<gpt2ie::KeyedHash>(); }

TEST_CASE("K-3: a page is found by its parent, salt and tokens when all hashes are equal") {
  check_keys<ConstantHash>();
}

TEST_CASE("a search looks at about one page, however many there are") {
  // (1 + load / 2 + load) / 2 with a load of at most one page a bucket.
  CHECK(visits_per_search(10) < 3);
  CHECK(visits_per_search(16384) < 1.5);
}

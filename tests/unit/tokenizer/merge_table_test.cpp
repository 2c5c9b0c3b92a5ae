// SPDX-License-Identifier: MIT
/// Pairs are found with their ranks.
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/merge_table.hpp>

using gpt2ie::Merge;
using gpt2ie::detail::MergeTable;

TEST_CASE("an empty table finds nothing") {
  CHECK(MergeTable().size() == 0);
  CHECK(MergeTable().find(0, 0).rank == MergeTable::no_rank);
}

TEST_CASE("order matters, and every pair is found under its rank") {
  std::vector<Merge> merges;
  for (int i = 0; i < 5000; ++i) merges.push_back({i, i * 7 % 5000, 5000 + i});
  const MergeTable table(merges);
  CHECK(table.size() == merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto found = table.find(merges[rank].left, merges[rank].right);
    REQUIRE(found.rank == rank);
    REQUIRE(found.merged == merges[rank].merged);
  }
  CHECK(table.find(7, 1).rank == MergeTable::no_rank);
  CHECK(table.find(1, 8).rank == MergeTable::no_rank);
}

TEST_CASE("the first of two equal pairs counts") {
  const std::vector<Merge> merges = {{1, 2, 3}, {1, 2, 4}};
  const MergeTable table(merges);
  CHECK(table.size() == 1);
  CHECK(table.find(1, 2).rank == 0);
  CHECK(table.find(1, 2).merged == 3);
}

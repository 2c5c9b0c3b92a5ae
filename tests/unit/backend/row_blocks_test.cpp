// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/row_blocks.hpp>

#include "support/random_checkpoint.hpp"

using namespace gpt2ie::detail;

TEST_CASE("blocks cover the rows, are as even as can be and hold at most twelve") {
  for (int rows = 1; rows < 200; ++rows) {
    CAPTURE(rows);
    const RowBlocks blocks(rows);
    int next = 0, wrong = 0;
    for (int block = 0; block < blocks.count(); ++block) {
      wrong += blocks.begin(block) != next;
      wrong += blocks.size(block) > RowBlocks::most_rows || blocks.size(block) < 1;
      wrong += blocks.size(0) - blocks.size(block) > 1 || blocks.size(block) > blocks.size(0);
      next += blocks.size(block);
    }
    CHECK(wrong == 0);
    CHECK(next == rows);
    CHECK(blocks.begin(blocks.count()) == rows);
    CHECK(blocks.count() == (rows + 11) / 12);
  }
}

TEST_CASE("a range counts rows from its own first") {
  const RowBlocks blocks(29);  // 10, 10, 9
  const BlockRange range{blocks, 1, 3};
  CHECK(range.rows() == 19);
  CHECK(range.begin(1) == 0);
  CHECK(range.begin(2) == 10);
  CHECK(range.size(2) == 9);
}

TEST_CASE("even parts cover what they split") {
  std::vector<int> sizes;
  for_even_parts(17, 6, [&](int part, int first, int size) {
    CHECK(part == static_cast<int>(sizes.size()));
    CHECK(first == (part == 0 ? 0 : sizes[0] + (part == 2 ? sizes[1] : 0)));
    sizes.push_back(size);
  });
  CHECK(sizes == std::vector<int>{6, 6, 5});
}

TEST_CASE("in a block the rows' elements lie beside each other") {
  constexpr int rows = 29, in = 7;
  const RowBlocks blocks(rows);
  RowBlockBuffer buffer;
  buffer.reserve(rows, in);
  const std::vector<float> x = gpt2ie_test::random_floats(rows * in, 1, 2);
  int wrong = 0;
  for (int block = 0; block < blocks.count(); ++block) {
    buffer.fill(blocks, block, x.data(), in);
    for (int r = 0; r < blocks.size(block); ++r) {
      for (int k = 0; k < in; ++k) {
        const int at = blocks.begin(block) * in + k * blocks.size(block) + r;
        wrong += buffer.data()[at] != x[static_cast<std::size_t>((blocks.begin(block) + r) * in + k)];
      }
    }
  }
  CHECK(wrong == 0);
}

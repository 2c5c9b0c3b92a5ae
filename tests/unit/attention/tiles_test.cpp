// SPDX-License-Identifier: MIT
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/tiles.hpp>

#include "unit/attention/run_of_rows.hpp"

namespace {

using Pieces = std::vector<std::pair<int, int>>;  // position and count

Pieces pieces(gpt2ie::TileCursor<gpt2ie_test::TiledView>& cursor, const gpt2ie_test::TiledView& view, int from, int to,
              int head) {
  Pieces found;
  int wrong = 0;
  cursor.for_pieces(from, to, head, [&](int position, int count, const float* k, const float* v) {
    wrong += k != view.k + position * view.n_embd + head * view.head_dim;
    wrong += v != view.v + position * view.n_embd + head * view.head_dim;
    found.emplace_back(position, count);
  });
  CHECK(wrong == 0);
  return found;
}

}  // namespace

TEST_CASE("a range is cut at the borders of tiles, and the cursor goes on from there") {
  gpt2ie_test::RunOfRows run(2, 3, 23, 1);
  const auto view = run.view(5);
  gpt2ie::TileCursor cursor(view, 0, 0);
  CHECK(cursor.row_stride() == 6);
  CHECK(pieces(cursor, view, 0, 3, 0) == Pieces{{0, 3}});
  CHECK(pieces(cursor, view, 3, 5, 1) == Pieces{{3, 2}});
  CHECK(pieces(cursor, view, 5, 12, 1) == Pieces{{5, 5}, {10, 2}});
  CHECK(pieces(cursor, view, 21, 23, 0) == Pieces{{21, 2}});  // over a tile that nobody asked for
  CHECK(pieces(cursor, view, 23, 23, 0).empty());
}

TEST_CASE("one tile is one piece") {
  gpt2ie_test::RunOfRows run(1, 4, 9, 2);
  const auto view = run.view(64);
  gpt2ie::TileCursor cursor(view, 0, 0);
  CHECK(pieces(cursor, view, 0, 9, 0) == Pieces{{0, 9}});
}

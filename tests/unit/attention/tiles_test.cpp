// SPDX-License-Identifier: MIT
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/core/element.hpp>

#include "unit/attention/run_of_rows.hpp"

namespace {

using Pieces = std::vector<std::pair<int, int>>;  // position and count

using View = gpt2ie_test::TiledView<float>;

Pieces pieces(gpt2ie::TileCursor<View>& cursor, const View& view, int from, int to, int head) {
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

TEST_CASE("scales are those of the piece's rows and head; plain elements stand for themselves") {
  gpt2ie_test::RunOfRows<gpt2ie::int8> run(2, 3, 23, 1);
  const auto view = run.view(5);
  int wrong = 0, rows = 0;
  for (const int head : {0, 1}) {
    gpt2ie::TileCursor walk(view, 0, 0);
    walk.for_pieces(2, 23, head, [&](int position, int count, const auto* /*k*/, const auto* /*v*/) {
      const auto k = walk.k_scales(position, head, 3), v = walk.v_scales(position, head, 3);
      for (int i = 0; i < count; ++i, ++rows) {
        wrong += k[i] != view.k_scale[2 * (position + i) + head] || v[i] != view.v_scale[2 * (position + i) + head];
      }
      float factors[] = {3, 5};
      v.multiply(factors, 1);
      wrong += factors[0] != 3 * v[0] || factors[1] != 5;
    });
  }
  CHECK(rows == 2 * 21);
  CHECK(wrong == 0);

  gpt2ie_test::RunOfRows plain(2, 3, 23, 1);
  const auto plain_view = plain.view(5);
  const gpt2ie::TileCursor plain_cursor(plain_view, 0, 0);
  float factor = 3;
  plain_cursor.k_scales(0, 1, 3).multiply(&factor, 1);
  CHECK(factor == 3);
  CHECK(plain_cursor.v_scales(0, 1, 3)[0] == 1);
}

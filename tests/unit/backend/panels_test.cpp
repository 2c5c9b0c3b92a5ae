// SPDX-License-Identifier: MIT
#include <cstddef>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/panels.hpp>

using gpt2ie::PanelMatrix;

TEST_CASE("rows go in, columns come out, and the last panel is filled with zeros") {
  constexpr int in = 3;
  for (const int out : {1, 16, 17, 40}) {
    CAPTURE(out);
    PanelMatrix w(in, out);
    CHECK(w.in() == in);
    CHECK(w.out() == out);
    CHECK(w.panels() == (out + 15) / 16);
    std::vector<float> row(static_cast<std::size_t>(out));
    for (int k = 0; k < in; ++k) {
      std::iota(row.begin(), row.end(), static_cast<float>(100 * k));
      w.set_row(k, row.data());
    }
    int wrong = 0;
    for (int j = 0; j < w.panels() * PanelMatrix::width; ++j) {
      for (int k = 0; k < in; ++k) {
        wrong += w.column(j)[k * PanelMatrix::width] != (j < out ? static_cast<float>(100 * k + j) : 0.0f);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a matrix of nothing has no panels") { CHECK(PanelMatrix().panels() == 0); }

TEST_CASE("each sum runs over its rows in ascending order") {
  // Ascending order alone loses the 1: 1 + 1e8 is 1e8 in float, and 1e8 - 1e8 is 0.
  PanelMatrix w(3, 16);
  const std::vector<float> ones(16, 1.0f);
  for (int k = 0; k < 3; ++k) w.set_row(k, ones.data());
  const float x[] = {1, 1e8f, -1e8f, 1e8f, -1e8f, 1};  // two rows
  float sums[2 * PanelMatrix::width];
  gpt2ie::detail::multiply_panel_rows(w, 0, x, 2, sums);
  CHECK(sums[0] == 0.0f);
  CHECK(sums[PanelMatrix::width] == 1.0f);
}

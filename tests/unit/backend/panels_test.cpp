// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/panels.hpp>

using PanelMatrix = gpt2ie::PanelMatrix<float>;

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

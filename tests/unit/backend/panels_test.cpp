// SPDX-License-Identifier: MIT
#include <algorithm>
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
  gpt2ie::detail::multiply_panels(w, 0, 1, x, 2, sums);
  CHECK(sums[0] == 0.0f);
  CHECK(sums[PanelMatrix::width] == 1.0f);
}

TEST_CASE("slices and groups of panels change no bit") {
  constexpr int in = 300, out = 64, most_rows = 9;  // few rows are cut into short slices, many into long ones
  PanelMatrix w(in, out);
  std::vector<float> row(out), x(most_rows * in);
  for (int k = 0; k < in; ++k) {
    for (int j = 0; j < out; ++j)
      row[static_cast<std::size_t>(j)] = 1.0f / static_cast<float>(1 + (k * 7 + j * 3) % 11);
    w.set_row(k, row.data());
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(1 + i % 13) - 0.4f;
  const auto sums_of = [&](int panels, int rows) {
    std::vector<float> sums(static_cast<std::size_t>(panels * rows * PanelMatrix::width));
    gpt2ie::detail::multiply_panels(w, 0, panels, x.data(), rows, sums.data());
    return sums;
  };
  const std::vector<float> expected = sums_of(1, most_rows);
  for (int panels = 1; panels <= 4; ++panels) {
    for (int rows = 1; rows <= most_rows; ++rows) {
      CAPTURE(panels);
      CAPTURE(rows);
      const std::vector<float> sums = sums_of(panels, rows);
      CHECK(std::equal(sums.begin(), sums.begin() + rows * PanelMatrix::width, expected.begin()));
    }
  }
}

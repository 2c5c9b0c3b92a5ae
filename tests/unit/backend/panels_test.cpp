// SPDX-License-Identifier: MIT
#include <cstddef>
#include <memory>
#include <utility>

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
    for (int p = 0; p < w.panels(); ++p) {
      float block[in * PanelMatrix::width] = {};
      for (int k = 0; k < in; ++k) {
        for (int c = 0; c < PanelMatrix::width && p * PanelMatrix::width + c < out; ++c) {
          block[k * PanelMatrix::width + c] = static_cast<float>(100 * k + p * PanelMatrix::width + c);
        }
      }
      w.set_block(p, 0, in, block);
    }
    int wrong = 0;
    for (int j = 0; j < w.panels() * PanelMatrix::width; ++j) {
      w.for_column(j, [&](int k, float x) { wrong += x != (j < out ? static_cast<float>(100 * k + j) : 0.0f); });
    }
    CHECK(wrong == 0);
    // The same memory as someone else's.
    const auto owner = std::make_shared<const PanelMatrix>(std::move(w));
    const PanelMatrix other(in, out, owner->data(), owner);
    CHECK(owner.use_count() == 2);
    CHECK(other.panel(other.panels() - 1) == owner->panel(other.panels() - 1));
  }
}

TEST_CASE("a matrix of nothing has no panels") { CHECK(PanelMatrix().panels() == 0); }

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/group_panels.hpp>

#include "unit/backend/operations.hpp"

using namespace gpt2ie;

TEST_CASE_TEMPLATE("a group keeps each integer in its place", W, int8, int4) {
  using Group = PanelGroup<W>;
  Group group{};
  const auto integer = [](int k, int c) {
    return Group::lowest + (k * 16 + c) * 7 % (Group::highest - Group::lowest + 1);
  };
  for (int k = 0; k < 32; ++k) {
    for (int c = 0; c < 16; ++c) group.set(k, c, integer(k, c));
  }
  int wrong = 0;
  for (int k = 0; k < 32; ++k) {
    for (int c = 0; c < 16; ++c) wrong += group.at(k, c) != integer(k, c);
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("weights come back within half a step, and what is missing is zero", W, int8, int4) {
  constexpr int in = 75, out = 37;
  PanelMatrix<W> w(in, out);
  CHECK(w.groups() == 3);
  CHECK(w.panels() == 3);
  const std::vector<float> values = gpt2ie_test::random_floats(in * 48, 1, 5);
  for (int p = 0; p < 3; ++p) {
    for (int k = 0; k < in; k += 32) {
      std::vector<float> block(32 * 16);
      for (int row = 0; row < std::min(32, in - k); ++row) {
        for (int c = 0; c < 16 && p * 16 + c < out; ++c) {
          block[static_cast<std::size_t>(row * 16 + c)] = values[static_cast<std::size_t>((k + row) * 48 + p * 16 + c)];
        }
      }
      w.set_block(p, k, std::min(32, in - k), block.data());
    }
  }
  // Four bits may choose a scale that cuts the largest off, by a step and a half at most.
  const float steps = PanelGroup<W>::highest == 127 ? 0.51f : 1.6f;
  for (int j = 0; j < out; ++j) {
    w.for_column(j, [&](int k, float x) {
      float largest = 0;
      for (int row = k / 32 * 32; row < std::min(in, k / 32 * 32 + 32); ++row) {
        largest = std::max(largest, std::fabs(values[static_cast<std::size_t>(row * 48 + j)]));
      }
      const float step = largest / static_cast<float>(PanelGroup<W>::highest);
      REQUIRE(std::fabs(x - values[static_cast<std::size_t>(k * 48 + j)]) <= steps * step);
    });
  }
  for (int j = out; j < 48; ++j) w.for_column(j, [](int, float x) { REQUIRE(x == 0.0f); });
  CHECK(w.panel(2)[2].at(in % 32, 0) == 0);
}

TEST_CASE("zeros stay zeros") {
  PanelMatrix<int4> w(32, 16);
  const std::vector<float> block(32 * 16);
  w.set_block(0, 0, 32, block.data());
  w.for_column(3, [](int, float x) { CHECK(x == 0.0f); });
}

TEST_CASE("a matrix of nothing has no panels") {
  CHECK(PanelMatrix<int8>().panels() == 0);
  CHECK(PanelMatrix<int8>::elements(33, 17) == 4);
}

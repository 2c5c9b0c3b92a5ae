// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/group_product.hpp>

#include "unit/backend/operations.hpp"

using namespace gpt2ie;
using namespace gpt2ie::detail;

namespace {

constexpr int width = 16;

/// Random integers over their whole range, with random scales.
template <class W>
std::vector<PanelGroup<W>> random_groups(int count) {
  using Group = PanelGroup<W>;
  std::vector<Group> groups(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (Group& group : groups) {
    for (int c = 0; c < width; ++c) {
      group.scale[c] = from_float<f16>(0.01f + 0.001f * static_cast<float>(c));
      for (int k = 0; k < 32; ++k) {
        state = state * 1664525u + 1013904223u;
        const int integer = Group::lowest + static_cast<int>((state >> 8) % (Group::highest - Group::lowest + 1));
        group.set(k, c, k % 9 == 0 ? (c % 2 == 0 ? Group::lowest : Group::highest) : integer);
      }
    }
  }
  return groups;
}

/// Rows of integers as they come out of a quantised row, one after the other.
struct Activations {
  int rows, groups;
  std::vector<float> x;  // [rows, groups * 32]
  std::vector<std::int8_t> value;
  std::vector<float> scale;  // [rows, groups]

  Activations(int rows_, int groups_) : rows(rows_), groups(groups_) {
    x = gpt2ie_test::random_floats(static_cast<std::size_t>(rows * groups * 32), 1, 3);
    for (std::size_t i = 0; i < x.size(); i += 5) x[i] = i % 2 == 0 ? 1.0f : -1.0f;  // the largest, time and again
    value.resize(x.size());
    scale.resize(x.size() / 32);
    std::int32_t sum;
    for (std::size_t i = 0; i < scale.size(); ++i) {
      quantize_group(x.data() + i * 32, 32, value.data() + i * 32, scale[i], sum);
    }
  }
};

/// The sums [panels, rows, 16] of rows [first, first + rows) of x by the first panels.
template <class W>
std::vector<float> product(Isa isa, const std::vector<PanelGroup<W>>& weights, int panels, const float* x, int first,
                           int rows, int groups) {
  const RowBlocks blocks(rows);
  QuantizedRowBuffer buffer;
  buffer.reserve(rows, groups * 32);
  for (int block = 0; block < blocks.count(); ++block) {
    buffer.fill(blocks, block, x + first * groups * 32, groups * 32, quantize_group_of(isa));
  }
  std::vector<float> sums(static_cast<std::size_t>(panels * rows * width), NAN);
  group_product<W>(isa)({.weights = weights.data(),
                         .panels = panels,
                         .x = buffer.rows(groups * 32),
                         .range = {blocks, 0, blocks.count()},
                         .sums = sums.data()});
  return sums;
}

}  // namespace

TEST_CASE_TEMPLATE("each instruction set sums integers exactly", W, int8, int4) {
  constexpr int panels = 4, groups = 5, rows = 60;
  const auto weights = random_groups<W>(panels * groups);
  const Activations x(rows, groups);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    for (const int count : {1, 2, 3, 4}) {
      for (const int some : {1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 14, 17, 26, 60}) {
        CAPTURE(count);
        CAPTURE(some);
        const std::vector<float> sums = product(isa, weights, count, x.x.data(), 0, some, groups);
        double worst = 0;
        for (int p = 0; p < count; ++p) {
          for (int r = 0; r < some; ++r) {
            for (int c = 0; c < width; ++c) {
              double exact = 0, size = 0;
              for (int g = 0; g < groups; ++g) {
                const auto& group = weights[static_cast<std::size_t>(p * groups + g)];
                std::int64_t sum = 0;
                for (int k = 0; k < 32; ++k) {
                  sum += std::int64_t{group.at(k, c)} * x.value[static_cast<std::size_t>((r * groups + g) * 32 + k)];
                }
                const double term = static_cast<double>(sum) * static_cast<double>(to_float(group.scale[c])) *
                                    static_cast<double>(x.scale[static_cast<std::size_t>(r * groups + g)]);
                exact += term;
                size += std::fabs(term);
              }
              const double found = static_cast<double>(sums[static_cast<std::size_t>((p * some + r) * width + c)]);
              worst = std::max(worst, std::fabs(found - exact) / size);
            }
          }
        }
        CHECK(worst < 1e-6);
      }
    }
  }
}

TEST_CASE_TEMPLATE("groups of panels and blocks of rows change no bit", W, int8, int4) {
  constexpr int panels = 4, groups = 40, rows = 60;
  const auto weights = random_groups<W>(panels * groups);
  const Activations x(rows, groups);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    const std::vector<float> expected = product(isa, weights, 1, x.x.data(), 0, rows, groups);
    for (int count = 1; count <= panels; ++count) {
      for (int some = 1; some <= rows; some += some < 26 ? 1 : 17) {
        CAPTURE(count);
        CAPTURE(some);
        const int first = some < rows ? 1 : 0;
        const std::vector<float> sums = product(isa, weights, count, x.x.data(), first, some, groups);
        CHECK(std::equal(sums.begin(), sums.begin() + some * width, expected.begin() + first * width));
      }
    }
  }
}

TEST_CASE("a row that is not finite gives NaN, its neighbours do not") {
  const auto weights = random_groups<int8>(1);
  std::vector<float> x(2 * 32, 1.0f);
  x[40] = INFINITY;
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    const std::vector<float> sums = product(isa, weights, 1, x.data(), 0, 2, 1);
    CHECK(std::isfinite(sums[0]));
    CHECK(std::isnan(sums[width]));
  }
}

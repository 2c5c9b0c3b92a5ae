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

struct Activations {
  QuantizedRowBuffer buffer;
  int elements;

  Activations(int rows, int count) : elements(count) {
    buffer.reserve(rows, count);
    std::vector<float> x = gpt2ie_test::random_floats(static_cast<std::size_t>(rows * count), 1, 3);
    for (std::size_t i = 0; i < x.size(); i += 5) x[i] = i % 2 == 0 ? 1.0f : -1.0f;  // the largest, time and again
    for (int row = 0; row < rows; ++row)
      buffer.quantize(row, x.data() + row * count, count, quantize_group_of(Isa::portable));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("each instruction set sums integers exactly", W, int8, int4) {
  constexpr int panels = 4, elements = 5 * 32, rows = 64;
  const auto weights = random_groups<W>(panels * 5);
  const Activations x(rows, elements);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    for (const int count : {1, 2, 3, 4}) {
      for (const int some : {1, 2, 3, 4, 5, 7, 9, 11, 12, 13, 14, 17, 64}) {
        CAPTURE(count);
        CAPTURE(some);
        std::vector<float> sums(static_cast<std::size_t>(count * some * width));
        group_product<W>(isa)({.weights = weights.data(),
                               .panels = count,
                               .x = x.buffer.rows(elements),
                               .rows = some,
                               .sums = sums.data()});
        double worst = 0;
        for (int p = 0; p < count; ++p) {
          for (int r = 0; r < some; ++r) {
            for (int c = 0; c < width; ++c) {
              double exact = 0, size = 0;
              for (int g = 0; g < 5; ++g) {
                const auto& group = weights[static_cast<std::size_t>(p * 5 + g)];
                std::int64_t sum = 0;
                for (int k = 0; k < 32; ++k)
                  sum += std::int64_t{group.at(k, c)} * x.buffer.rows(elements).values_of(r, g)[k];
                const double term = static_cast<double>(sum) * static_cast<double>(to_float(group.scale[c])) *
                                    static_cast<double>(x.buffer.rows(elements).scale_of(r, g));
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

TEST_CASE_TEMPLATE("groups of panels and of rows change no bit", W, int8, int4) {
  constexpr int panels = 4, groups = 40, rows = 64;
  const auto weights = random_groups<W>(panels * groups);
  const Activations x(rows, groups * 32);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    const auto sums_of = [&](int count, int some, int first) {
      std::vector<float> sums(static_cast<std::size_t>(count * some * width));
      group_product<W>(isa)({.weights = weights.data(),
                             .panels = count,
                             .x = x.buffer.rows(groups * 32).from(first),
                             .rows = some,
                             .sums = sums.data()});
      return sums;
    };
    const std::vector<float> expected = sums_of(1, rows, 0);
    for (int count = 1; count <= panels; ++count) {
      for (int some = 1; some <= rows; some += some < 20 ? 1 : 11) {
        CAPTURE(count);
        CAPTURE(some);
        const int first = some < rows ? 1 : 0;
        const std::vector<float> sums = sums_of(count, some, first);
        CHECK(std::equal(sums.begin(), sums.begin() + some * width, expected.begin() + first * width));
      }
    }
  }
}

TEST_CASE("a row that is not finite gives NaN, its neighbours do not") {
  const auto weights = random_groups<int8>(1);
  std::vector<float> x(2 * 32, 1.0f);
  x[40] = INFINITY;
  QuantizedRowBuffer buffer;
  buffer.reserve(2, 32);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    for (int row = 0; row < 2; ++row) buffer.quantize(row, x.data() + row * 32, 32, quantize_group_of(isa));
    float sums[2 * width];
    group_product<int8>(isa)({.weights = weights.data(), .panels = 1, .x = buffer.rows(32), .rows = 2, .sums = sums});
    CHECK(std::isfinite(sums[0]));
    CHECK(std::isnan(sums[width]));
  }
}

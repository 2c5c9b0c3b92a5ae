// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/panel_product.hpp>

using namespace gpt2ie;
using namespace gpt2ie::detail;

namespace {

constexpr int width = PanelProductArgs<float>::width;

/// Those that this processor runs.
std::vector<Isa> isas() {
  std::vector<Isa> all(all_isas.begin(), all_isas.end());
  std::erase_if(all, [](Isa isa) { return !has_isa(isa); });
  return all;
}

/// Numbers between -0.4 and 0.6 whose products are not exact.
std::vector<float> fractions(int count, int period) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = 1.0f / static_cast<float>(1 + (i * 7) % period) - 0.4f;
  }
  return values;
}

/// The sums [panels, rows, 16] of the first rows of x[..., in] by the first panels of w[..., in, 16].
template <class W>
std::vector<float> product(Isa isa, const std::vector<W>& w, int panels, int in, const std::vector<float>& x,
                           int rows) {
  const RowBlocks blocks(rows);
  RowBlockBuffer packed;
  packed.reserve(rows, in);
  for (int block = 0; rows > 1 && block < blocks.count(); ++block) packed.fill(blocks, block, x.data(), in);
  std::vector<float> sums(static_cast<std::size_t>(panels * rows * width), NAN);
  panel_product<W>(isa)({.weights = w.data(),
                         .panels = panels,
                         .in = in,
                         .x = rows > 1 ? packed.data() : x.data(),
                         .range = {blocks, 0, blocks.count()},
                         .sums = sums.data()});
  return sums;
}

}  // namespace

TEST_CASE("the best instruction set is one that runs") { CHECK(has_isa(best_isa())); }

TEST_CASE("each sum runs over its rows in ascending order") {
  // Ascending order alone loses the 1: 1 + 1e8 is 1e8 in float, and 1e8 - 1e8 is 0.
  const std::vector<float> w(3 * 16, 1.0f), x = {1, 1e8f, -1e8f, 1e8f, -1e8f, 1};  // two rows
  for (const Isa isa : isas()) {
    CAPTURE(isa_name(isa));
    const std::vector<float> sums = product(isa, w, 1, 3, x, 2);
    CHECK(sums[0] == 0.0f);
    CHECK(sums[width] == 1.0f);
  }
}

TEST_CASE("slices, groups of panels and blocks of rows change no bit") {
  constexpr int in = 300, panels = 4, most_rows = PanelProductArgs<float>::most_rows;
  const std::vector<float> w = fractions(in * panels * width, 11), x = fractions(most_rows * in, 13);
  for (const Isa isa : isas()) {
    CAPTURE(isa_name(isa));
    const std::vector<float> expected = product(isa, w, 1, in, x, most_rows);
    for (int count = 1; count <= panels; ++count) {
      for (int rows = 1; rows <= most_rows; rows += rows < 26 ? 1 : 17) {
        CAPTURE(count);
        CAPTURE(rows);
        const std::vector<float> sums = product(isa, w, count, in, x, rows);
        CHECK(std::equal(sums.begin(), sums.begin() + rows * width, expected.begin()));
      }
    }
  }
}

TEST_CASE("some of the blocks, and the sums of them alone") {
  constexpr int in = 140, panels = 3, rows = 41;
  const std::vector<float> w = fractions(in * panels * width, 11), x = fractions(rows * in, 13);
  const RowBlocks blocks(rows);
  RowBlockBuffer packed;
  packed.reserve(rows, in);
  for (int block = 0; block < blocks.count(); ++block) packed.fill(blocks, block, x.data(), in);
  const BlockRange range{blocks, 1, 3};
  for (const Isa isa : isas()) {
    CAPTURE(isa_name(isa));
    const std::vector<float> expected = product(isa, w, panels, in, x, rows);
    std::vector<float> sums(static_cast<std::size_t>(panels * range.rows() * width), NAN);
    panel_product<float>(isa)(
        {.weights = w.data(), .panels = panels, .in = in, .x = packed.data(), .range = range, .sums = sums.data()});
    for (int p = 0; p < panels; ++p) {
      CHECK(std::equal(sums.begin() + p * range.rows() * width, sums.begin() + (p + 1) * range.rows() * width,
                       expected.begin() + (p * rows + blocks.begin(1)) * width));
    }
  }
}

TEST_CASE("each instruction set agrees with double arithmetic") {
  constexpr int in = 777, panels = 3, rows = 7;
  const std::vector<float> w = fractions(in * panels * width, 17), x = fractions(rows * in, 19);
  for (const Isa isa : isas()) {
    CAPTURE(isa_name(isa));
    const std::vector<float> sums = product(isa, w, panels, in, x, rows);
    double worst = 0;
    for (int p = 0; p < panels; ++p) {
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < width; ++c) {
          double exact = 0;
          for (int k = 0; k < in; ++k) {
            exact += static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) *
                     static_cast<double>(w[static_cast<std::size_t>((p * in + k) * width + c)]);
          }
          const float sum = sums[static_cast<std::size_t>((p * rows + r) * width + c)];
          worst = std::max(worst, std::abs(static_cast<double>(sum) - exact));
        }
      }
    }
    CHECK(worst < 1e-4);
  }
}

TEST_CASE_TEMPLATE("halves give the bits of the floats that they stand for", W, bf16, f16) {
  constexpr int in = 130, panels = 4;
  const std::vector<float> exact = fractions(in * panels * width, 23), x = fractions(9 * in, 29);
  std::vector<W> halves;
  std::vector<float> widened;
  for (const float w : exact) {
    halves.push_back(from_float<W>(w));
    widened.push_back(to_float(halves.back()));
  }
  for (const Isa isa : isas()) {
    for (const int rows : {1, 2, 5, 9}) {
      CAPTURE(isa_name(isa));
      CAPTURE(rows);
      CHECK(product(isa, halves, panels, in, x, rows) == product(isa, widened, panels, in, x, rows));
    }
  }
}

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/attention/flash_math.hpp>
#include <gpt2ie/core/element.hpp>

#include "support/tolerance.hpp"
#include "unit/attention/run_of_rows.hpp"

using gpt2ie::detail::PortableFlashMath;

namespace {

template <class Flash, class T = float>
void check(int head_dim) {
  CAPTURE(head_dim);
  gpt2ie_test::RunOfRows<T> run(2, head_dim, 150, 70);
  const std::vector<double> exact = run.exact();
  const std::vector<float> whole = run.template attend<Flash>(256);
  CHECK(gpt2ie_test::within(std::span<const float>(whole), std::span<const double>(exact), 1e-5));
  for (const int tile_rows : {1, 5, 16, 64})
    CHECK(gpt2ie_test::same_bits(run.template attend<Flash>(tile_rows), whole));
}

}  // namespace

TEST_CASE("a row is softmax(q K^T) V, with the same bits whatever tiles hold it") {
  for (const int head_dim : {1, 20, 64, 128}) check<gpt2ie::attention::Flash<64, 64>>(head_dim);
  check<gpt2ie::attention::Flash<4, 7>>(20);
  check<gpt2ie::attention::Flash<1, 1>>(20);
}

TEST_CASE("integers are multiplied with the scale of their row and head") {
  for (const int head_dim : {1, 20, 64, 128}) check<gpt2ie::attention::Flash<64, 64>, gpt2ie::int8>(head_dim);
  check<gpt2ie::attention::Flash<4, 7>, gpt2ie::int8>(20);
}

TEST_CASE("a block of rows has the bits of its rows alone, wherever it begins, and so have heads side by side") {
  using Flash = gpt2ie::attention::Flash<16, 24>;
  gpt2ie_test::RunOfRows run(2, 64, 100, 40);
  const std::vector<float> alone = run.attend<Flash>(16);
  std::vector<float> blocks(alone.size());
  const auto view = run.view(16);
  const auto args = run.arguments(blocks.data(), nullptr);
  for (const int block : {16, 8, 7, 1}) {
    for (const int heads : {1, 2}) {
      if (block * heads > 16) continue;
      std::fill(blocks.begin(), blocks.end(), 0.0f);
      for (int head = 0; head < 2; head += heads) {
        for (int row = 0; row < 40; row += block) {
          const gpt2ie::detail::FlashPart<decltype(run.view(16))> part{view, args, 0, row, std::min(block, 40 - row),
                                                                       head, heads};
          Flash::rows<16>(part, PortableFlashMath{});
        }
      }
      CHECK(gpt2ie_test::same_bits(blocks, alone));
    }
  }
}

TEST_CASE_TEMPLATE("on SimdCpu the kernel gives the bits of the row function", T, float, gpt2ie::int8) {
  using Flash = gpt2ie::attention::Flash<16, 24>;
  using Backend = gpt2ie::backend::SimdCpu<float>;
  gpt2ie_test::RunOfRows<T> run(3, 20, 90, 50);
  const std::vector<float> rows = run.template attend<Flash>(16);
  for (const int threads : {1, 3}) {
    std::vector<float> out(rows.size());
    Backend backend(threads);
    gpt2ie::attention_kernel<Flash, Backend>::run(backend, run.view(16), run.arguments(out.data(), nullptr), 90);
    CHECK(gpt2ie_test::same_bits(out, rows));
  }
}

TEST_CASE("no scratch grows with the context") {
  CHECK(gpt2ie::attention::Flash<64, 64>::scratch_floats({}, {.max_rows = 256, .max_length = 1024}) == 0);
  CHECK(gpt2ie::attention::Flash<64, 64>::block_floats == 64 * 64 + 128);
}

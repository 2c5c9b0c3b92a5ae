// SPDX-License-Identifier: MIT
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/core/element.hpp>

#include "support/tolerance.hpp"
#include "unit/attention/run_of_rows.hpp"

using gpt2ie::attention::Standard;

TEST_CASE_TEMPLATE("a row is softmax(q K^T) V, with the same bits whatever tiles hold it", T, float, gpt2ie::int8) {
  gpt2ie_test::RunOfRows<T> run(3, 20, 37, 5);
  const std::vector<double> exact = run.exact();
  const std::vector<float> whole = run.template attend<Standard>(64);
  CHECK(gpt2ie_test::within(std::span<const float>(whole), std::span<const double>(exact), 1e-5));
  for (const int tile_rows : {1, 5, 16}) CHECK(gpt2ie_test::same_bits(run.template attend<Standard>(tile_rows), whole));
}

TEST_CASE("scores of a whole step are held at once") {
  gpt2ie::ModelConfig config;
  CHECK(Standard::scratch_floats(config, {.max_rows = 256, .max_length = 1024}) == 256 * 12 * 1024);
}

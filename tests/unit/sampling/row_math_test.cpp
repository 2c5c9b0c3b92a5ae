// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/row_math.hpp>

#include "helpers.hpp"

using namespace gpt2ie;

TEST_CASE("exponentials are as exact as their documentation says, and 0 far below") {
  double worst = 0;
  for (float x = 0; x > -87; x -= 0.0137f) {
    const float value = detail::exp4(detail::Float4{x, x, x, x})[3];
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(value) / exact - 1) / (2 - static_cast<double>(x)));
  }
  CHECK(worst < 0x1p-23);
  const float infinity = std::numeric_limits<float>::infinity();
  const detail::Float4 ends = detail::exp4(detail::Float4{0, -88, -infinity, -1e30f});
  CHECK(ends[0] == 1);
  CHECK(ends[1] == 0);
  CHECK(ends[2] == 0);
  CHECK(ends[3] == 0);
}

TEST_CASE("the exponentials that this machine uses agree with the portable ones") {
  std::vector<float> row = gpt2ie_test::random_logits(detail::row_block, 30, 2);
  const float best = *std::max_element(row.begin(), row.end());
  row[3] = -std::numeric_limits<float>::infinity();
  std::vector<float> portable(row.size()), fastest(row.size());
  const float sum = detail::block_exp_portable(row.data(), best, portable.data());
  CHECK(detail::block_exp()(row.data(), best, fastest.data()) == doctest::Approx(sum).epsilon(1e-6));
  CHECK(fastest[3] == 0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(std::abs(fastest[i] - portable[i]) <= 2e-5f * portable[i]);
  }
}

TEST_CASE("row_max and row_exp_sum agree with plain loops for every length around a block") {
  for (std::size_t n = 1; n <= 200; ++n) {
    const std::vector<float> row = gpt2ie_test::random_logits(n, 3, static_cast<unsigned>(n));
    const auto best = std::max_element(row.begin(), row.end());
    const detail::RowMax found = detail::row_max(row);
    REQUIRE(found.value == *best);
    REQUIRE(found.index == static_cast<std::size_t>(best - row.begin()));

    std::vector<float> weights(n, -1), block_sums(detail::blocks_of(n), -1);
    const double sum = detail::row_exp_sum(row, *best, weights.data(), block_sums.data());
    double exact = 0, of_weights = 0, of_blocks = 0;
    for (const float x : row) exact += std::exp(static_cast<double>(x) - static_cast<double>(*best));
    for (const float w : weights) of_weights += static_cast<double>(w);
    for (const float s : block_sums) of_blocks += static_cast<double>(s);
    REQUIRE(sum == doctest::Approx(exact).epsilon(2e-6));
    REQUIRE(of_weights == doctest::Approx(exact).epsilon(2e-6));
    REQUIRE(of_blocks == sum);
    REQUIRE(detail::row_exp_sum(row, *best) == sum);
  }
}

TEST_CASE("row_max names NaN and +infinity as +infinity wherever they are, and an empty row as -infinity") {
  const float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t place = 0; place < 131; ++place) {
    for (const float bad : {not_a_number, infinity}) {
      std::vector<float> row(131, 1.0f);
      row[place] = bad;
      REQUIRE(detail::row_max(row).value == infinity);
    }
  }
  CHECK(detail::row_max({}).value == -infinity);
  CHECK(detail::row_max(std::vector<float>(70, -infinity)).value == -infinity);
}

TEST_CASE("row_divide divides each score") {
  for (std::size_t n = 0; n < 10; ++n) {
    std::vector<float> row = gpt2ie_test::random_logits(n, 3, 1), expected = row;
    for (float& x : expected) x /= 0.7f;
    detail::row_divide(row, 0.7f);
    CHECK(row == expected);
  }
}

// SPDX-License-Identifier: MIT
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard_eigen.hpp>
#include <gpt2ie/core/element.hpp>

#include "support/tolerance.hpp"
#include "unit/attention/run_of_rows.hpp"

TEST_CASE_TEMPLATE("standard attention in Eigen is softmax(q K^T) V over tiles of any size", T, float, gpt2ie::int8) {
  using Backend = gpt2ie::backend::EigenCpu<float>;
  gpt2ie_test::RunOfRows<T> run(3, 20, 60, 25);
  const std::vector<double> exact = run.exact();
  for (const int tile_rows : {1, 5, 64}) {
    CAPTURE(tile_rows);
    std::vector<float> out(exact.size()), scratch(static_cast<std::size_t>(25 * 3 * 60));
    Backend backend(2);
    gpt2ie::attention_kernel<gpt2ie::attention::Standard, Backend>::run(backend, run.view(tile_rows),
                                                                        run.arguments(out.data(), scratch.data()), 60);
    CHECK(gpt2ie_test::within(std::span<const float>(out), std::span<const double>(exact), 1e-5));
  }
}

// SPDX-License-Identifier: MIT
#include <cstddef>

#include <doctest/doctest.h>

#include <gpt2ie/engine/histogram.hpp>

using gpt2ie::Histogram;

TEST_CASE("a value goes into the first bucket whose end it does not pass") {
  Histogram histogram;
  histogram.add(0);
  histogram.add(0.0001);
  histogram.add(0.00011);
  histogram.add(100);
  histogram.add(100.5);
  CHECK(histogram.counts()[0] == 2);
  CHECK(histogram.counts()[1] == 1);
  CHECK(histogram.counts()[Histogram::bounds.size() - 1] == 1);
  CHECK(histogram.counts()[Histogram::bounds.size()] == 1);
  CHECK(histogram.count() == 5);
  CHECK(histogram.sum() == doctest::Approx(200.50021));
  CHECK(histogram.mean() == doctest::Approx(40.100042));
}

TEST_CASE("bounds ascend, three a decade") {
  for (std::size_t i = 0; i + 3 < Histogram::bounds.size(); ++i) {
    CHECK(Histogram::bounds[i] < Histogram::bounds[i + 1]);
    CHECK(Histogram::bounds[i + 3] == doctest::Approx(10 * Histogram::bounds[i]));
  }
}

TEST_CASE("quantiles lie in the bucket that holds them") {
  Histogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  CHECK(histogram.mean() == 0);
  for (int i = 0; i < 90; ++i) histogram.add(0.003);
  for (int i = 0; i < 10; ++i) histogram.add(0.3);
  CHECK(histogram.quantile(0.0) == doctest::Approx(0.00215));
  CHECK(histogram.quantile(0.45) == doctest::Approx((0.00215 + 0.00464) / 2));
  CHECK(histogram.quantile(0.9) == doctest::Approx(0.00464));
  CHECK(histogram.quantile(0.95) == doctest::Approx((0.215 + 0.464) / 2));
  CHECK(histogram.quantile(1.0) == doctest::Approx(0.464));
  histogram.add(1e9);
  CHECK(histogram.quantile(1.0) == 100);
}

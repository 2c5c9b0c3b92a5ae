// SPDX-License-Identifier: MIT
/// Layer norm of rows of 768 floats on every CPU backend, one thread.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <gpt2ie/backend/policies.hpp>

#include "counters.hpp"
#include "support/random_checkpoint.hpp"
#include "support/type_name.hpp"

namespace {

using namespace gpt2ie;

template <class B>
void norm(benchmark::State& state) {
  constexpr int n = 768;
  const int rows = static_cast<int>(state.range(0));
  const B backend(1);
  const std::vector<float> x = gpt2ie_test::random_floats(static_cast<std::size_t>(rows) * n, 1, 1);
  const std::vector<float> weight(n, 1.0f), bias(n, 0.0f);
  std::vector<float> y(x.size());
  backend.layer_norm(x.data(), rows, n, weight.data(), bias.data(), 1e-5f, y.data());
  double sum = 0, squares = 0;  // of the last row: a norm has mean 0 and variance 1
  for (std::size_t i = y.size() - n; i < y.size(); ++i) {
    sum += static_cast<double>(y[i]);
    squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  if (!(std::abs(sum / n) < 1e-5 && std::abs(squares / n - 1) < 1e-3)) {
    state.SkipWithError("the result is wrong");
    return;
  }
  for (auto _ : state) {
    backend.layer_norm(x.data(), rows, n, weight.data(), bias.data(), 1e-5f, y.data());
    benchmark::ClobberMemory();
  }
  gpt2ie_benchmark::count_work(state, std::int64_t{8} * rows * n, 7.0 * rows * n);
}

const bool registered = [] {
  backends::for_each([]<class B>() {
    benchmark::RegisterBenchmark(("layer_norm/" + gpt2ie_test::type_name<B>()).c_str(), norm<B>)
        ->Arg(1)
        ->Arg(64)
        ->Arg(512)
        ->ArgName("rows");
  });
  return true;
}();

}  // namespace

// SPDX-License-Identifier: MIT
/// Products with every weight matrix of GPT-2 124M, on every CPU backend, for a decoded token up to a chunk of a
/// prompt. One thread. Bytes are those of the weights.
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

struct Shape {
  const char* name;
  int in, out, most_rows;
};
constexpr Shape shapes[] = {{"c_attn", 768, 2304, 512},
                            {"c_proj", 768, 768, 512},
                            {"mlp_fc", 768, 3072, 512},
                            {"mlp_proj", 3072, 768, 512},
                            {"head", 768, 50257, 64}};

template <class B>
void multiply(benchmark::State& state, const Shape& shape) {
  const int rows = static_cast<int>(state.range(0)), in = shape.in, out = shape.out;
  const B backend(1);
  const std::vector<float> x = gpt2ie_test::random_floats(static_cast<std::size_t>(rows * in), 1, 1);
  const auto weight = [in](int k, int c) {
    return static_cast<float>((k * 31 + c * 17) % 64 - 32) / static_cast<float>(in);
  };
  const auto w = backend.pack({.in = in, .out = out, .read_row = [&](int k, float* to) {
                                 for (int c = 0; c < out; ++c) to[c] = weight(k, c);
                               }});
  std::vector<float> y(static_cast<std::size_t>(rows) * static_cast<std::size_t>(out));
  backend.linear(w, x.data(), rows, y.data(), {});
  double exact = 0;  // of the last element
  for (int k = 0; k < in; ++k) {
    exact +=
        static_cast<double>(x[static_cast<std::size_t>((rows - 1) * in + k)]) * static_cast<double>(weight(k, out - 1));
  }
  if (!(std::abs(static_cast<double>(y.back()) - exact) < 1e-5)) {
    state.SkipWithError("the result is wrong");
    return;
  }
  for (auto _ : state) {
    backend.linear(w, x.data(), rows, y.data(), {});
    benchmark::ClobberMemory();
  }
  gpt2ie_benchmark::count_work(state, std::int64_t{4} * in * out, 2.0 * rows * in * out);
}

const bool registered = [] {
  backends::for_each([]<class B>() {
    for (const Shape& shape : shapes) {
      auto* bench =
          benchmark::RegisterBenchmark((gpt2ie_test::type_name<B>() + "/" + shape.name).c_str(), multiply<B>, shape);
      for (const int rows : {1, 4, 16, 64, 512}) {
        if (rows <= shape.most_rows) bench->Arg(rows);
      }
      bench->ArgName("rows")->Unit(benchmark::kMicrosecond);
    }
  });
  return true;
}();

}  // namespace

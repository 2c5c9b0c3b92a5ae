// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/finish.hpp>

#include "support/random_checkpoint.hpp"

using namespace gpt2ie;
using namespace gpt2ie::detail;

namespace {

constexpr Activation all_activations[] = {Activation::none,       Activation::gelu_tanh, Activation::gelu,
                                          Activation::quick_gelu, Activation::relu,      Activation::silu,
                                          Activation::tanh};

float relative_error(float found, float expected) {
  if (std::isnan(expected)) return std::isnan(found) ? 0.0f : 1.0f;
  if (found == expected) return 0.0f;
  return std::fabs(found - expected) / (std::fabs(expected) + 1e-6f);
}

}  // namespace

TEST_CASE("each instruction set finishes as portable code does, and writes nothing else") {
  constexpr int rows = 7, stride = 50;
  std::vector<float> sums = gpt2ie_test::random_floats(rows * 16, 8, 1);
  const float infinity = std::numeric_limits<float>::infinity();
  const float odd[] = {0.0f, -0.0f, 100.0f, -100.0f, infinity, -infinity, std::nanf(""), 1e-30f};
  for (std::size_t i = 0; i < std::size(odd); ++i) sums[32 + i] = odd[i];
  const std::vector<float> bias = gpt2ie_test::random_floats(16, 1, 2),
                           residual = gpt2ie_test::random_floats(rows * stride, 2, 3);
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    for (const Activation activation : all_activations) {
      for (const int columns : {1, 7, 8, 9, 15, 16}) {
        for (int parts = 0; parts < 4; ++parts) {
          CAPTURE(isa_name(isa));
          CAPTURE(static_cast<int>(activation));
          CAPTURE(columns);
          CAPTURE(parts);
          std::vector<float> expected(rows * stride, -77.0f), found = expected;
          FinishArgs args{.sums = sums.data(),
                          .rows = rows,
                          .columns = columns,
                          .bias = parts & 1 ? bias.data() : nullptr,
                          .activation = activation,
                          .residual = parts & 2 ? residual.data() : nullptr,
                          .y = expected.data(),
                          .stride = stride};
          FinishPortable::finish(args);
          args.y = found.data();
          finish_of(isa)(args);
          float worst = 0;
          for (std::size_t i = 0; i < found.size(); ++i) {
            worst = std::max(worst, relative_error(found[i], expected[i]));
          }
          CHECK(worst < 2e-6f);
        }
      }
    }
  }
}

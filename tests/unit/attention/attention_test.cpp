// SPDX-License-Identifier: MIT
#include <concepts>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>

#include "support/tolerance.hpp"
#include "unit/attention/run_of_rows.hpp"

TEST_CASE("an attention names its policy, and every shipped policy is one") {
  CHECK(std::same_as<gpt2ie::Attention<gpt2ie::attention::Standard>::policy, gpt2ie::attention::Standard>);
  gpt2ie::attentions::for_each([]<class Policy>() { CHECK(gpt2ie::Attention<Policy>::valid); });
}

TEST_CASE("the kernel that all policies have runs the row function for each row and head") {
  using Backend = gpt2ie::backend::SimdCpu<float>;
  using gpt2ie::attention::Standard;
  gpt2ie_test::RunOfRows run(3, 20, 60, 25);
  const std::vector<float> rows = run.attend<Standard>(16);
  std::vector<float> out(rows.size()), scratch(static_cast<std::size_t>(25 * 3 * 60));
  Backend backend(3);
  gpt2ie::attention_kernel<Standard, Backend>::run(backend, run.view(16), run.arguments(out.data(), scratch.data()),
                                                   60);
  CHECK(gpt2ie_test::same_bits(out, rows));
}

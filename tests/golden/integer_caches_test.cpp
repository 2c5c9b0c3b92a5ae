// SPDX-License-Identifier: MIT
/// K and V kept in int8: the perplexity of the reference passage beside that of a float cache.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/reference_file.hpp"
#include "support/shared_data.hpp"

using namespace gpt2ie;

namespace {

using Cpu = backend::SimdCpu<float>;
using Flash = attention::Flash<64, 64>;

template <class Policy, class Element>
double perplexity_of(const std::vector<Token>& passage, const std::shared_ptr<const Weights<Cpu>>& weights, Isa isa) {
  Executor<Cpu, Policy, kv::Paged<Element, 16>> executor(Cpu(2, isa), weights, {.max_logit_rows = 64});
  return perplexity(score(executor, passage));
}

}  // namespace

TEST_CASE("K and V in int8 cost less than half a percent of perplexity") {
  if (const auto path = gpt2ie_test::shared_path("reference/fairytale-6m.expected.safetensors")) {
    const gpt2ie_test::ReferenceFile reference(*path);
    const std::vector<Token> passage = reference.tokens("passage.input_ids");
    const double expected = perplexity(reference.floats("passage.token_logprobs"));
    Cpu cpu(2);
    const auto weights =
        std::make_shared<const Weights<Cpu>>(cpu, load_checkpoint(gpt2ie_test::model_path("fairytale-6m")));
    for (const Isa isa : {Isa::portable, best_isa()}) {
      const double exact = perplexity_of<Flash, float>(passage, weights, isa);
      const double flash = perplexity_of<Flash, int8>(passage, weights, isa);
      const double standard = perplexity_of<attention::Standard, int8>(passage, weights, isa);
      MESSAGE(std::string(isa_name(isa)), ": perplexity ", flash, " with flash, ", standard,
              " with standard attention, ", exact, " over floats");
      CHECK(exact == doctest::Approx(expected).epsilon(1e-4));
      CHECK(flash == doctest::Approx(exact).epsilon(5e-3));
      CHECK(standard == doctest::Approx(flash).epsilon(1e-4));
    }
  }
}

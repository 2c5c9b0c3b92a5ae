// SPDX-License-Identifier: MIT
/// Weights kept in halves: near to the reference, which is the same for all precisions.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/reference_file.hpp"
#include "support/shared_data.hpp"
#include "support/tolerance.hpp"

using namespace gpt2ie;

TEST_CASE_TEMPLATE("logits and log-probabilities of half-precision weights are near the reference", W, bf16, f16) {
  using Cpu = backend::SimdCpu<W>;
  for (const std::string model : {"fairytale-1m", "fairytale-6m"}) {
    CAPTURE(model);
    const auto path = gpt2ie_test::shared_path("reference/" + model + ".expected.safetensors");
    if (!path) continue;
    const gpt2ie_test::ReferenceFile reference(*path);
    const Checkpoint checkpoint = load_checkpoint(gpt2ie_test::model_path(model));
    Cpu cpu(2);
    Executor<Cpu, attention::Flash<64, 64>, kv::Paged<float, 16>> executor(
        Cpu(2), std::make_shared<const Weights<Cpu>>(cpu, checkpoint), {.max_logit_rows = 64});

    const std::vector<Token> prompt = reference.tokens("prompt0.input_ids");
    std::vector<float> last;
    for_each_logits(executor, prompt, [&](int /*position*/, std::span<const float> logits) {
      last.assign(logits.begin(), logits.end());
    });
    const std::vector<float> expected_last = reference.floats("prompt0.last_logits");
    const double scale = gpt2ie_test::largest_of(std::span<const float>(expected_last));
    const auto logits = gpt2ie_test::difference(std::span<const float>(last), std::span<const float>(expected_last),
                                                gpt2ie_test::half_tolerance * scale, 0);
    CHECK_MESSAGE(logits.worst <= 1, "logits off by ", logits.largest);

    const std::vector<float> logprobs = score(executor, reference.tokens("passage.input_ids"));
    const std::vector<float> expected = reference.floats("passage.token_logprobs");
    CHECK(perplexity(logprobs) == doctest::Approx(perplexity(expected)).epsilon(5e-3));
  }
}

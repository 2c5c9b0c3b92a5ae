// SPDX-License-Identifier: MIT
/// GPT-2's real size on synthetic weights against the reference values.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/attention/standard_eigen.hpp>
#include <gpt2ie/backend/policies.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/synthetic.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/reference_file.hpp"
#include "support/shared_data.hpp"
#include "support/steps.hpp"
#include "support/tolerance.hpp"

namespace gpt2ie_test {
namespace {

template <class B, class Policy, class Storage>
void check_lengths(const ReferenceFile& reference, const std::vector<int>& lengths) {
  B backend(2);
  const auto weights =
      std::make_shared<const gpt2ie::Weights<B>>(backend, gpt2ie::synthetic_checkpoint(gpt2ie::gpt2_preset("124m")));
  using Executor = gpt2ie::Executor<B, Policy, Storage>;
  Executor executor(std::move(backend), weights, {.max_rows = 256, .max_logit_rows = 256});
  for (const int length : lengths) {
    const std::string name = "t" + std::to_string(length) + ".";
    Tokens tokens;
    for (int i = 0; i < length; ++i) tokens.push_back((i * 7919 + 13) % 50257);
    const std::vector<gpt2ie::Token> expected_argmax = reference.tokens(name + "argmax");
    std::vector<float> logprobs;
    Logits last;
    int equal = 0;
    gpt2ie::for_each_logits(executor, tokens, [&](int position, std::span<const float> logits) {
      const auto at = static_cast<std::size_t>(position);
      equal += argmax(logits) == expected_argmax[at];
      if (at + 1 < tokens.size()) {
        logprobs.push_back(gpt2ie::token_logprob(logits, tokens[at + 1]));
      } else {
        last.assign(logits.begin(), logits.end());
      }
    });
    const std::vector<float> expected_last = reference.floats(name + "last_logits");
    const std::vector<float> expected_logprobs = reference.floats(name + "token_logprobs");
    const Difference in_logits =
        difference(std::span<const float>(last), std::span<const float>(expected_last), 1e-3, 0);
    const Difference in_logprobs =
        difference(std::span<const float>(logprobs), std::span<const float>(expected_logprobs), logprob_tolerance, 0);
    MESSAGE(type_name<B>(), ", ", length, " tokens: logits off by ", in_logits.largest, ", log-probabilities by ",
            in_logprobs.largest);
    CHECK(in_logits.worst <= 1);
    CHECK(in_logprobs.worst <= 1);
    CHECK(equal == length);
  }

  const std::vector<gpt2ie::Token> expected = reference.tokens("t8.greedy");
  Tokens tokens(expected.begin(), expected.begin() + 8);
  gpt2ie::OpenSequence sequence(executor.book(), tokens);
  gpt2ie::Step step;
  while (tokens.size() < expected.size()) {
    gpt2ie::Token next = 0;
    gpt2ie::run_tokens(executor, sequence, tokens, 256, false, step,
                       [&](int /*position*/, std::span<const float> logits) { next = argmax(logits); });
    tokens.push_back(next);
  }
  CHECK(tokens == expected);
}

}  // namespace

TEST_CASE("124M synthetic: logits, log-probabilities and greedy tokens on SimdCpu") {
  const auto path = shared_path("reference/synthetic-gpt2-124m.expected.safetensors");
  if (!path) return;
  check_lengths<gpt2ie::backend::SimdCpu<float>, gpt2ie::attention::Flash<64, 64>, gpt2ie::kv::Paged<float, 16>>(
      ReferenceFile(*path), {8, 600, 1024});
}

TEST_CASE("124M synthetic: logits, log-probabilities and greedy tokens on EigenCpu") {
  const auto path = shared_path("reference/synthetic-gpt2-124m.expected.safetensors");
  if (!path) return;
  check_lengths<gpt2ie::backend::EigenCpu<float>, gpt2ie::attention::Standard, gpt2ie::kv::Contiguous<float>>(
      ReferenceFile(*path), {8, 600, 1024});
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// A generator of archetypes alone compiles, and generates what the shipped parts generate: the templates use nothing
/// beyond the concepts.
#include "concepts/archetypes.hpp"

#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/generator.hpp>

#include "support/random_checkpoint.hpp"

namespace {

using namespace gpt2ie;

using Minimal = Generator<archetype::Backend, Attention<archetype::Policy>, KVCache<archetype::Storage>,
                          Scheduler<archetype::Slots>, SamplerChain<type_list<archetype::Processor>>>;

}  // namespace

TEST_CASE("a generator of archetypes gives the tokens that the shipped parts give") {
  const Checkpoint checkpoint = gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(2, 5, 24));
  const GenerateOptions options{.max_new_tokens = 12, .temperature = 0};
  const std::vector<Token> prompt = {1, 50, 7, 99};
  Minimal minimal(checkpoint, archetype::Backend(1));
  Generator<> shipped(checkpoint, backend::SimdCpu<float>(1));
  const GenerateResult result = minimal.generate(prompt, options);
  CHECK(result.tokens.size() == 12);
  CHECK(result.tokens == shipped.generate(prompt, options).tokens);
  CHECK(result.finish_reason == FinishReason::length);
}

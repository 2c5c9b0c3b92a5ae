// SPDX-License-Identifier: MIT
/// One draw from 50,257 logits, in every shipped order, under options from greedy to all at once.
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <gpt2ie/sampling/policies.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>

#include "support/random_checkpoint.hpp"

namespace {

using namespace gpt2ie;

constexpr int vocab = 50257;

/// Logits as a model gives them: most far below a few.
std::vector<float> model_like_logits() {
  std::vector<float> logits = gpt2ie_test::random_floats(vocab, 1, 1);
  for (float& x : logits) x = 12 * x * x * x;
  return logits;
}

const std::vector<std::pair<std::string, GenerateOptions>>& requests() {
  static const std::vector<std::pair<std::string, GenerateOptions>> all = {
      {"greedy", {.temperature = 0, .seed = 1}},
      {"plain", {.seed = 1}},
      {"top_k=40", {.top_k = 40, .seed = 1}},
      {"top_p=0.9", {.top_p = 0.9f, .seed = 1}},
      {"min_p=0.05", {.min_p = 0.05f, .seed = 1}},
      {"typical_p=0.9", {.typical_p = 0.9f, .seed = 1}},
      {"penalties", {.repetition_penalty = 1.1f, .presence_penalty = 0.5f, .frequency_penalty = 0.5f, .seed = 1}},
      {"no_repeat_ngram_size=3", {.no_repeat_ngram_size = 3, .seed = 1}},
      {"everything",
       {.temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.9f,
        .min_p = 0.05f,
        .typical_p = 0.95f,
        .repetition_penalty = 1.1f,
        .no_repeat_ngram_size = 3,
        .presence_penalty = 0.5f,
        .frequency_penalty = 0.5f,
        .seed = 1}}};
  return all;
}

template <class Order>
void pick(benchmark::State& state, const GenerateOptions& options) {
  const std::vector<float> logits = model_like_logits();
  std::vector<Token> tokens(512);
  std::iota(tokens.begin(), tokens.end(), 1000);
  SamplerChain<Order> chain(options, vocab, {});
  const auto kept = chain.distribution(logits, tokens, 256);
  double sum = 0;
  for (const TokenProbability& token : kept) sum += token.probability;
  if (!(std::abs(sum - 1) < 1e-5)) {
    state.SkipWithError("the probabilities do not sum to 1");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(chain.pick(logits, tokens, 256));
  state.SetItemsProcessed(state.iterations());
}

const bool registered = [] {
  const char* names[] = {"hugging_face", "llama_cpp"};
  std::size_t index = 0;
  sampling::Orders::for_each([&]<class Order>() {
    const std::string order = index < 2 ? names[index] : "order " + std::to_string(index);
    for (const auto& [name, options] : requests()) {
      benchmark::RegisterBenchmark((order + "/" + name).c_str(), pick<Order>, options)->Unit(benchmark::kMicrosecond);
    }
    ++index;
  });
  return true;
}();

}  // namespace

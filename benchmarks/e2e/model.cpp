// SPDX-License-Identifier: MIT
/// The whole model, one sequence: tokens a second of prefill (a prompt of `context` tokens) and of decode (one token
/// after `context` others). Every attention policy over the default storage, and every storage under the default
/// policy, on all processors. The synthetic 124M skips kv::NoCache, which takes seconds a token.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/synthetic.hpp>
#include <gpt2ie/kv_cache/policies.hpp>
#include <gpt2ie/model/weights.hpp>

#include "support/type_name.hpp"

namespace {

using namespace gpt2ie;
using Backend = backend::SimdCpu<float>;
using SharedWeights = std::shared_ptr<const Weights<Backend>>;
using DefaultPolicy = attention::Flash<64, 64>;
using DefaultStorage = kv::Paged<float, 16>;

SharedWeights load(const Checkpoint& checkpoint) {
  Backend backend;
  return std::make_shared<const Weights<Backend>>(backend, checkpoint);
}

const SharedWeights& fairytale() {
  static const SharedWeights weights = load(load_checkpoint(GPT2IE_MODELS_DIR "/fairytale-6m"));
  return weights;
}

const SharedWeights& synthetic() {
  static const SharedWeights weights = load(synthetic_checkpoint(gpt2_preset("124m")));
  return weights;
}

/// Runs `tokens` of a sequence as far as the cache does not hold them. False: a logit is not finite.
template <class Executor, class Sequence>
bool run(Executor& executor, const Sequence& sequence, std::span<const Token> tokens, Step& step) {
  bool finite = true;
  run_tokens(executor, sequence, tokens, executor.limits().max_rows, false, step,
             [&](int /*position*/, std::span<const float> logits) { finite = std::isfinite(logits[0]); });
  return finite;
}

template <class Policy, class Storage>
void run_model(benchmark::State& state, const SharedWeights& (*weights)(), bool decode) {
  const int context = static_cast<int>(state.range(0));
  Executor<Backend, Policy, Storage> executor(
      Backend(), weights(), {.max_rows = Storage::retains ? 256 : context + 1, .max_length = context + 1});
  std::vector<Token> tokens;
  for (int i = 0; i <= context; ++i) tokens.push_back((i * 7919 + 13) % executor.config().vocab);
  const OpenSequence sequence(executor.book(), tokens);
  const auto prompt = std::span<const Token>(tokens).first(static_cast<std::size_t>(context));
  const auto wanted = decode ? std::span<const Token>(tokens) : prompt;

  Step step;
  bool finite = run(executor, sequence, prompt, step);
  for (auto _ : state) {
    executor.book().truncate(sequence.id(), decode ? context : 0);
    finite = run(executor, sequence, wanted, step) && finite;
  }
  if (!finite) state.SkipWithError("logits are not finite");
  state.SetItemsProcessed(state.iterations() * (decode ? 1 : context));
}

template <class Policy, class Storage>
void add(const std::string& model, const SharedWeights& (*weights)()) {
  const std::string pair = gpt2ie_test::type_name<Policy>() + "/" + gpt2ie_test::type_name<Storage>();
  for (const bool decode : {false, true}) {
    benchmark::RegisterBenchmark((model + (decode ? "/decode/" : "/prefill/") + pair).c_str(),
                                 run_model<Policy, Storage>, weights, decode)
        ->Arg(5)
        ->Arg(512)
        ->ArgName("context")
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

const bool registered = [] {
  attentions::for_each([]<class Policy>() {
    add<Policy, DefaultStorage>("fairytale-6m", fairytale);
    add<Policy, DefaultStorage>("124m", synthetic);
  });
  storages::for_each([]<class Storage>() {
    if constexpr (Reads<DefaultPolicy, typename Storage::element> && !std::is_same_v<Storage, DefaultStorage>) {
      add<DefaultPolicy, Storage>("fairytale-6m", fairytale);
      if constexpr (Storage::retains) add<DefaultPolicy, Storage>("124m", synthetic);
    }
  });
  return true;
}();

}  // namespace

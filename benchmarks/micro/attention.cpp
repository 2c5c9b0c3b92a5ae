// SPDX-License-Identifier: MIT
/// Every attention policy over every storage: one decoded token, and a whole prompt, at contexts of 64 to 1,024 tokens.
/// One layer of GPT-2 124M (12 heads of 64), one thread. Bytes are those of the keys and values that the rows read.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

#include "counters.hpp"
#include "support/random_checkpoint.hpp"
#include "support/type_name.hpp"

namespace {

using namespace gpt2ie;
using Backend = backend::SimdCpu<float>;

ModelConfig one_layer() {
  ModelConfig config;
  config.n_layer = 1;
  return config;
}

/// One sequence of `context` tokens, of which the last `rows` are the step's. Stored through the storage's own view.
template <class Policy, class Storage>
class Problem {
 public:
  using Element = typename Storage::element;

  Problem(int context, int rows)
      : rows_(rows),
        context_(context),
        run_first_(context - rows),
        book_(limits()),
        pool_(backend_, config_, limits()) {
    const auto embd = static_cast<std::size_t>(config_.n_embd);
    k_ = gpt2ie_test::random_floats(static_cast<std::size_t>(context) * embd, 1, 1);
    v_ = gpt2ie_test::random_floats(static_cast<std::size_t>(context) * embd, 1, 2);
    q_ = gpt2ie_test::random_floats(static_cast<std::size_t>(rows) * embd, 3, 3);
    out_.resize(q_.size());
    scratch_.resize(Policy::scratch_floats(config_, limits()));
    seq_ = book_.open({}, 0)->seq;
    if (run_first_ > 0) store(0, run_first_);
    store(run_first_, rows);
  }

  void run() { attention_kernel<Policy, Backend>::run(backend_, *view_, arguments(), context_); }

  /// The largest difference of the last row's first head from attention in double.
  double error() {
    run();
    const auto head_dim = static_cast<std::size_t>(config_.head_dim()), embd = static_cast<std::size_t>(config_.n_embd);
    const float* q = q_.data() + static_cast<std::size_t>(rows_ - 1) * embd;
    std::vector<double> sums(head_dim);
    double total = 0, worst = 0;
    for (std::size_t j = 0; j < static_cast<std::size_t>(context_); ++j) {
      double score = 0;
      for (std::size_t d = 0; d < head_dim; ++d)
        score += static_cast<double>(q[d]) * static_cast<double>(k_[j * embd + d]);
      const double weight = std::exp(score * static_cast<double>(config_.attention_scale(0)));
      total += weight;
      for (std::size_t d = 0; d < head_dim; ++d) sums[d] += weight * static_cast<double>(v_[j * embd + d]);
    }
    for (std::size_t d = 0; d < head_dim; ++d) {
      const double found = static_cast<double>(out_[static_cast<std::size_t>(rows_ - 1) * embd + d]);
      worst = std::max(worst, std::abs(found - sums[d] / total));
    }
    return worst;
  }

  [[nodiscard]] std::int64_t bytes() const {
    return std::int64_t{2} * context_ * config_.n_embd * static_cast<std::int64_t>(sizeof(Element));
  }
  [[nodiscard]] double operations() const {
    const double keys = 0.5 * rows_ * (run_first_ + 1 + context_);
    return 4.0 * keys * config_.n_embd;
  }

 private:
  using View = decltype(std::declval<typename Storage::template pool<Backend>&>().stage(
      std::declval<Backend&>(), std::declval<const typename Storage::book&>(), std::declval<const Step&>(),
      std::declval<StepView>()));

  [[nodiscard]] Limits limits() const { return {.max_sequences = 1, .max_rows = context_, .max_length = context_}; }

  void store(int first, int count) {
    Step step;
    step.runs = {{.seq = seq_, .first = first, .count = count, .row = 0}};
    positions_.clear();
    for (int i = 0; i < count; ++i) positions_.push_back(first + i);
    step.positions = positions_;
    step.tokens.assign(positions_.size(), 0);
    row_run_.assign(positions_.size(), 0);
    stored_ = first + count;
    book_.reserve(step.runs);
    view_.emplace(pool_.stage(backend_, book_, step,
                              {.token = nullptr,
                               .position = positions_.data(),
                               .row_run = row_run_.data(),
                               .run_row = &run_row_,
                               .run_first = &run_first_,
                               .run_context = &stored_,
                               .rows = count,
                               .runs = 1}));
    book_.settle();
    for (int row = 0; row < count; ++row) {
      const auto place = view_->place(0, row);
      const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(first + row) * config_.n_embd;
      for (int e = 0; e < config_.n_embd; ++e) {
        const std::ptrdiff_t to = e / config_.head_dim() * place.head_stride + e % config_.head_dim();
        place.k[to] = from_float<Element>(k_[static_cast<std::size_t>(from + e)]);
        place.v[to] = from_float<Element>(v_[static_cast<std::size_t>(from + e)]);
      }
    }
    book_.commit(step.runs, step.tokens);
  }

  [[nodiscard]] AttentionArgs arguments() {
    return {.layer = 0,
            .n_head = config_.n_head,
            .head_dim = config_.head_dim(),
            .n_positions = context_,
            .scale = config_.attention_scale(0),
            .q = q_.data(),
            .q_stride = config_.n_embd,
            .out = out_.data(),
            .out_stride = config_.n_embd,
            .scratch = scratch_.data()};
  }

  ModelConfig config_ = one_layer();
  int rows_, context_, run_row_ = 0, run_first_, stored_ = 0;
  Backend backend_{1};
  typename Storage::book book_;
  typename Storage::template pool<Backend> pool_;
  SeqId seq_ = SeqId::none;
  std::optional<View> view_;
  std::vector<int> positions_, row_run_;
  std::vector<float> k_, v_, q_, out_, scratch_;
};

template <class Policy, class Storage>
void attend(benchmark::State& state, bool decode) {
  const int context = static_cast<int>(state.range(0));
  Problem<Policy, Storage> problem(context, decode ? 1 : context);
  if (problem.error() > (sizeof(typename Storage::element) == sizeof(float) ? 1e-5 : 2e-2)) {
    state.SkipWithError("the result is wrong");
    return;
  }
  for (auto _ : state) problem.run();
  gpt2ie_benchmark::count_work(state, problem.bytes(), problem.operations());
}

const bool registered = [] {
  attentions::for_each([]<class Policy>() {
    storages::for_each([]<class Storage>() {
      if constexpr (Reads<Policy, typename Storage::element>) {
        const std::string pair = gpt2ie_test::type_name<Policy>() + "/" + gpt2ie_test::type_name<Storage>();
        for (const bool decode : {true, false}) {
          if (decode && !Storage::retains) continue;  // it has no past
          benchmark::RegisterBenchmark(((decode ? "decode/" : "prefill/") + pair).c_str(), attend<Policy, Storage>,
                                       decode)
              ->RangeMultiplier(4)
              ->Range(64, 1024)
              ->ArgName("context")
              ->Unit(benchmark::kMicrosecond);
        }
      }
    });
  });
  return true;
}();

}  // namespace

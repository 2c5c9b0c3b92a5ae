// SPDX-License-Identifier: MIT
/// GPT-2 over a ragged batch: one pass for any mixture of prompts, chunks, decoded tokens and drafts.
///
/// Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.3; the arithmetic is that of
/// Hugging Face's GPT2LMHeadModel. Legend: E = n_embd, I = n_inner; rows and logit rows are those of the step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/quantize.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

/// Writes row r's K and V, columns [E, 3E) of qkv, to their place in the cache.
template <class View>
struct StoreKernel {
  View view;
  const float* qkv;  // [rows, 3E]
  int layer, n_head, head_dim;

  GPT2IE_HD void operator()(int row) const {
    using Element = typename View::element;
    const int n_embd = n_head * head_dim;
    const Place<Element> place = view.place(layer, row);
    const float* k = qkv + (static_cast<std::ptrdiff_t>(row) * 3 + 1) * n_embd;
    const float* v = k + n_embd;
    for (int head = 0; head < n_head; ++head) {
      store(k + head * head_dim, head, place.head_stride, place.k, place.k_scale);
      store(v + head * head_dim, head, place.head_stride, place.v, place.v_scale);
    }
  }

 private:
  template <class T>
  GPT2IE_HD void store(const float* x, int head, std::ptrdiff_t head_stride, T* to, float* scales) const {
    const std::ptrdiff_t at = head * head_stride;
    to += at;
    if constexpr (PlainElement<T>) {
      for (int d = 0; d < head_dim; ++d) to[d] = from_float<T>(x[d]);
    } else {
      scales[at / head_dim] = quantize(x, head_dim, to);
    }
  }
};

/// to[i] = from[rows[i]], E floats each.
struct SelectRowsKernel {
  const float* from;
  const int* rows;
  int n_embd;
  float* to;

  GPT2IE_HD void operator()(int i) const {
    for (int c = 0; c < n_embd; ++c) {
      to[static_cast<std::ptrdiff_t>(i) * n_embd + c] = from[static_cast<std::ptrdiff_t>(rows[i]) * n_embd + c];
    }
  }
};

}  // namespace detail

/// The model: shared weights, and activations for steps within the limits. A step allocates nothing. One thread at a
/// time; the backend object is the same at every call.
template <Backend B, AttentionPolicy Policy>
class Gpt2 {
 public:
  /// limits: complete (no zeros).
  Gpt2(B& backend, std::shared_ptr<const Weights<B>> weights, const Limits& limits)
      : weights_(std::move(weights)), limits_(limits) {
    const ModelConfig& c = config();
    const auto rows = static_cast<std::size_t>(limits.max_rows), embd = static_cast<std::size_t>(c.n_embd);
    const auto inner = static_cast<std::size_t>(c.n_inner),
               logit_rows = static_cast<std::size_t>(limits.max_logit_rows);
    residual_ = backend.template allocate<float>(rows * embd);
    next_residual_ = backend.template allocate<float>(rows * embd);
    normed_ = backend.template allocate<float>(rows * embd);
    qkv_ = backend.template allocate<float>(rows * embd * 3);
    attended_ = backend.template allocate<float>(rows * embd);
    middle_ = backend.template allocate<float>(rows * inner);
    scratch_ = backend.template allocate<float>(Policy::scratch_floats(c, limits));
    selected_ = backend.template allocate<float>(logit_rows * embd);
    logits_ = backend.template allocate<float>(logit_rows * static_cast<std::size_t>(c.vocab));
    tokens_ = backend.template allocate<Token>(rows);
    positions_ = backend.template allocate<int>(rows);
    row_run_ = backend.template allocate<int>(rows);
    logit_rows_ = backend.template allocate<int>(logit_rows);
    const auto runs = static_cast<std::size_t>(limits.max_sequences);
    run_tables_ = backend.template allocate<int>(runs * 3);
    backend.reserve(std::max(limits.max_rows, limits.max_logit_rows), std::max(c.n_embd, c.n_inner));
    host_row_run_.reserve(rows);
    host_run_tables_.resize(runs * 3);
  }

  [[nodiscard]] const ModelConfig& config() const { return weights_->config(); }
  [[nodiscard]] const Weights<B>& weights() const { return *weights_; }

  /// Throws Error (bad_request, no_fit) unless the step is within the limits, its runs are its rows one after the
  /// other, and its tokens and positions are the model's: nothing outside the tables can be read.
  void check(const Step& step) const {
    const ModelConfig& c = config();
    at_most(step.rows(), limits_.max_rows, "rows");
    at_most(static_cast<int>(step.runs.size()), limits_.max_sequences, "runs");
    at_most(static_cast<int>(step.logit_rows.size()), limits_.max_logit_rows, "rows of logits");
    if (step.positions.size() != step.tokens.size()) {
      fail(errc::bad_request, "a position for each of " + std::to_string(step.rows()) + " tokens",
           std::to_string(step.positions.size()));
    }
    for (const Token token : step.tokens) {
      if (token < 0 || token >= c.vocab) {
        fail(errc::bad_request, "token ids in [0, " + std::to_string(c.vocab) + ")", std::to_string(token));
      }
    }
    if (step.layer_begin < 0 || step.layer_begin > c.n_layer || step.layer_end < -1 || step.layer_end > c.n_layer) {
      fail(errc::bad_request, "layers in [0, " + std::to_string(c.n_layer) + "]",
           "layers from " + std::to_string(step.layer_begin) + " to " + std::to_string(step.layer_end));
    }
    int row = 0;
    for (const Run& run : step.runs) {
      if (run.row != row || run.first < 0 || run.count < 1 || run.count > step.rows() - row) {
        fail(errc::bad_request, "runs of one row or more, each from where the one before it ends",
             std::to_string(run.count) + " rows from row " + std::to_string(run.row) + " on, of " +
                 std::to_string(step.rows()) + ", where row " + std::to_string(row) + " is next");
      }
      if (run.count > c.n_positions - run.first) {
        fail(errc::no_fit, "positions below n_positions = " + std::to_string(c.n_positions),
             "position " + std::to_string(std::int64_t{run.first} + run.count - 1));
      }
      if (run.adapter != AdapterId::none) {
        fail(errc::bad_request, "runs without an adapter", "adapter " + std::to_string(static_cast<int>(run.adapter)));
      }
      for (int position = run.first; position < run.first + run.count; ++position, ++row) {
        if (step.positions[static_cast<std::size_t>(row)] != position) {
          fail(errc::bad_request, "position " + std::to_string(position) + " in row " + std::to_string(row),
               std::to_string(step.positions[static_cast<std::size_t>(row)]));
        }
      }
    }
    if (row != step.rows()) {
      fail(errc::bad_request, "a run for each of " + std::to_string(step.rows()) + " rows", std::to_string(row));
    }
    for (const int logit_row : step.logit_rows) {
      if (logit_row < 0 || logit_row >= row) {
        fail(errc::bad_request, "rows of logits in [0, " + std::to_string(row) + ")", std::to_string(logit_row));
      }
    }
  }

  /// Puts the step's tables into the backend's memory.
  StepView stage(B& backend, const Step& step) {
    host_row_run_.clear();
    const int runs = static_cast<int>(step.runs.size());
    for (int i = 0; i < runs; ++i) {
      const Run& run = step.runs[static_cast<std::size_t>(i)];
      host_row_run_.insert(host_row_run_.end(), static_cast<std::size_t>(run.count), i);
      table(0, i) = run.row;
      table(1, i) = run.first;
      table(2, i) = run.first + run.count;
    }
    backend.upload(tokens_.data(), step.tokens.data(), step.tokens.size());
    backend.upload(positions_.data(), step.positions.data(), step.positions.size());
    backend.upload(row_run_.data(), host_row_run_.data(), host_row_run_.size());
    backend.upload(run_tables_.data(), host_run_tables_.data(), host_run_tables_.size());
    backend.upload(logit_rows_.data(), step.logit_rows.data(), step.logit_rows.size());
    const std::size_t stride = static_cast<std::size_t>(limits_.max_sequences);
    return {.token = tokens_.data(),
            .position = positions_.data(),
            .row_run = row_run_.data(),
            .run_row = run_tables_.data(),
            .run_first = run_tables_.data() + stride,
            .run_context = run_tables_.data() + 2 * stride,
            .rows = step.rows(),
            .runs = runs};
  }

  /// Runs the step's layers over a staged view. Cost: 2 * rows * (12 E^2 for GPT-2's usual shape) a layer, 2 * E *
  /// vocab a logit row, and attention.
  template <CacheView View>
  void forward(B& backend, const View& view, const Step& step) {
    const int rows = step.rows(), embd = config().n_embd;
    if (step.layer_begin == 0) {
      backend.embed(weights_->wte(), weights_->wpe(), view.step.token, view.step.position, rows, residual_.data());
    }
    int longest_context = 0;
    for (const Run& run : step.runs) longest_context = std::max(longest_context, run.first + run.count);
    const int layer_end = step.layer_end < 0 ? config().n_layer : step.layer_end;
    for (int layer = step.layer_begin; layer < layer_end; ++layer) {
      attend(backend, view, layer, longest_context);
      mlp(backend, weights_->layer(layer), rows);
    }
    const int logit_rows = static_cast<int>(step.logit_rows.size());
    if (logit_rows == 0) return;
    // Select, norm, project: rows without logits cost nothing here.
    backend.launch(logit_rows, static_cast<std::size_t>(embd),
                   detail::SelectRowsKernel{residual_.data(), logit_rows_.data(), embd, selected_.data()});
    backend.layer_norm(selected_.data(), logit_rows, embd, weights_->ln_f().weight.data(), weights_->ln_f().bias.data(),
                       config().layer_norm_epsilon, normed_.data());
    backend.linear(weights_->head(), normed_.data(), logit_rows, logits_.data(), {});
  }

  /// Of the last step, in the backend's memory: logits [logit rows, vocab]; the hidden states [rows, E] after its last
  /// layer; and ln_f of the logit rows [logit rows, E].
  [[nodiscard]] const float* logits() const { return logits_.data(); }
  [[nodiscard]] const float* hidden() const { return residual_.data(); }
  [[nodiscard]] const float* normed() const { return normed_.data(); }

 private:
  /// Texts are made for a failure alone: a step within the limits allocates nothing.
  static void at_most(int found, int limit, const char* what) {
    if (found <= limit) return;
    fail(errc::bad_request, "at most " + std::to_string(limit) + " " + what + " in a step", std::to_string(found));
  }

  int& table(int which, int run) {
    return host_run_tables_[static_cast<std::size_t>(which * limits_.max_sequences + run)];
  }

  void norm(B& backend, const NormWeights<B>& ln, int rows) {
    backend.layer_norm(residual_.data(), rows, config().n_embd, ln.weight.data(), ln.bias.data(),
                       config().layer_norm_epsilon, normed_.data());
  }

  /// residual += projection of x.
  void add_projection(B& backend, const LinearWeights<B>& w, const float* x, int rows) {
    Epilogue epilogue;
    if (backend.leads()) {
      epilogue.bias = w.bias.data();
      epilogue.residual = residual_.data();
    }
    backend.linear(w.matrix, x, rows, next_residual_.data(), epilogue);
    backend.all_reduce(next_residual_.data(),
                       static_cast<std::size_t>(rows) * static_cast<std::size_t>(config().n_embd));
    std::swap(residual_, next_residual_);
  }

  template <CacheView View>
  void attend(B& backend, const View& view, int layer, int longest_context) {
    const ModelConfig& c = config();
    const LayerWeights<B>& w = weights_->layer(layer);
    const int rows = view.step.rows;
    norm(backend, w.ln_1, rows);
    backend.linear(w.c_attn.matrix, normed_.data(), rows, qkv_.data(), {.bias = w.c_attn.bias.data()});
    // Every row's K and V are in the cache before any row attends: a chunk reads itself back.
    backend.launch(rows, static_cast<std::size_t>(c.n_embd) * 4,
                   detail::StoreKernel<View>{view, qkv_.data(), layer, c.n_head, c.head_dim()});
    const AttentionArgs args{.layer = layer,
                             .n_head = c.n_head,
                             .head_dim = c.head_dim(),
                             .n_positions = limits_.max_length,
                             .scale = c.attention_scale(layer),
                             .q = qkv_.data(),
                             .q_stride = static_cast<std::ptrdiff_t>(3) * c.n_embd,
                             .out = attended_.data(),
                             .out_stride = c.n_embd,
                             .scratch = scratch_.data()};
    attention_kernel<Policy, B>::run(backend, view, args, longest_context);
    add_projection(backend, w.c_proj, attended_.data(), rows);
  }

  void mlp(B& backend, const LayerWeights<B>& w, int rows) {
    norm(backend, w.ln_2, rows);
    backend.linear(w.mlp_fc.matrix, normed_.data(), rows, middle_.data(),
                   {.bias = w.mlp_fc.bias.data(), .activation = config().activation});
    add_projection(backend, w.mlp_proj, middle_.data(), rows);
  }

  std::shared_ptr<const Weights<B>> weights_;
  Limits limits_;
  buffer_of<B, float> residual_, next_residual_, normed_, qkv_, attended_, middle_, scratch_, selected_, logits_;
  buffer_of<B, Token> tokens_;
  buffer_of<B, int> positions_, row_run_, logit_rows_, run_tables_;
  std::vector<int> host_row_run_, host_run_tables_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

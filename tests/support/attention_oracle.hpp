// SPDX-License-Identifier: MIT
/// Attention over a ragged step in float64, straight from its definition, and the same problem put to a policy, a
/// storage and a backend.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>

#include "support/random_checkpoint.hpp"
#include "support/stored_heads.hpp"

namespace gpt2ie_test {

/// Runs of one step. Legend: E = n_head * head_dim; run i has `context` = first + count positions.
struct AttentionProblem {
  struct Run {
    int first, count;
    std::vector<float> k, v;  ///< [context, E]

    [[nodiscard]] int context() const { return first + count; }
  };

  int n_head = 1, head_dim = 1;
  float scale = 1;
  std::vector<Run> runs = {};
  std::vector<float> q = {};  ///< [rows, E], runs in order

  [[nodiscard]] int embd() const { return n_head * head_dim; }
  [[nodiscard]] int rows() const {
    int rows = 0;
    for (const Run& run : runs) rows += run.count;
    return rows;
  }
};

/// Queries and keys whose scores spread over a few units, values in [-1, 1).
inline AttentionProblem random_attention(int n_head, int head_dim, std::vector<std::pair<int, int>> runs,
                                         std::uint64_t seed) {
  AttentionProblem problem{.n_head = n_head, .head_dim = head_dim};
  problem.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (const auto& [first, count] : runs) {
    const auto size = static_cast<std::size_t>(first + count) * static_cast<std::size_t>(problem.embd());
    problem.runs.push_back(
        {first, count, random_floats(size, 1, seed * 100 + 1), random_floats(size, 1, seed * 100 + 2)});
    ++seed;
  }
  problem.q = random_floats(static_cast<std::size_t>(problem.rows() * problem.embd()), 6, seed * 100);
  return problem;
}

/// The problem with K and V as a cache of element T keeps them.
template <class T>
AttentionProblem as_stored(AttentionProblem problem) {
  for (AttentionProblem::Run& run : problem.runs) {
    run.k = as_stored<T>(std::move(run.k), problem.head_dim);
    run.v = as_stored<T>(std::move(run.v), problem.head_dim);
  }
  return problem;
}

/// softmax(scale * q Kᵀ) V under the causal mask, [rows, E].
inline std::vector<double> attention_oracle(const AttentionProblem& problem) {
  const auto embd = static_cast<std::size_t>(problem.embd()), head_dim = static_cast<std::size_t>(problem.head_dim);
  std::vector<double> out(problem.q.size(), 0.0);
  std::size_t row = 0;
  for (const AttentionProblem::Run& run : problem.runs) {
    for (int r = 0; r < run.count; ++r, ++row) {
      const auto keys = static_cast<std::size_t>(run.first + r + 1);
      for (std::size_t at = 0; at < embd; at += head_dim) {
        std::vector<double> weight(keys);
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < head_dim; ++d) {
            score +=
                static_cast<double>(problem.q[row * embd + at + d]) * static_cast<double>(run.k[j * embd + at + d]);
          }
          weight[j] = score * static_cast<double>(problem.scale);
          largest = std::max(largest, weight[j]);
        }
        for (double& w : weight) sum += w = std::exp(w - largest);
        for (std::size_t j = 0; j < keys; ++j) {
          for (std::size_t d = 0; d < head_dim; ++d) {
            out[row * embd + at + d] += weight[j] / sum * static_cast<double>(run.v[j * embd + at + d]);
          }
        }
      }
    }
  }
  return out;
}

/// The problem solved by a policy over a storage on a backend, [rows, E]. What precedes a run is stored by a step of
/// its own, in the second of two layers.
template <class B, class Policy, class Storage>
std::vector<float> solve_attention(const AttentionProblem& problem, int threads) {
  constexpr int layer = 1;
  gpt2ie::ModelConfig config;
  config.n_layer = 2;
  config.n_head = problem.n_head;
  config.n_embd = problem.embd();
  config.n_positions = 1;
  for (const AttentionProblem::Run& run : problem.runs) {
    config.n_positions = std::max(config.n_positions, run.context());
  }
  gpt2ie::Limits limits{.max_sequences = static_cast<int>(problem.runs.size()), .max_length = config.n_positions};
  limits.max_rows = std::max(problem.rows(), config.n_positions * limits.max_sequences);

  B backend(threads);
  typename Storage::book book(limits);
  typename Storage::template pool<B> pool(backend, config, limits);
  auto scratch = backend.template allocate<float>(Policy::scratch_floats(config, limits));
  std::vector<float> out(problem.q.size());

  std::vector<gpt2ie::Run> runs;
  for (std::size_t i = 0; i < problem.runs.size(); ++i) {
    const auto opened = book.open({}, 0);
    REQUIRE(opened.has_value());
    runs.push_back({.seq = opened->seq});
  }
  for (const bool attend : {false, true}) {
    gpt2ie::Step step;
    std::vector<int> row_run, run_row, run_first, run_context;
    int longest = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].first = attend ? problem.runs[i].first : 0;
      runs[i].count = attend ? problem.runs[i].count : problem.runs[i].first;
      runs[i].row = step.rows();
      if (runs[i].count == 0) continue;
      for (int r = 0; r < runs[i].count; ++r) {
        step.tokens.push_back(0);
        step.positions.push_back(runs[i].first + r);
        row_run.push_back(static_cast<int>(step.runs.size()));
      }
      step.runs.push_back(runs[i]);
      run_row.push_back(runs[i].row);
      run_first.push_back(runs[i].first);
      run_context.push_back(problem.runs[i].context() - (attend ? 0 : problem.runs[i].count));
      longest = std::max(longest, run_context.back());
    }
    if (step.runs.empty()) continue;
    REQUIRE(book.reserve(step.runs));
    const auto view = pool.stage(backend, book, step,
                                 {.token = step.tokens.data(),
                                  .position = step.positions.data(),
                                  .row_run = row_run.data(),
                                  .run_row = run_row.data(),
                                  .run_first = run_first.data(),
                                  .run_context = run_context.data(),
                                  .rows = step.rows(),
                                  .runs = static_cast<int>(step.runs.size())});
    book.settle();
    int row = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (int r = 0; r < runs[i].count; ++r, ++row) {
        const auto from = static_cast<std::ptrdiff_t>(runs[i].first + r) * problem.embd();
        store_row(problem.runs[i].k.data() + from, problem.runs[i].v.data() + from, problem.n_head, problem.head_dim,
                  view.place(layer, row));
      }
    }
    if (attend) {
      const gpt2ie::AttentionArgs args{.layer = layer,
                                       .n_head = problem.n_head,
                                       .head_dim = problem.head_dim,
                                       .n_positions = limits.max_length,
                                       .scale = problem.scale,
                                       .q = problem.q.data(),
                                       .q_stride = problem.embd(),
                                       .out = out.data(),
                                       .out_stride = problem.embd(),
                                       .scratch = scratch.data()};
      gpt2ie::attention_kernel<Policy, B>::run(backend, view, args, longest);
      backend.wait();
    }
    book.commit(step.runs, step.tokens);
  }
  return out;
}

}  // namespace gpt2ie_test

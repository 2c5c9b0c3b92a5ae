// SPDX-License-Identifier: MIT
/// Plans and runs steps for tests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/step.hpp>

#include "support/any_executor.hpp"

namespace gpt2ie_test {

using Tokens = std::vector<gpt2ie::Token>;
using Logits = std::vector<float>;

/// The next tokens of one sequence.
struct Part {
  gpt2ie::SeqId seq;
  std::span<const gpt2ie::Token> tokens;
};

/// One run for each part, each from where its sequence ends; logits for every row.
inline gpt2ie::Step plan(const AnyExecutor& executor, const std::vector<Part>& parts) {
  gpt2ie::Step step;
  for (const Part& part : parts) {
    const int first = executor.length(part.seq), count = static_cast<int>(part.tokens.size());
    step.runs.push_back({.seq = part.seq, .first = first, .count = count, .row = step.rows()});
    for (int i = 0; i < count; ++i) {
      step.logit_rows.push_back(step.rows());
      step.tokens.push_back(part.tokens[static_cast<std::size_t>(i)]);
      step.positions.push_back(first + i);
    }
  }
  return step;
}

/// Reserves, runs and commits one step. Returns logits [rows, vocab], row after row in the order of the parts.
inline Logits advance(AnyExecutor& executor, const std::vector<Part>& parts) {
  const gpt2ie::Step step = plan(executor, parts);
  REQUIRE(executor.reserve(step));
  const std::span<const float> logits = executor.run(step);
  executor.commit(step);
  return {logits.begin(), logits.end()};
}

/// The same for one sequence.
inline Logits advance(AnyExecutor& executor, gpt2ie::SeqId seq, std::span<const gpt2ie::Token> tokens) {
  return advance(executor, std::vector<Part>{{seq, tokens}});
}

inline gpt2ie::SeqId open(AnyExecutor& executor) {
  const auto seq = executor.open();
  REQUIRE(seq.has_value());
  return *seq;
}

inline gpt2ie::SeqId fork(AnyExecutor& executor, gpt2ie::SeqId parent) {
  const auto seq = executor.fork(parent);
  REQUIRE(seq.has_value());
  return *seq;
}

/// Rows [first, first + count) of logits [rows, vocab].
inline std::span<const float> rows(std::span<const float> logits, std::size_t first, std::size_t count,
                                   std::size_t vocab) {
  REQUIRE((first + count) * vocab <= logits.size());
  return logits.subspan(first * vocab, count * vocab);
}

/// Limits for `sequences` sequences and steps of `rows` rows, all of which may get logits.
inline gpt2ie::Limits limits_for(int sequences, int rows) {
  return {.max_sequences = sequences, .max_rows = rows, .max_logit_rows = rows};
}

/// `count` tokens of a vocabulary, another row of them for another `salt`.
inline Tokens make_tokens(int count, int vocab, int salt = 0) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 7919 + 13 + salt * 104729 + i * i * salt) % vocab);
  return tokens;
}

/// The index of the largest value; the lowest of equal ones.
inline gpt2ie::Token argmax(std::span<const float> row) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) best = row[i] > row[best] ? i : best;
  return static_cast<gpt2ie::Token>(best);
}

/// The prompt and `count` greedy tokens after it. A cache that does not retain computes everything anew each time.
inline Tokens greedy(AnyExecutor& executor, Tokens tokens, int count) {
  const gpt2ie::SeqId seq = open(executor);
  gpt2ie::Step step;
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<std::size_t>(executor.length(seq));
    step = plan(executor, {{seq, std::span(tokens).subspan(first)}});
    step.logit_rows = {step.rows() - 1};
    REQUIRE(executor.reserve(step));
    const gpt2ie::Token next = argmax(executor.run(step));
    executor.commit(step);
    tokens.push_back(next);
  }
  executor.close(seq);
  return tokens;
}

}  // namespace gpt2ie_test

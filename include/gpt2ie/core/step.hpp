// SPDX-License-Identifier: MIT
/// The unit of work of the model: a ragged batch of runs, and the limits that it stays within.
///
/// Shapes: a step has `rows` rows; row r is one token at one position of one sequence.
#pragma once

#include <cstdint>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A sequence that a cache book has opened. Ids are reused after close.
enum class SeqId : std::int32_t { none = -1 };

/// Which low-rank adapter a run goes through; `none` is the plain model.
enum class AdapterId : std::int32_t { none = -1 };

/// Positions [first, first + count) of one sequence are rows [row, row + count) of the step. A run is a whole prompt, a
/// chunk of one, one decoded token, drafts to verify or a text to score: the model never asks which.
struct Run {
  SeqId seq = SeqId::none;
  int first = 0, count = 0, row = 0;
  AdapterId adapter = AdapterId::none;
};

/// One pass of the model over any mixture of runs.
struct Step {
  std::vector<Token> tokens;    ///< [rows]
  std::vector<int> positions;   ///< [rows]
  std::vector<Run> runs;        ///< in order of their rows, each sequence at most once
  std::vector<int> logit_rows;  ///< rows that get logits, ascending
  int layer_begin = 0;          ///< 0: start from the embeddings; else go on from the hidden state of the previous step
  int layer_end = -1;           ///< one past the last layer that runs; -1: all

  [[nodiscard]] int rows() const { return static_cast<int>(tokens.size()); }
  [[nodiscard]] bool empty() const { return runs.empty(); }

  /// Empties the step and keeps its memory.
  void clear() {
    tokens.clear();
    positions.clear();
    runs.clear();
    logit_rows.clear();
    layer_begin = 0;
    layer_end = -1;
  }
};

/// A step in the memory of a backend, by value: what kernels get. The addresses stay the same for the executor's life,
/// so that a recorded graph may keep them.
struct StepView {
  const Token* token;      ///< [rows]
  const int* position;     ///< [rows]
  const int* row_run;      ///< [rows]: the run of a row
  const int* run_row;      ///< [runs]: the first row of a run
  const int* run_first;    ///< [runs]: the position of that row
  const int* run_context;  ///< [runs]: first + count, the keys that the run's last row attends to
  int rows, runs;
};

/// What is allocated once, before the first step. A step within the limits allocates nothing (kv::Concat excepted).
struct Limits {
  int max_sequences = 1;    ///< sequences open at once
  int max_rows = 256;       ///< rows of one step
  int max_logit_rows = 1;   ///< rows of one step that get logits
  int cache_units = 0;      ///< units of the cache book: slots, or pages; 0: enough for max_sequences of n_positions
  int max_length = 0;       ///< tokens of one sequence; 0: n_positions
  int tokens_per_step = 0;  ///< what a scheduler may put in one step; 0: max_rows

  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// What goes into a scheduler and what comes out: sequences to run, and the plan of one step.
#pragma once

#include <cstdint>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A sequence that a scheduler knows; never given twice by one scheduler.
enum class SequenceId : std::uint64_t { none = 0 };

/// A sequence to run: a prompt and room for an answer.
struct SequenceSpec {
  std::vector<Token> prompt;             ///< one token or more
  int max_new_tokens = 0;                ///< the answer ends earlier if the context is full
  int priority = 0;                      ///< higher goes first; among equals, who came first
  std::uint64_t salt = 0;                ///< sequences of different salts share no pages
  bool prompt_logits = false;            ///< logits for all rows of the prompt, to score it
  SequenceId leader = SequenceId::none;  ///< has the same prompt; its pages are forked if both start together
};

/// A sequence's part in a step. Its rows of logits are [first_logit, first_logit + logits) of the step's, for positions
/// from logit_position on.
struct Planned {
  SequenceId sequence;
  int slot;      ///< which of the slots it holds
  int run;       ///< index into the step's runs
  bool prefill;  ///< rows of the prompt, or of what a preempted sequence computes again
  bool draws;    ///< the last row of logits is for its next token
  int first_logit, logits, logit_position;
};

/// One step, with room reserved for it in the book.
struct Plan {
  Step step;
  std::vector<Planned> sequences;  ///< one for each run, in the same order

  [[nodiscard]] bool empty() const { return sequences.empty(); }
  void clear() {
    step.clear();
    sequences.clear();
  }
};

/// After a step: this sequence's next token is to be drawn from this row of the step's logits.
struct PendingDraw {
  SequenceId sequence;
  int logit_row;
};

/// What a scheduler has done so far, in tokens unless said.
struct SchedulerCounters {
  std::uint64_t steps = 0;           ///< committed
  std::uint64_t prefilled = 0;       ///< rows of prompts and of recomputation
  std::uint64_t decoded = 0;         ///< rows of one drawn token each
  std::uint64_t preemptions = 0;     ///< sequences that had to give way
  std::uint64_t prefix_queries = 0;  ///< looked up in the cache when sequences started
  std::uint64_t prefix_hits = 0;     ///< found there
  std::uint64_t forks = 0;           ///< sequences that took a leader's pages over
};

}  // namespace gpt2ie::inline GPT2IE_ABI

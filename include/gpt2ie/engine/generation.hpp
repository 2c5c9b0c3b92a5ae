// SPDX-License-Identifier: MIT
/// One request over an executor of its own: prompt, tokens drawn one at a time, and text that is ready to be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/engine/answer.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/prompt.hpp>
#include <gpt2ie/engine/result.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Runs one request over an executor. While it lives it holds one sequence of the cache; destroying it, at any point
/// and for any reason, gives everything back. One thread at a time; the executor and the tokenizer outlive it.
template <class Executor, class Order>
class Generation {
 public:
  /// tokenizer: null for a request in tokens alone; then there is no text and stop strings are refused.
  /// Errors: bad_request for options out of range or an empty prompt, no_fit for a prompt that is longer than the
  /// context, busy when no sequence is free. Nothing is held then.
  Generation(Executor& executor, const Tokenizer* tokenizer, std::vector<Token> prompt, const GenerateOptions& options,
             std::shared_ptr<Candidates> workspace)
      : executor_(&executor),
        answer_(executor.config(), tokenizer, options, prompt.size(), longest_context(executor), std::move(workspace)),
        tokens_(checked_prompt(std::move(prompt), longest_context(executor), executor.config().vocab)),
        sequence_(executor.book(), tokens_) {
    const auto room = static_cast<std::size_t>(longest_context(executor));
    tokens_.reserve(std::min(room, tokens_.size() + static_cast<std::size_t>(options.max_new_tokens)));
  }

  /// Draws tokens until some text is ready or the request ends. False: it has ended, and the last text was given out.
  /// `piece` is valid until the next call. Errors: bad_logits; the request is over then.
  bool next(std::string& piece) {
    piece.clear();
    while (piece.empty()) {
      if (over_) return false;
      if (!answer_.ended()) draw();
      answer_.read_text(piece);
      if (answer_.ended()) {
        over_ = true;
        sequence_.close();
      }
      if (!answer_.has_text()) return !over_;
    }
    return true;
  }

  /// Complete once next has returned false; what there is so far before that.
  [[nodiscard]] const GenerateResult& result() const { return answer_.result(); }
  [[nodiscard]] GenerateResult take_result() { return answer_.take_result(); }

 private:
  static int longest_context(const Executor& executor) {
    int n = executor.limits().max_length;
    if (!Executor::retains) n = std::min(n, executor.limits().max_rows);
    while (n > 0 && !executor.book().fits_alone(n)) --n;
    return n;
  }

  static std::vector<Token> checked_prompt(std::vector<Token> prompt, int context_limit, int vocab) {
    if (prompt.empty()) fail(errc::bad_request, "a prompt of at least one token", "an empty prompt");
    if (prompt.size() > static_cast<std::size_t>(context_limit)) {
      fail(errc::no_fit, "a prompt of at most " + std::to_string(context_limit) + " tokens",
           std::to_string(prompt.size()));
    }
    check_prompt(prompt, vocab);
    return prompt;
  }

  void draw() {
    over_ = true;  // if anything below throws
    run_tokens(
        *executor_, sequence_, tokens_, executor_->limits().tokens_per_step, false, step_,
        [&](int /*position*/, std::span<const float> logits) { tokens_.push_back(answer_.draw(logits, tokens_)); });
    over_ = false;
  }

  Executor* executor_;
  Answer<Order> answer_;
  std::vector<Token> tokens_;  // prompt and answer
  OpenSequence<typename Executor::book_type> sequence_;
  Step step_;
  bool over_ = false;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

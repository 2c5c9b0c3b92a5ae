// SPDX-License-Identifier: MIT
/// One request on its way: prompt, tokens drawn one at a time, and text that is ready to be read.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/result.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>
#include <gpt2ie/tokenizer/incremental_decoder.hpp>
#include <gpt2ie/tokenizer/stop_strings.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

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
        tokenizer_(tokenizer),
        options_(options),
        chain_(options, executor.config().vocab, end_ids(executor.config(), options), std::move(workspace)),
        context_limit_(longest_context(executor)),
        tokens_(checked_prompt(std::move(prompt), context_limit_, executor.config().vocab)),
        matcher_(stop_strings(tokenizer, options)),
        sequence_(executor.book(), tokens_),
        start_(Clock::now()) {
    if (tokenizer_) decoder_.emplace(*tokenizer_);
    result_.prompt_tokens = tokens_.size();
    result_.seed = chain_.seed();
    const auto room = static_cast<std::size_t>(context_limit_);
    tokens_.reserve(std::min(room, tokens_.size() + static_cast<std::size_t>(options_.max_new_tokens)));
  }

  /// Draws tokens until some text is ready or the request ends. False: it has ended, and the last text was given out.
  /// `piece` is valid until the next call. Errors: bad_logits; the request is over then.
  bool next(std::string& piece) {
    piece.clear();
    while (piece.empty()) {
      if (ended_) return false;
      if (at_limit()) {
        end(FinishReason::length);
      } else {
        draw();
      }
      if (decoder_) read_text(piece);
      if (result_.finish_reason != FinishReason::none) close();
      if (!decoder_) return !ended_;
    }
    result_.text += piece;
    return true;
  }

  /// Complete once next has returned false; what there is so far before that.
  [[nodiscard]] const GenerateResult& result() const { return result_; }
  [[nodiscard]] GenerateResult take_result() { return std::move(result_); }

 private:
  using Clock = std::chrono::steady_clock;

  static std::vector<Token> end_ids(const ModelConfig& config, const GenerateOptions& options) {
    return options.ignore_eos ? std::vector<Token>{} : config.eos_token_ids;
  }

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
    for (const Token token : prompt) {
      if (token < 0 || token >= vocab) {
        fail(errc::bad_request, "prompt tokens in [0, " + std::to_string(vocab) + ")", std::to_string(token));
      }
    }
    return prompt;
  }

  static StopMatcher stop_strings(const Tokenizer* tokenizer, const GenerateOptions& options) {
    if (!tokenizer && !options.stop.empty()) {
      fail(errc::bad_request, "no stop strings for a model without a tokenizer",
           std::to_string(options.stop.size()) + " of them");
    }
    return StopMatcher(options.stop);
  }

  [[nodiscard]] bool at_limit() const {
    return result_.tokens.size() >= static_cast<std::size_t>(options_.max_new_tokens) ||
           tokens_.size() >= static_cast<std::size_t>(context_limit_);
  }

  void draw() {
    Draw drawn{};
    ended_ = true;  // if anything below throws, the request is over
    run_tokens(*executor_, sequence_, tokens_, executor_->limits().tokens_per_step, false, step_,
               [&](int /*position*/, std::span<const float> logits) {
                 drawn = chain_.pick(logits, tokens_, result_.prompt_tokens);
               });
    ended_ = false;
    const Clock::time_point now = Clock::now();
    if (result_.tokens.empty()) {
      first_ = now;
      result_.timings.first_token = std::chrono::duration<double>(now - start_).count();
    }
    result_.timings.decode = std::chrono::duration<double>(now - first_).count();
    tokens_.push_back(drawn.token);
    result_.tokens.push_back(drawn.token);
    result_.token_logprobs.push_back(drawn.logprob);
    if (ends_text(drawn.token)) {
      end(FinishReason::stop);
    } else if (decoder_ && !tokenizer_->is_special(drawn.token)) {
      decoded_ += decoder_->push(drawn.token);
    }
    if (result_.finish_reason == FinishReason::none && at_limit()) end(FinishReason::length);
  }

  [[nodiscard]] bool ends_text(Token token) const {
    const auto listed = [token](const std::vector<Token>& ids) {
      return std::find(ids.begin(), ids.end(), token) != ids.end();
    };
    return listed(options_.stop_token_ids) || (!options_.ignore_eos && listed(executor_->config().eos_token_ids));
  }

  void end(FinishReason reason) { result_.finish_reason = reason; }

  /// Moves what is certain from the decoder through the stop strings to `piece`.
  void read_text(std::string& piece) {
    if (result_.finish_reason != FinishReason::none) decoded_ += decoder_->finish();
    piece += matcher_.push(decoded_);
    decoded_.clear();
    if (result_.finish_reason != FinishReason::none) piece += matcher_.finish();
    if (matcher_.match()) {
      result_.stop = options_.stop[*matcher_.match()];
      end(FinishReason::stop);
    }
  }

  void close() {
    ended_ = true;
    sequence_.close();
  }

  Executor* executor_;
  const Tokenizer* tokenizer_;
  GenerateOptions options_;
  SamplerChain<Order> chain_;
  int context_limit_;
  std::vector<Token> tokens_;  // prompt and output
  StopMatcher matcher_;
  OpenSequence<typename Executor::book_type> sequence_;
  std::optional<IncrementalDecoder> decoder_;
  std::string decoded_;
  Step step_;
  GenerateResult result_;
  Clock::time_point start_, first_;
  bool ended_ = false;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

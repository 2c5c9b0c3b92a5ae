// SPDX-License-Identifier: MIT
/// One answer on its way: from logits to tokens to text that is ready to be read.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/engine/result.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>
#include <gpt2ie/tokenizer/incremental_decoder.hpp>
#include <gpt2ie/tokenizer/stop_strings.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Draws the tokens of one answer, finds its end, and makes its text. It does not run the model. One thread at a time;
/// the tokenizer outlives it.
template <class Order>
class Answer {
 public:
  using Clock = std::chrono::steady_clock;

  /// tokenizer: null for a request in tokens alone; then there is no text and stop strings are refused. context_limit:
  /// tokens of prompt and answer at most. choice: which of the answers to one request. Errors: bad_request for options
  /// out of range.
  Answer(const ModelConfig& config, const Tokenizer* tokenizer, const GenerateOptions& options,
         std::size_t prompt_tokens, int context_limit, std::shared_ptr<Candidates> workspace, std::uint32_t choice = 0)
      : tokenizer_(tokenizer),
        chain_(options, config.vocab, end_ids(config, options), std::move(workspace)),
        matcher_(stop_strings(tokenizer, options)),
        eos_token_ids_(end_ids(config, options)),
        context_limit_(static_cast<std::size_t>(context_limit)),
        choice_(choice),
        start_(Clock::now()) {
    if (tokenizer_) decoder_.emplace(*tokenizer_);
    result_.prompt_tokens = prompt_tokens;
    result_.seed = chain_.seed();
    const std::size_t most = most_tokens();
    result_.tokens.reserve(most);
    result_.token_logprobs.reserve(most);
    if (most == 0) end(FinishReason::length);
  }

  /// Draws the next token from its row of logits. tokens: prompt and answer so far. Errors: bad_logits.
  Token draw(std::span<const float> logits, std::span<const Token> tokens) {
    const Draw drawn = chain_.pick(logits, tokens, result_.prompt_tokens, choice_);
    const Clock::time_point now = Clock::now();
    if (result_.tokens.empty()) {
      first_ = now;
      result_.timings.first_token = std::chrono::duration<double>(now - start_).count();
    }
    result_.timings.decode = std::chrono::duration<double>(now - first_).count();
    result_.tokens.push_back(drawn.token);
    result_.token_logprobs.push_back(drawn.logprob);
    if (const int n = chain_.options().top_logprobs; n > 0) result_.top_logprobs.push_back(top_logprobs(logits, n));
    if (ends_text(drawn.token)) {
      end(FinishReason::stop);
    } else if (decoder_ && !tokenizer_->is_special(drawn.token)) {
      decoded_ += decoder_->push(drawn.token);
    }
    if (!ended() && result_.tokens.size() >= most_tokens()) end(FinishReason::length);
    return drawn.token;
  }

  /// Appends the text that is certain by now to `piece`; after the end, all of it. Finds stop strings, so the answer
  /// may end here. Call it once after each draw and once after an end that came otherwise.
  void read_text(std::string& piece) {
    if (!decoder_) return;
    const std::size_t begin = piece.size();
    if (ended()) decoded_ += decoder_->finish();
    piece += matcher_.push(decoded_);
    decoded_.clear();
    if (ended()) piece += matcher_.finish();
    if (matcher_.match()) {
      result_.stop = chain_.options().stop[*matcher_.match()];
      end(FinishReason::stop);
    }
    result_.text.append(piece, begin);
  }

  void end(FinishReason reason) { result_.finish_reason = reason; }
  [[nodiscard]] bool ended() const { return result_.finish_reason != FinishReason::none; }
  [[nodiscard]] bool has_text() const { return decoder_.has_value(); }
  [[nodiscard]] const GenerateResult& result() const { return result_; }
  [[nodiscard]] GenerateResult take_result() { return std::move(result_); }

 private:
  static std::vector<Token> end_ids(const ModelConfig& config, const GenerateOptions& options) {
    return options.ignore_eos ? std::vector<Token>{} : config.eos_token_ids;
  }

  static StopMatcher stop_strings(const Tokenizer* tokenizer, const GenerateOptions& options) {
    if (!tokenizer && !options.stop.empty()) {
      fail(errc::bad_request, "no stop strings for a model without a tokenizer",
           std::to_string(options.stop.size()) + " of them");
    }
    return StopMatcher(options.stop);
  }

  [[nodiscard]] std::size_t most_tokens() const {
    const std::size_t room = context_limit_ - std::min(context_limit_, result_.prompt_tokens);
    return std::min(room, static_cast<std::size_t>(chain_.options().max_new_tokens));
  }

  [[nodiscard]] bool ends_text(Token token) const {
    const auto listed = [token](const std::vector<Token>& ids) {
      return std::find(ids.begin(), ids.end(), token) != ids.end();
    };
    return listed(chain_.options().stop_token_ids) || listed(eos_token_ids_);
  }

  const Tokenizer* tokenizer_;
  SamplerChain<Order> chain_;
  StopMatcher matcher_;
  std::vector<Token> eos_token_ids_;
  std::size_t context_limit_;
  std::uint32_t choice_;
  std::optional<IncrementalDecoder> decoder_;
  std::string decoded_;
  GenerateResult result_;
  Clock::time_point start_, first_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

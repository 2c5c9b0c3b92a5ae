// SPDX-License-Identifier: MIT
/// From logits to a token: a chain of processors in an order that is a type, and one draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/philox.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/sampling/candidates.hpp>
#include <gpt2ie/sampling/concepts.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/sampling/options.hpp>
#include <gpt2ie/sampling/penalties.hpp>
#include <gpt2ie/sampling/truncation.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

namespace sampling {

/// The order of Hugging Face's generate(): truncation sees the distribution after temperature.
using HuggingFaceOrder = type_list<LogitBias, RepetitionPenalty, NoRepeatNgram, MinNewTokens, PresenceAndFrequency,
                                   Temperature, TopK, TopP, MinP, TypicalP>;

/// The order of llama.cpp: temperature comes last, so truncation sees the model's own distribution.
using LlamaCppOrder = type_list<LogitBias, RepetitionPenalty, NoRepeatNgram, MinNewTokens, PresenceAndFrequency, TopK,
                                TypicalP, TopP, MinP, Temperature>;

}  // namespace sampling

namespace detail {

template <class Order>
struct SamplingOrder {
  static constexpr bool is_list = false;
  static constexpr bool of_processors = true;
  using Processors = std::tuple<>;
};
template <class... Processor>
struct SamplingOrder<type_list<Processor...>> {
  static constexpr bool is_list = true;
  static constexpr bool of_processors = (LogitsProcessor<Processor> && ...);
  using Processors = std::tuple<Processor...>;
};

}  // namespace detail

/// A picked token and the logarithm of its probability under the raw logits, before any processor.
using Draw = TokenLogprob;

/// A token that a request may get next, and how likely.
struct TokenProbability {
  Token token;
  double probability;
};

/// Picks the tokens of one request.
///
/// A draw is a pure function of (seed, choice, tokens.size()) and the logits: neither other requests nor the order of
/// calls matter. Greedy requests take the highest score after penalties and bans, of equal ones the lowest id. Cost: a
/// few passes over the vocabulary, no sort of it, no allocation. One thread at a time.
template <class Order = sampling::HuggingFaceOrder>
class SamplerChain {
  static_assert(detail::SamplingOrder<Order>::is_list,
                "gpt2ie: SamplerChain<Order> needs an order such as gpt2ie::sampling::HuggingFaceOrder: a "
                "gpt2ie::type_list<...> of logits processors (docs/sampling.md)");
  static_assert(detail::SamplingOrder<Order>::of_processors,
                "gpt2ie: SamplerChain<Order> needs every element of its order to be a LogitsProcessor: a default "
                "constructible type with enabled(options), shapes_greedy and apply(candidates, context) "
                "(docs/sampling.md)");

 public:
  using order = Order;

  /// Checks the options, fixes the seed and takes all memory, about 20 bytes a token of the vocabulary.
  ///
  /// vocab: the length of every row of logits to come. eos_ids: tokens that end a text by the model's own word.
  /// workspace: memory that several chains of one thread may share, since a chain uses it only during a call; none: the
  /// chain makes its own. Throws Error (bad_request) as validate does, and for a workspace of another vocabulary.
  SamplerChain(const GenerateOptions& options, int vocab, std::span<const Token> eos_ids,
               std::shared_ptr<Candidates> workspace = nullptr)
      : options_(options), end_ids_(eos_ids.begin(), eos_ids.end()), vocab_(vocab) {
    validate(options_, vocab);
    if (!workspace) workspace = std::make_shared<Candidates>(vocab);
    if (workspace->vocab() != vocab) {
      fail(errc::bad_request, "a workspace for " + std::to_string(vocab) + " tokens",
           "one for " + std::to_string(workspace->vocab()));
    }
    candidates_ = std::move(workspace);
    seed_ = options_.seed ? *options_.seed : fresh_seed();
    end_ids_.insert(end_ids_.end(), options_.stop_token_ids.begin(), options_.stop_token_ids.end());
  }

  /// The seed of all draws: the request's own, or the fresh one that it got.
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  [[nodiscard]] const GenerateOptions& options() const { return options_; }

  /// The next token.
  ///
  /// logits: [vocab], the row of the last of `tokens`. tokens: prompt and output so far; prompt_length of them are the
  /// prompt. choice: which of the n answers of one request this is. Throws Error: bad_logits if the logits hold NaN or
  /// +infinity or no token is left, bad_request if sizes or tokens don't fit the vocabulary.
  Draw pick(std::span<const float> logits, std::span<const Token> tokens, std::size_t prompt_length,
            std::uint32_t choice = 0) {
    const DrawName draw{.seed = seed_, .position = static_cast<std::uint32_t>(tokens.size()), .choice = choice};
    return pick_at(is_greedy(options_) ? 0 : uniform_double(draw), logits, tokens, prompt_length);
  }

  /// The same with a given draw `u` in [0, 1): the token at that quantile, in order of ids. Greedy requests ignore it.
  Draw pick_at(double u, std::span<const float> logits, std::span<const Token> tokens, std::size_t prompt_length) {
    const detail::RowMax highest = check(logits, tokens, prompt_length);
    Token token = static_cast<Token>(highest.index);
    double exp_sum = 0;
    if (needs_processing() || !is_greedy(options_)) process(logits, tokens, prompt_length);
    if (!is_greedy(options_)) {
      const Candidates::Weights weights = candidates_->weigh();
      token = candidates_->at_quantile(u, weights);
      exp_sum = weights.total;
    } else if (needs_processing()) {
      token = candidates_->best_id();
    }
    // Without processors the draw was from the raw logits, and their sum is known.
    if (needs_processing() || is_greedy(options_)) exp_sum = detail::row_exp_sum(logits, highest.value);
    const double logit = static_cast<double>(logits[static_cast<std::size_t>(token)]);
    return {token, static_cast<float>(logit - static_cast<double>(highest.value) - std::log(exp_sum))};
  }

  /// Every token that `pick` might return, by ascending id, with its probability; one token for greedy requests. A
  /// token that was kept stays in the list even where its probability is too small for a float. Throws as pick does;
  /// allocates.
  std::vector<TokenProbability> distribution(std::span<const float> logits, std::span<const Token> tokens,
                                             std::size_t prompt_length) {
    check(logits, tokens, prompt_length);
    process(logits, tokens, prompt_length);
    if (is_greedy(options_)) return {{candidates_->best_id(), 1.0}};
    const Candidates::Weights weights = candidates_->weigh();
    std::vector<TokenProbability> kept;
    for (std::size_t i = 0; i < candidates_->size(); ++i) {
      if (candidates_->scores()[i] == detail::minus_infinity) continue;
      kept.push_back({candidates_->id(i), static_cast<double>(weights.each[i]) / weights.total});
    }
    return kept;
  }

 private:
  detail::RowMax check(std::span<const float> logits, std::span<const Token> tokens, std::size_t prompt_length) const {
    if (logits.size() != static_cast<std::size_t>(vocab_)) {
      fail(errc::bad_request, std::to_string(vocab_) + " logits, one a token of the vocabulary",
           std::to_string(logits.size()));
    }
    if (prompt_length > tokens.size()) {
      fail(errc::bad_request, "a prompt of at most all " + std::to_string(tokens.size()) + " tokens",
           "a prompt length of " + std::to_string(prompt_length));
    }
    return detail::checked_row_max(logits);
  }

  template <LogitsProcessor Processor>
  [[nodiscard]] bool needs() const {
    return (Processor::shapes_greedy || !is_greedy(options_)) && Processor::enabled(options_);
  }

  [[nodiscard]] bool needs_processing() const {
    return std::apply([this]<class... P>(const P&...) { return (this->template needs<P>() || ...); }, processors_);
  }

  void process(std::span<const float> logits, std::span<const Token> tokens, std::size_t prompt_length) {
    candidates_->assign(logits);
    const SamplingContext context{options_, tokens, prompt_length, end_ids_};
    const auto apply = [&]<class P>(P& processor) {
      if (this->template needs<P>()) processor.apply(*candidates_, context);
    };
    std::apply([&](auto&... processor) { (apply(processor), ...); }, processors_);
  }

  GenerateOptions options_;
  std::vector<Token> end_ids_;
  int vocab_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<Candidates> candidates_;
  typename detail::SamplingOrder<Order>::Processors processors_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

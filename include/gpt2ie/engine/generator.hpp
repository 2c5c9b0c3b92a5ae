// SPDX-License-Identifier: MIT
/// Generator<Parts...>: one request at a time, in the calling thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/generation.hpp>
#include <gpt2ie/engine/parts.hpp>
#include <gpt2ie/engine/prompt.hpp>
#include <gpt2ie/engine/text_stream.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>
#include <gpt2ie/sampling/options.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What a generator takes where it is given no limits. In all limits 0 rows stand for its own choice: 256 rows a step,
/// or the whole context where nothing is cached. A generator has room for at least as many sequences as its scheduler
/// has slots: fewer in Limits::max_sequences, whose default is 1, are raised to that.
inline constexpr Limits generator_limits{.max_rows = 0};

/// The class behind Generator. Movable. One thread at a time; any number of generators may share weights and tokenizer.
template <Backend B, AttentionPolicy Policy, CacheStorage Storage, SlotPolicy Slots, class Order>
class BasicGenerator {
 public:
  using backend_type = B;
  using weights_type = Weights<B>;
  using executor_type = Executor<B, Policy, Storage>;
  using generation_type = Generation<executor_type, Order>;
  using stream_type = TextStream<generation_type>;

  /// Packs the checkpoint's weights and loads the tokenizer beside them, if there is one.
  /// Errors: those of reading the files.
  explicit BasicGenerator(const Checkpoint& checkpoint, B backend = B(), const Limits& limits = generator_limits)
      // In braces, so that the backend packs before it moves.
      : BasicGenerator{pack_weights(backend, checkpoint), find_tokenizer(checkpoint), std::move(backend), limits} {}

  /// On weights that others may use too. tokenizer: may be null; then requests are in tokens. Errors: bad_request for
  /// no weights or limits out of range.
  BasicGenerator(std::shared_ptr<const Weights<B>> weights, std::shared_ptr<const Tokenizer> tokenizer, B backend = B(),
                 const Limits& limits = generator_limits)
      : weights_(require_weights<B>(std::move(weights))),
        tokenizer_(std::move(tokenizer)),
        executor_(std::make_unique<executor_type>(std::move(backend), weights_, choose(limits, weights_->config()))),
        workspace_(std::make_shared<Candidates>(weights_->config().vocab)) {}

  /// A range of text pieces. An empty prompt stands for the beginning of a text. Errors: bad_request, no_fit, busy
  /// while another stream of this generator is open, bad_text, and bad_logits while it is read.
  [[nodiscard]] stream_type stream(std::string_view prompt, const GenerateOptions& options = {}) {
    return stream(encode(prompt, options), options);
  }
  /// The same for a prompt in tokens.
  [[nodiscard]] stream_type stream(std::vector<Token> prompt, const GenerateOptions& options = {}) {
    return stream_type(
        std::make_unique<generation_type>(*executor_, tokenizer_.get(), std::move(prompt), options, workspace_));
  }

  /// Everything at once. Errors: as for stream.
  GenerateResult generate(std::string_view prompt, const GenerateOptions& options = {}) {
    return generate(prompt, options, [](std::string_view) {});
  }
  GenerateResult generate(std::vector<Token> prompt, const GenerateOptions& options = {}) {
    return generate(std::move(prompt), options, [](std::string_view) {});
  }

  /// Calls on_piece for each piece of text. One that returns bool stops the request with false; what it throws ends the
  /// request and passes through.
  template <std::invocable<std::string_view> OnPiece>
  GenerateResult generate(std::string_view prompt, const GenerateOptions& options, OnPiece&& on_piece) {
    return generate(encode(prompt, options), options, on_piece);
  }
  template <std::invocable<std::string_view> OnPiece>
  GenerateResult generate(std::vector<Token> prompt, const GenerateOptions& options, OnPiece&& on_piece) {
    generation_type generation(*executor_, tokenizer_.get(), std::move(prompt), options, workspace_);
    std::string piece;
    while (generation.next(piece)) {
      if constexpr (std::same_as<std::invoke_result_t<OnPiece&, std::string_view>, bool>) {
        if (!piece.empty() && !on_piece(std::string_view(piece))) break;
      } else {
        if (!piece.empty()) on_piece(std::string_view(piece));
      }
    }
    return generation.take_result();
  }

  [[nodiscard]] const ModelConfig& config() const { return weights_->config(); }
  [[nodiscard]] const std::shared_ptr<const Weights<B>>& weights() const { return weights_; }
  /// Null if the model's folder has none.
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// What runs the steps: counters, and the units of the cache.
  [[nodiscard]] executor_type& executor() { return *executor_; }
  [[nodiscard]] const executor_type& executor() const { return *executor_; }

 private:
  static Limits choose(Limits limits, const ModelConfig& config) {
    // Out of range stays as it is, for the executor to refuse.
    if (limits.max_sequences >= 1) limits.max_sequences = std::max(limits.max_sequences, Slots::count);
    if (limits.max_rows == 0)
      limits.max_rows = Storage::retains ? std::min(256, config.n_positions) : config.n_positions;
    return limits;
  }

  std::vector<Token> encode(std::string_view prompt, const GenerateOptions& options) const {
    return encode_prompt(tokenizer_.get(), config(), prompt, options);
  }

  std::shared_ptr<const Weights<B>> weights_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<executor_type> executor_;
  std::shared_ptr<Candidates> workspace_;
};

/// Parts, in any order and each optional: a backend, Attention<Policy>, KVCache<Storage>, Scheduler<Slots>,
/// SamplerChain<Order>. Generator<> is the best choice for a CPU.
template <class... Parts>
using Generator = typename decltype(detail::compose<BasicGenerator, Scheduler<slots::Sequential>, Parts...>())::type;

}  // namespace gpt2ie::inline GPT2IE_ABI

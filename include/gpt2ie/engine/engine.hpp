// SPDX-License-Identifier: MIT
/// Engine<...>: many requests at once, from many threads, each answered as if it were alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/siphash.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/handle.hpp>
#include <gpt2ie/engine/mailbox.hpp>
#include <gpt2ie/engine/parts.hpp>
#include <gpt2ie/engine/prompt.hpp>
#include <gpt2ie/engine/request.hpp>
#include <gpt2ie/engine/stats.hpp>
#include <gpt2ie/engine/step_report.hpp>
#include <gpt2ie/engine/worker.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// How an engine is set up.
struct EngineOptions {
  /// max_sequences is the number of slots, whatever is given here. max_rows 0: 256 rows a step. max_rows is at least
  /// the number of slots, and the whole context where nothing is cached; max_logit_rows at least the slots and 32.
  Limits limits = {.max_rows = 0, .max_logit_rows = 32};
  int max_queued = 1024;    ///< requests that may wait to start
  int max_preemptions = 3;  ///< after so many a sequence starts again only when it need not give way any more
  /// A step that carries prompts beside running streams takes about at most this many times a step without; above 1, or
  /// 0 for no limit.
  double stall_factor = 1.5;
  /// Called on the engine's thread after each step, before its tokens go out. Must not throw.
  std::function<void(const StepReport&)> on_step = {};
};

/// The class behind Engine. Owns a cache, a scheduler and a thread over shared weights. submit, stats, drain, and
/// cancel of a handle may be called from any thread, from callbacks too. Requests are answered to the bit as if each
/// were alone, where the backend is row-invariant.
template <Backend B, AttentionPolicy Policy, CacheStorage Storage, SlotPolicy Slots, class Order>
class BasicEngine {
 public:
  using backend_type = B;
  using weights_type = Weights<B>;
  using executor_type = Executor<B, Policy, Storage>;

  /// Packs the checkpoint's weights and loads the tokenizer beside them, if there is one. Errors: those of reading the
  /// files, and bad_request for options out of range.
  explicit BasicEngine(const Checkpoint& checkpoint, const EngineOptions& options = {}, B backend = B())
      // In braces, so that the backend packs before it moves.
      : BasicEngine{pack_weights(backend, checkpoint), find_tokenizer(checkpoint), options, std::move(backend)} {}

  /// On weights that others may use too. tokenizer: may be null; then requests are in tokens.
  BasicEngine(std::shared_ptr<const Weights<B>> weights, std::shared_ptr<const Tokenizer> tokenizer,
              const EngineOptions& options = {}, B backend = B())
      : weights_(require_weights<B>(std::move(weights))),
        tokenizer_(std::move(tokenizer)),
        options_(checked(options)),
        workspace_(std::make_shared<Candidates>(weights_->config().vocab)),
        salt_key_{fresh_seed(), fresh_seed()},
        mailbox_(std::make_shared<detail::Mailbox<Order>>()),
        worker_(
            std::make_unique<executor_type>(std::move(backend), weights_, choose(options.limits, weights_->config())),
            mailbox_, SchedulerOptions{.max_preemptions = options.max_preemptions, .retains = Storage::retains},
            options.stall_factor, options.on_step),
        thread_([this] { worker_.run(); }) {}

  /// Cancels what is left and waits for the engine's thread: no callback is running or will run after. Not from a
  /// callback.
  ~BasicEngine() {
    {
      const std::scoped_lock lock(mailbox_->mutex);
      mailbox_->stop = true;
    }
    mailbox_->arrived.notify_one();
    thread_.join();
  }

  BasicEngine(const BasicEngine&) = delete;
  BasicEngine& operator=(const BasicEngine&) = delete;

  /// Puts a request in the queue, first come first served among those of one priority. Costs no work of the model.
  /// Errors, before anything is queued: bad_request, bad_text, no_fit for a prompt beyond the context, or prompt and
  /// answer beyond the whole cache; unavailable while draining, after a fatal error, and in callbacks of an engine that
  /// is being destroyed.
  std::variant<Handle, QueueFull> submit(Request request) {
    std::shared_ptr<Active> active = prepare(std::move(request));
    Handle handle(active->state, [mailbox = mailbox_, state = active->state] { mailbox->cancel(state); });
    {
      const std::scoped_lock lock(mailbox_->mutex);
      if (mailbox_->cause) fail(errc::unavailable, "a running engine", "one that failed: " + cause_text());
      if (mailbox_->stop) fail(errc::unavailable, "a running engine", "one that is being destroyed");
      if (mailbox_->draining) fail(errc::unavailable, "an engine that takes requests", "one that is draining");
      if (mailbox_->queued >= options_.max_queued) {
        ++mailbox_->refused;
        return QueueFull{mailbox_->queued, options_.max_queued};
      }
      ++mailbox_->queued;
      ++mailbox_->unfinished;
      ++mailbox_->accepted;
      mailbox_->submitted.push_back(std::move(active));
    }
    mailbox_->arrived.notify_one();
    return handle;
  }

  /// Takes no more requests, waits for those there are, and after `patience` cancels the rest. True: none had to be. In
  /// a callback it only begins and returns false.
  bool drain(std::chrono::milliseconds patience) {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->draining = true;
    if (std::this_thread::get_id() == thread_.get_id()) return false;
    const auto done = [this] { return mailbox_->unfinished == 0; };
    if (mailbox_->changed.wait_until(lock, detail::deadline_after(patience), done)) return true;
    mailbox_->cancel_all = true;
    mailbox_->arrived.notify_one();
    mailbox_->changed.wait(lock, done);
    return false;
  }

  /// As of the last step.
  [[nodiscard]] EngineStats stats() const {
    const std::scoped_lock lock(mailbox_->mutex);
    EngineStats stats = mailbox_->stats;
    stats.draining = mailbox_->draining;
    stats.dead = mailbox_->cause != nullptr;
    stats.queued = mailbox_->queued;
    stats.submitted = mailbox_->accepted;
    stats.refused = mailbox_->refused;
    return stats;
  }

  [[nodiscard]] const ModelConfig& config() const { return weights_->config(); }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  /// Limits after defaults.
  [[nodiscard]] const Limits& limits() const { return worker_.executor().limits(); }
  [[nodiscard]] const std::shared_ptr<const Weights<B>>& weights() const { return weights_; }
  /// Null if the model's folder has none.
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }

 private:
  using Active = detail::ActiveRequest<Order>;

  static EngineOptions checked(const EngineOptions& options) {
    detail::require_field(options.max_queued >= 1, "max_queued", "of 1 or more", options.max_queued);
    detail::require_field(options.max_preemptions >= 0, "max_preemptions", "of 0 or more", options.max_preemptions);
    detail::require_field(options.stall_factor == 0 || options.stall_factor > 1, "stall_factor", "of 0, or above 1",
                          options.stall_factor);
    return options;
  }

  static Limits choose(Limits limits, const ModelConfig& config) {
    limits.max_sequences = Slots::count;
    if (limits.max_rows == 0) limits.max_rows = std::min(256, config.n_positions);
    // What is out of range stays as it is, for the executor to refuse.
    const int context = limits.max_length > 0 ? std::min(limits.max_length, config.n_positions) : config.n_positions;
    if (limits.max_rows > 0)
      limits.max_rows = std::max({limits.max_rows, Slots::count, Storage::retains ? 1 : context});
    if (limits.max_logit_rows > 0) limits.max_logit_rows = std::max({limits.max_logit_rows, Slots::count, 32});
    return limits;
  }

  /// Everything that can be wrong with a request is found here, on the caller's thread.
  std::shared_ptr<Active> prepare(Request request) {
    constexpr int most_choices = 128;
    detail::require_field(request.n >= 1 && request.n <= most_choices, "n", "in [1, 128]", request.n);
    auto active = std::make_shared<Active>();
    active->state = std::make_shared<detail::RequestState>(last_id_.fetch_add(1, std::memory_order_relaxed) + 1);
    if (const auto* text = std::get_if<std::string>(&request.prompt)) {
      active->prompt = encode_prompt(tokenizer_.get(), config(), *text, request.options);
    } else {
      active->prompt = std::get<std::vector<Token>>(std::move(request.prompt));
    }
    check_prompt(active->prompt, config().vocab);
    validate(request.options, config().vocab);
    if (!Storage::retains && request.prompt_logprobs) check_scoring(active->prompt.size());
    const int context = worker_.scheduler().checked_length(active->prompt.size(), request.options.max_new_tokens);
    if (!request.options.seed) request.options.seed = fresh_seed();  // one for all choices
    for (int i = 0; i < request.n; ++i) {
      active->choices.push_back(
          {.answer = Answer<Order>(config(), tokenizer_.get(), request.options, active->prompt.size(), context,
                                   workspace_, static_cast<std::uint32_t>(i))});
    }
    active->open = active->choices.size();
    active->salt = salt_of(request.cache_salt);
    if (request.timeout) active->deadline = detail::deadline_after(*request.timeout);
    active->request = std::move(request);
    return active;
  }

  /// A cache that keeps nothing needs all rows of logits in one step.
  void check_scoring(std::size_t prompt) const {
    if (prompt <= static_cast<std::size_t>(limits().max_logit_rows)) return;
    fail(errc::no_fit,
         "prompt_logprobs of at most Limits::max_logit_rows = " + std::to_string(limits().max_logit_rows) +
             " tokens, as a cache that does not retain needs them in one step",
         std::to_string(prompt));
  }

  /// A number that nobody can aim at from outside.
  [[nodiscard]] std::uint64_t salt_of(const std::string& text) const {
    if (text.empty()) return 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    return siphash128(salt_key_, {bytes, text.size()}).low | 1;
  }

  /// Under the mutex.
  [[nodiscard]] std::string cause_text() const {
    try {
      std::rethrow_exception(mailbox_->cause);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "an unknown exception";
    }
  }

  std::shared_ptr<const Weights<B>> weights_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EngineOptions options_;
  std::shared_ptr<Candidates> workspace_;  // the engine's thread draws with it, nobody else
  SipKey salt_key_;
  std::atomic<std::uint64_t> last_id_{0};
  std::shared_ptr<detail::Mailbox<Order>> mailbox_;
  detail::EngineWorker<executor_type, Slots, Order> worker_;
  std::thread thread_;
};

/// Parts, in any order and each optional, as for Generator; Engine<> runs eight sequences at once on the CPU:
/// `Engine<backend::SimdCpu<float>, KVCache<kv::Paged<float, 16>>, Scheduler<slots::Continuous<8>>>`.
template <class... Parts>
using Engine = typename decltype(detail::compose<BasicEngine, Scheduler<slots::Continuous<8>>, Parts...>())::type;

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Brings a backend, a model, a cache's book and its pool together, and runs steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/model/gpt2.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Fills in what a program left at 0 and refuses what can't be. Errors: bad_request.
[[nodiscard]] inline Limits complete_limits(Limits limits, const ModelConfig& config) {
  const auto within = [](int least, int most, int value, const char* name) {
    if (value >= least && value <= most) return;
    fail(errc::bad_request, std::string(name) + " from " + std::to_string(least) + " to " + std::to_string(most),
         std::to_string(value));
  };
  // Together with the bounds of a configuration these keep every product of sizes below 2^31 or in 64 bits.
  constexpr int most_sequences = 1 << 16, most_rows = 1 << 20, most_units = 1 << 24;
  if (limits.max_length == 0) limits.max_length = config.n_positions;
  if (limits.tokens_per_step == 0) limits.tokens_per_step = limits.max_rows;
  within(1, most_sequences, limits.max_sequences, "Limits::max_sequences");
  within(1, most_rows, limits.max_rows, "Limits::max_rows");
  within(1, most_rows, limits.max_logit_rows, "Limits::max_logit_rows");
  within(1, std::numeric_limits<int>::max(), limits.max_length, "Limits::max_length");
  within(1, most_rows, limits.tokens_per_step, "Limits::tokens_per_step");
  within(0, most_units, limits.cache_units, "Limits::cache_units");
  limits.max_length = std::min(limits.max_length, config.n_positions);
  if (limits.max_length > std::numeric_limits<int>::max() / limits.max_sequences) {
    fail(errc::bad_request, "Limits::max_sequences * Limits::max_length of at most 2^31 - 1 tokens",
         std::to_string(limits.max_sequences) + " * " + std::to_string(limits.max_length));
  }
  limits.max_logit_rows = std::min(limits.max_logit_rows, limits.max_rows);
  limits.tokens_per_step = std::min(limits.tokens_per_step, limits.max_rows);
  return limits;
}

/// What has been run so far. Query rows of attention, per layer and head, are `rows`.
struct ExecutorCounters {
  std::uint64_t steps = 0, rows = 0;
};

/// Runs steps for whoever plans them: reserve room in book(), run the step, then commit it (or roll back if run threw).
/// One thread at a time. Memory: allocated at construction, from the limits.
template <Backend B, AttentionPolicy Policy, CacheStorage Storage>
class Executor {
  static_assert(Reads<Policy, typename Storage::element>);

 public:
  using backend_type = B;
  using book_type = typename Storage::book;
  using pool_type = typename Storage::template pool<B>;
  static constexpr bool retains = Storage::retains;

  Executor(B backend, std::shared_ptr<const Weights<B>> weights, const Limits& limits)
      : backend_(std::move(backend)),
        limits_(complete_limits(limits, weights->config())),
        model_(backend_, std::move(weights), limits_),
        book_(limits_),
        pool_(backend_, model_.config(), limits_),
        logits_(static_cast<std::size_t>(limits_.max_logit_rows) * static_cast<std::size_t>(model_.config().vocab)) {}

  [[nodiscard]] const ModelConfig& config() const { return model_.config(); }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] book_type& book() { return book_; }
  [[nodiscard]] const book_type& book() const { return book_; }
  [[nodiscard]] const pool_type& pool() const { return pool_; }
  [[nodiscard]] const Gpt2<B, Policy>& model() const { return model_; }
  [[nodiscard]] B& backend() { return backend_; }
  [[nodiscard]] const ExecutorCounters& counters() const { return counters_; }

  /// Runs a step whose room is reserved. Returns logits [logit rows, vocab] in host memory, valid until the next call.
  /// Errors: those of Gpt2::check, before anything is changed. Precondition: the runs' sequences are open in the book.
  std::span<const float> run(const Step& step) {
    model_.check(step);
    const StepView staged = model_.stage(backend_, step);
    const CacheView auto view = pool_.stage(backend_, book_, step, staged);
    book_.settle();
    model_.forward(backend_, view, step);
    const std::size_t n = step.logit_rows.size() * static_cast<std::size_t>(config().vocab);
    backend_.download(logits_.data(), model_.logits(), n);
    backend_.wait();
    ++counters_.steps;
    counters_.rows += static_cast<std::uint64_t>(step.rows());
    return {logits_.data(), n};
  }

 private:
  B backend_;
  Limits limits_;
  Gpt2<B, Policy> model_;
  book_type book_;
  pool_type pool_;
  std::vector<float> logits_;
  ExecutorCounters counters_;
};

/// Rolls a book back unless the step that was reserved in it is committed.
template <CacheBook Book>
class Reservation {
 public:
  explicit Reservation(Book& book) : book_(&book) {}
  ~Reservation() {
    if (book_) book_->rollback();
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  void commit(const Step& step) {
    book_->commit(step.runs, step.tokens);
    book_ = nullptr;
  }

 private:
  Book* book_;
};

/// An open sequence that is closed at the end of the scope.
template <CacheBook Book>
class OpenSequence {
 public:
  /// Errors: busy when the book has no sequence free.
  OpenSequence(Book& book, std::span<const Token> tokens) : book_(&book) {
    const std::optional<Opened> opened = book.open(tokens, 0);
    if (!opened) {
      fail(errc::busy, "a free sequence; end an earlier stream first or raise Limits::max_sequences",
           "all sequences open");
    }
    id_ = opened->seq;
  }
  ~OpenSequence() {
    if (book_) book_->close(id_);
  }
  OpenSequence(OpenSequence&& other) noexcept : book_(std::exchange(other.book_, nullptr)), id_(other.id_) {}
  OpenSequence& operator=(OpenSequence&&) = delete;

  [[nodiscard]] SeqId id() const { return id_; }
  [[nodiscard]] int length() const { return book_->length(id_); }

  /// Closes it now.
  void close() {
    if (book_) std::exchange(book_, nullptr)->close(id_);
  }

 private:
  Book* book_;
  SeqId id_ = SeqId::none;
};

/// Runs the tokens of one sequence that the cache does not hold yet, in chunks of at most `chunk` rows, and calls
/// visit(position, logits [n, vocab], n) for each chunk's rows that get logits: all of them if `all_logits`, else the
/// last token's alone. A cache that does not retain runs everything in one step. Errors: no_fit when there is no room.
template <class Executor, class Visit>
void run_tokens(Executor& executor, const OpenSequence<typename Executor::book_type>& sequence,
                std::span<const Token> tokens, int chunk, bool all_logits, Step& step, Visit&& visit) {
  const int total = static_cast<int>(tokens.size());
  if (!Executor::retains) chunk = total;
  for (int first = sequence.length(); first < total;) {
    const int count = std::min(chunk, total - first);
    const bool last = first + count == total;
    step.clear();
    step.runs.push_back({.seq = sequence.id(), .first = first, .count = count, .row = 0});
    for (int i = 0; i < count; ++i) {
      step.tokens.push_back(tokens[static_cast<std::size_t>(first + i)]);
      step.positions.push_back(first + i);
      if (all_logits || (last && i + 1 == count)) step.logit_rows.push_back(i);
    }
    if (!executor.book().reserve(step.runs)) {
      fail(errc::no_fit, "room in the cache for " + std::to_string(first + count) + " tokens",
           std::to_string(executor.book().capacity().free_units) + " free units");
    }
    Reservation reservation(executor.book());
    const std::span<const float> logits = executor.run(step);
    reservation.commit(step);
    first += count;
    if (!step.logit_rows.empty()) visit(first - static_cast<int>(step.logit_rows.size()), logits);
  }
}

}  // namespace gpt2ie::inline GPT2IE_ABI

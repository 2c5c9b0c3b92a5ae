// SPDX-License-Identifier: MIT
/// The asker's end of a request.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/engine/request.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

/// What the engine's thread and the asker share of one request.
class RequestState {
 public:
  explicit RequestState(std::uint64_t id) : id_(id) {}

  [[nodiscard]] std::uint64_t id() const { return id_; }

  /// Something to read, or the end.
  void push(Piece piece) {
    {
      const std::scoped_lock lock(mutex_);
      pieces_.push_back(std::move(piece));
    }
    wake();
  }
  void finish(Completion completion, std::exception_ptr error) {
    {
      const std::scoped_lock lock(mutex_);
      completion_ = std::move(completion);
      error_ = std::move(error);
      over_ = true;
    }
    wake();
  }

  std::optional<Piece> wait_for_piece() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !pieces_.empty() || over_; });
    return take_piece();
  }
  /// nullopt: nothing yet, or over.
  std::optional<Piece> poll_piece(bool& over) {
    const std::scoped_lock lock(mutex_);
    over = pieces_.empty() && over_;
    if (pieces_.empty() && !over_) return std::nullopt;
    return take_piece();
  }
  Completion wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
    if (error_) std::rethrow_exception(error_);
    return completion_;
  }
  [[nodiscard]] bool over() const {
    const std::scoped_lock lock(mutex_);
    return over_;
  }
  void notify_once(std::function<void()> callback) {
    {
      const std::scoped_lock lock(mutex_);
      if (pieces_.empty() && !over_) {
        on_ready_ = std::move(callback);
        return;
      }
    }
    callback();
  }

 private:
  std::optional<Piece> take_piece() {
    if (pieces_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    std::optional<Piece> piece(std::move(pieces_.front()));
    pieces_.pop_front();
    return piece;
  }
  void wake() {
    std::function<void()> on_ready;
    {
      const std::scoped_lock lock(mutex_);
      on_ready = std::exchange(on_ready_, nullptr);
    }
    changed_.notify_all();
    if (on_ready) on_ready();
  }

  const std::uint64_t id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool over_ = false;
  Completion completion_;
  std::exception_ptr error_;
  std::function<void()> on_ready_;
};

}  // namespace detail

/// A request that was submitted. Copies are the same request. Safe from any thread; it may outlive the engine. Letting
/// it go does not cancel. next and result wait for the engine, so they must not be called from its callbacks.
class Handle {
 public:
  enum class Poll { ready, pending, over };

  Handle(std::shared_ptr<detail::RequestState> state, std::function<void()> cancel)
      : state_(std::move(state)), cancel_(std::move(cancel)) {}

  /// Its number among all requests of its engine.
  [[nodiscard]] std::uint64_t id() const { return state_->id(); }

  /// Waits for the next piece; nullopt after the last. Each piece goes to one reader. Throws what made the request
  /// fail.
  std::optional<Piece> next() { return state_->wait_for_piece(); }

  /// The same without waiting, for event loops and coroutines.
  Poll poll(Piece& piece) {
    bool over = false;
    std::optional<Piece> taken = state_->poll_piece(over);
    const bool ready = taken.has_value();
    if (ready) piece = *std::move(taken);
    return over ? Poll::over : ready ? Poll::ready : Poll::pending;
  }

  /// Calls back once, as soon as poll would not say pending: at once if that is so now, else on the engine's thread. A
  /// later call replaces one that waits. The callback must not throw.
  void notify(std::function<void()> callback) { state_->notify_once(std::move(callback)); }

  /// Waits for the end and returns everything, whether or not the pieces were read. Throws what made the request fail.
  [[nodiscard]] Completion result() { return state_->wait_for_end(); }

  /// Whether the request is over; pieces may be left to read.
  [[nodiscard]] bool over() const { return state_->over(); }

  /// Ends the request before the engine's next step. Does nothing if it is over.
  void cancel() { cancel_(); }

  class Iterator {
   public:
    using value_type = Piece;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Handle& handle) : handle_(&handle), piece_(handle.next()) {}
    const Piece& operator*() const { return *piece_; }
    const Piece* operator->() const { return &*piece_; }
    Iterator& operator++() {
      piece_ = handle_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return !piece_; }

   private:
    Handle* handle_;
    std::optional<Piece> piece_;
  };

  /// The pieces, as they are made. Once only.
  Iterator begin() { return Iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  std::shared_ptr<detail::RequestState> state_;
  std::function<void()> cancel_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

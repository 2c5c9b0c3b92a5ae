// SPDX-License-Identifier: MIT
/// Engines for tests: after every step all units of the cache are accounted for, and at the end all are free.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/engine.hpp>

namespace gpt2ie_test {

/// The handle of a request that must not meet a full queue.
template <class Engine>
gpt2ie::Handle submit(Engine& engine, gpt2ie::Request request) {
  std::variant<gpt2ie::Handle, gpt2ie::QueueFull> submitted = engine.submit(std::move(request));
  REQUIRE(std::holds_alternative<gpt2ie::Handle>(submitted));
  return std::get<gpt2ie::Handle>(submitted);
}

/// A request that keeps the engine's thread waiting from its first token until it is opened: what is submitted before
/// that runs together.
class Gate {
 public:
  template <class Engine>
  explicit Gate(Engine& engine) {
    const std::shared_future<void> opened = opened_.get_future().share();
    submit(engine, {.prompt = std::vector<gpt2ie::Token>{1},
                    .options = {.max_new_tokens = 1},
                    .on_piece = [opened](const gpt2ie::Piece& /*piece*/) { opened.wait(); }});
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!std::exchange(open_, true)) opened_.set_value();
  }

 private:
  bool open_ = false;
  std::promise<void> opened_;
};

/// An engine that is checked at every step, and drained and checked at its end.
template <class Engine>
class CheckedEngine {
 public:
  /// args: what the engine's constructor takes before its options.
  template <class... Args>
  explicit CheckedEngine(gpt2ie::EngineOptions options, typename Engine::backend_type backend, Args&&... args) {
    options.on_step = [this](const gpt2ie::StepReport& /*report*/) { check(); };
    engine_ = std::make_unique<Engine>(std::forward<Args>(args)..., options, std::move(backend));
    watched_ = engine_.get();
    total_ = engine_->stats().free_units;
  }
  ~CheckedEngine() {
    if (engine_) check_drained();
    CHECK(sound_);
  }
  CheckedEngine(const CheckedEngine&) = delete;
  CheckedEngine& operator=(const CheckedEngine&) = delete;

  Engine& operator*() { return *engine_; }
  Engine* operator->() { return engine_.get(); }

  gpt2ie::Handle submit(gpt2ie::Request request) { return gpt2ie_test::submit(*engine_, std::move(request)); }
  gpt2ie::Completion ask(gpt2ie::Request request) { return submit(std::move(request)).result(); }

  /// On any thread, so it asserts nothing itself.
  void check() {
    const gpt2ie::EngineStats stats = watched_->stats();
    const bool all = stats.used_units + stats.cached_units + stats.free_units == total_;
    const bool sane = stats.used_units >= 0 && stats.cached_units >= 0 && stats.free_units >= 0 && stats.queued >= 0 &&
                      stats.running <= stats.slots;
    if (!all || !sane) sound_ = false;
  }
  /// The engine goes while it may be busy.
  void destroy() { engine_.reset(); }

 private:
  void check_drained() {
    engine_->drain(std::chrono::minutes(5));
    const gpt2ie::EngineStats stats = engine_->stats();
    check();
    CHECK(stats.used_units == 0);
    CHECK(stats.running == 0);
    CHECK(stats.waiting == 0);
    CHECK(stats.queued == 0);
    CHECK(stats.submitted == stats.finished + stats.cancelled + stats.timed_out + stats.failed);
  }

  std::atomic<bool> sound_ = true;
  int total_ = 0;
  const Engine* watched_ = nullptr;  // what the engine's own thread reads while engine_ goes
  std::unique_ptr<Engine> engine_;
};

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// many threads at one engine. Under the thread sanitizer for ten seconds, else for one.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/engine/engine.hpp>

#include "unit/engine/tales_engine.hpp"

namespace {

using gpt2ie::FinishReason;
using gpt2ie::Handle;
using gpt2ie::Token;
using CheckedEngine = gpt2ie_test::TalesEngine<gpt2ie::Engine<>>;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_THREAD__)
constexpr std::chrono::milliseconds duration = std::chrono::seconds(10);
#else
constexpr std::chrono::milliseconds duration = std::chrono::seconds(1);
#endif
constexpr int most_threads = 16;

const std::vector<Token> prompt = {3217, 654, 258, 538, 308, 258, 453, 743, 11, 269, 278, 308, 258, 453, 743, 11, 269};
constexpr int answer_tokens = 6;

const std::vector<Token>& expected_tokens() {
  static const std::vector<Token> tokens =
      gpt2ie_test::make_tales().generate(prompt, gpt2ie_test::greedy(answer_tokens)).tokens;
  return tokens;
}

/// What all threads have seen together.
struct Seen {
  std::atomic<std::size_t> submitted{0}, finished{0}, cancelled{0}, timed_out{0}, full{0}, refused{0}, drains{0};
  std::atomic<std::size_t> wrong{0};  // answers that are not what they are alone
};

class Caller {
 public:
  Caller(CheckedEngine& engine, unsigned seed, Seen& seen) : engine_(&engine), random_(seed), seen_(seen) {}

  /// Until told to stop; near the end with drains.
  void run(Clock::time_point begin_drains, Clock::time_point end) {
    while (Clock::now() < end) {
      const int what = draw(8);
      if (what < 3) {
        submit();
      } else if (what == 3) {
        engine_->check();
      } else if (!handles_.empty()) {
        use_handle(what);
      }
      if (draw(20) == 0 && Clock::now() >= begin_drains) {
        (*engine_)->drain(std::chrono::milliseconds(draw(10)));
        ++seen_.drains;
      }
    }
  }
  /// The engine may go now, and the handles still be used.
  void finish() {
    for (Handle& handle : handles_) {
      if (draw(2) == 0) handle.cancel();
      end(handle);
    }
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void submit() {
    gpt2ie::Request request{.prompt = prompt, .options = gpt2ie_test::greedy(answer_tokens), .n = 1 + draw(3) / 2};
    request.priority = draw(3);
    request.prompt_logprobs = draw(4) == 0;
    if (draw(4) == 0) request.cache_salt = "other";
    if (draw(10) == 0) request.timeout = std::chrono::milliseconds(draw(20));
    if (draw(4) == 0) {
      // From the engine's own thread.
      request.on_piece = [engine = engine_](const gpt2ie::Piece& piece) {
        if (piece.finish_reason == FinishReason::none) engine->check();
      };
    }
    try {
      auto submitted = (*engine_)->submit(std::move(request));
      if (Handle* handle = std::get_if<Handle>(&submitted)) {
        ++seen_.submitted;
        handles_.push_back(*handle);
      } else {
        ++seen_.full;
      }
    } catch (const gpt2ie::Error& error) {
      seen_.wrong += error.code() != gpt2ie::errc::unavailable;
      ++seen_.refused;
    }
  }

  void use_handle(int what) {
    const auto at = static_cast<std::size_t>(draw(static_cast<int>(handles_.size())));
    Handle handle = handles_[at];
    gpt2ie::Piece piece;
    if (what == 4) handle.cancel();
    if (what == 5) static_cast<void>(handle.poll(piece));
    if (what == 6) handle.notify([told = std::make_shared<int>(0)] { ++*told; });
    if (what == 7 || handles_.size() > 6) {
      handles_.erase(handles_.begin() + static_cast<std::ptrdiff_t>(at));
      end(handle);
    }
  }

  void end(Handle& handle) {
    bool cancelled = false, timed_out = false;
    for (const gpt2ie::GenerateResult& choice : handle.result().choices) {
      cancelled = cancelled || choice.finish_reason == FinishReason::cancelled;
      timed_out = timed_out || choice.finish_reason == FinishReason::timeout;
      if (choice.finish_reason == FinishReason::length) seen_.wrong += choice.tokens != expected_tokens();
    }
    ++(cancelled ? seen_.cancelled : timed_out ? seen_.timed_out : seen_.finished);
  }

  CheckedEngine* engine_;
  std::mt19937 random_;
  Seen& seen_;
  std::vector<Handle> handles_;
};

/// An engine's life among callers, to its destruction.
void live(Clock::duration length, unsigned seed, Seen& seen) {
  CheckedEngine engine({.limits = {.max_rows = 64, .cache_units = 9, .max_length = 32}, .max_queued = 40}, 2);
  const Clock::time_point begin = Clock::now();
  std::barrier<> left(most_threads + 1);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < most_threads; ++i) {
    threads.emplace_back([&, i] {
      Caller caller(engine, seed * 100 + i, seen);
      caller.run(begin + length * 3 / 4, begin + length);
      left.arrive_and_wait();
      caller.finish();
    });
  }
  left.arrive_and_wait();
  engine.destroy();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("X-3: sixteen threads submit, cancel, read, and drain, while engines come and go") {
  Seen seen;
  REQUIRE(expected_tokens().size() == answer_tokens);
  constexpr int engines = 4;
  for (unsigned i = 0; i < engines; ++i) live(duration / engines, i, seen);
  MESSAGE(seen.submitted.load(), " submitted, ", seen.finished.load(), " finished, ", seen.cancelled.load(),
          " cancelled, ", seen.timed_out.load(), " late, ", seen.full.load(), " met a full queue, ",
          seen.refused.load(), " refused, ", seen.drains.load(), " drains");
  CHECK(seen.wrong.load() == 0);
  CHECK(seen.submitted.load() == seen.finished + seen.cancelled + seen.timed_out);
  CHECK(seen.finished.load() > 0);
  CHECK(seen.cancelled.load() > 0);
  CHECK(seen.drains.load() > 0);
}

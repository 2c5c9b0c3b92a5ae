// SPDX-License-Identifier: MIT
/// A small pool for short parallel loops: a dozen layers a token, a few loops a layer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// `threads` threads, the caller's included. Between loops a worker watches for the next one for a few microseconds and
/// then sleeps; an idle pool costs nothing. One loop at a time: callers take turns.
class ThreadPool {
 public:
  /// threads: 1 to 1024. One thread starts none.
  explicit ThreadPool(int threads) {
    if (threads < 1 || threads > 1024) {
      fail(errc::bad_request, "between 1 and 1024 threads", std::to_string(threads));
    }
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }

  ~ThreadPool() {
    stop_.store(true, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(i) once for each i in [0, count), in any order, on any of the threads; returns when all are done. At
  /// least `grain` neighbours are handed out together; a loop that is no longer than that runs on the caller. body must
  /// not throw.
  template <class Body>
  void parallel_for(int count, int grain, const Body& body) {
    grain = std::max(grain, 1);
    if (workers_.empty() || count <= grain) {
      for (int i = 0; i < count; ++i) body(i);
      return;
    }
    // Four helpings a thread even out a core that is slow or busy elsewhere.
    helping_ = std::max(grain, count / (threads() * 4));
    count_ = count;
    body_ = &body;
    call_ = [](const void* erased, int from, int to) {
      for (int i = from; i < to; ++i) (*static_cast<const Body*>(erased))(i);
    };
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    eat();
    wait_while(busy_, [](std::uint32_t busy) { return busy != 0; });
  }

 private:
  static constexpr int spins = 4000;

  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  /// Waits until `pending` is false of the value; watches first, then sleeps.
  template <class Pending>
  static std::uint32_t wait_while(std::atomic<std::uint32_t>& value, Pending pending) {
    for (int i = 0; i < spins; ++i) {
      const std::uint32_t seen = value.load(std::memory_order_acquire);
      if (!pending(seen)) return seen;
      relax();
    }
    for (;;) {
      const std::uint32_t seen = value.load(std::memory_order_acquire);
      if (!pending(seen)) return seen;
      value.wait(seen, std::memory_order_acquire);
    }
  }

  void eat() {
    for (;;) {
      const int from = next_.fetch_add(helping_, std::memory_order_relaxed);
      if (from >= count_) return;
      call_(body_, from, std::min(from + helping_, count_));
    }
  }

  void work() {
    std::uint32_t seen = 0;
    for (;;) {
      seen = wait_while(generation_, [seen](std::uint32_t generation) { return generation == seen; });
      if (stop_.load(std::memory_order_relaxed)) return;
      eat();
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
    }
  }

  std::vector<std::thread> workers_;
  std::atomic<std::uint32_t> generation_{0}, busy_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> next_{0};
  int count_ = 0, helping_ = 1;
  const void* body_ = nullptr;
  void (*call_)(const void*, int, int) = nullptr;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

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
/// then sleeps; an idle pool costs nothing. The caller never waits for a worker that has not begun: on a busy machine
/// it does the work itself. One loop at a time: one thread calls.
class ThreadPool {
 public:
  /// threads: 1 to 1024. One thread starts none. Throws std::system_error if the system has no thread left.
  explicit ThreadPool(int threads) : ThreadPool() {  // so that the destructor stops those that have started
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
    const auto helpings = static_cast<std::uint32_t>((count + helping_ - 1) / helping_);
    left_.store(helpings, std::memory_order_relaxed);
    loop_ = (loop_ & ~unclaimed_mask) + (unclaimed_mask + 1);
    unclaimed_.store(loop_ | helpings, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    eat();
    wait_while(left_, [](std::uint32_t left) { return left != 0; });
  }

 private:
  ThreadPool() = default;

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

  /// Claims helpings and works them off until none is left. Only a claim makes the loop's fields safe to read: the
  /// caller waits for every claimed helping, but not for threads that come too late to claim one.
  void eat() {
    std::uint64_t seen = unclaimed_.load(std::memory_order_acquire);
    while ((seen & unclaimed_mask) != 0) {
      if (!unclaimed_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      const int from = (static_cast<int>(seen & unclaimed_mask) - 1) * helping_;
      call_(body_, from, std::min(from + helping_, count_));
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
      seen = unclaimed_.load(std::memory_order_acquire);
    }
  }

  void work() {
    std::uint32_t seen = 0;
    for (;;) {
      seen = wait_while(generation_, [seen](std::uint32_t generation) { return generation == seen; });
      if (stop_.load(std::memory_order_relaxed)) return;
      eat();
    }
  }

  static constexpr std::uint64_t unclaimed_mask = 0xffffffff;

  std::vector<std::thread> workers_;
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> stop_{false};
  // The loop's number above, its helpings that nobody has claimed below: a claim in one loop can't count in another.
  std::atomic<std::uint64_t> unclaimed_{0};
  std::uint64_t loop_ = 0;
  std::atomic<std::uint32_t> left_{0};  // helpings that are not done
  int count_ = 0, helping_ = 1;
  const void* body_ = nullptr;
  void (*call_)(const void*, int, int) = nullptr;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Every index once, whatever the threads, the grain and the length. Run under the thread sanitizer too.
#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/thread_pool.hpp>

#include "unit/core/error_code.hpp"

using gpt2ie::ThreadPool;

TEST_CASE("each index is visited once") {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const int count : {0, 1, 2, 7, 64, 1000}) {
      for (const int grain : {0, 1, 5, 64, 5000}) {
        std::vector<int> visits(static_cast<std::size_t>(count), 0);
        pool.parallel_for(count, grain, [&](int i) { ++visits[static_cast<std::size_t>(i)]; });
        CHECK(visits == std::vector<int>(static_cast<std::size_t>(count), 1));
      }
    }
  }
}

TEST_CASE("what a loop wrote is seen after it, and by the next loop") {
  ThreadPool pool(4);
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  for (int round = 0; round < 300; ++round) {
    // Each loop reads what another thread may have written in the one before.
    std::vector<int> shifted(values.size());
    pool.parallel_for(
        100, 1, [&](int i) { shifted[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>((i + 1) % 100)]; });
    values.swap(shifted);
  }
  CHECK(values[0] == 0);
  CHECK(values[99] == 99);
}

TEST_CASE("a loop no longer than its grain runs on the caller") {
  ThreadPool pool(3);
  const auto caller = std::this_thread::get_id();
  bool elsewhere = false;
  pool.parallel_for(8, 8, [&](int) { elsewhere = elsewhere || std::this_thread::get_id() != caller; });
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a sleeping pool wakes for the next loop") {
  ThreadPool pool(3);
  std::atomic<int> sum{0};
  for (int round = 0; round < 3; ++round) {
    pool.parallel_for(50, 1, [&](int i) { sum.fetch_add(i, std::memory_order_relaxed); });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long enough for the workers to stop watching
  }
  CHECK(sum.load() == 3 * 49 * 50 / 2);
}

TEST_CASE("pools come and go, with and without work") {
  std::atomic<int> sum{0};
  for (int i = 0; i < 40; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 2 == 0) pool.parallel_for(10, 1, [&](int) { sum.fetch_add(1, std::memory_order_relaxed); });
  }
  CHECK(sum.load() == 200);
}

TEST_CASE("several pools work at the same time") {
  std::vector<std::thread> callers;
  std::atomic<int> sum{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      ThreadPool pool(2);
      for (int round = 0; round < 50; ++round) {
        pool.parallel_for(20, 1, [&](int) { sum.fetch_add(1, std::memory_order_relaxed); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sum.load() == 3 * 50 * 20);
}

TEST_CASE("numbers of threads outside 1 to 1024 are refused") {
  for (const int threads : {0, -1, 1025}) {
    CHECK(gpt2ie_test::error_code([&] { ThreadPool pool(threads); }) == gpt2ie::errc::bad_request);
  }
}

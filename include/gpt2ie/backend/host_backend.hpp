// SPDX-License-Identifier: MIT
/// What the CPU backends share: host memory, parallel loops, no peers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/host_buffer.hpp>
#include <gpt2ie/core/thread_pool.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Base of the CPU backends. Movable, not copyable: each owns its threads.
class HostBackend {
 public:
  using space = host_space;

  /// threads: 0 stands for one per processor.
  explicit HostBackend(int threads) : pool_(std::make_unique<ThreadPool>(threads != 0 ? threads : default_threads())) {}

  [[nodiscard]] int threads() const { return pool_->threads(); }

  template <class T>
  [[nodiscard]] HostBuffer<T> allocate(std::size_t n) const {
    return HostBuffer<T>(n);
  }
  template <class T>
  void upload(T* to, const T* from, std::size_t n) const {
    if (n != 0) std::memcpy(to, from, n * sizeof(T));
  }
  template <class T>
  void download(T* to, const T* from, std::size_t n) const {
    if (n != 0) std::memcpy(to, from, n * sizeof(T));
  }
  template <class T>
  void copy(T* to, const T* from, std::size_t n) const {
    if (n != 0) std::memcpy(to, from, n * sizeof(T));
  }

  /// Has the system give memory that holds nothing yet now, and not in the middle of the work that first writes it.
  template <class T>
  void populate(T* data, std::size_t n) const {
    constexpr std::size_t smallest_page = 4096;
    // Volatile: the writes have no other effect that a compiler could see.
    volatile auto* bytes = reinterpret_cast<unsigned char*>(data);
    for (std::size_t i = 0; i < n * sizeof(T); i += smallest_page) bytes[i] = 0;
  }

  template <class Kernel>
  void launch(int count, std::size_t cost, const Kernel& kernel) const {
    // Waking a thread costs about as much as this many operations.
    constexpr std::size_t worth_a_thread = 20000;
    const std::size_t grain = worth_a_thread / std::max<std::size_t>(cost, 1) + 1;
    pool_->parallel_for(count, static_cast<int>(std::min<std::size_t>(grain, 1u << 30)), kernel);
  }
  void wait() const {}
  void reserve(int /*rows*/, int /*elements*/) const {}
  void all_reduce(float* /*x*/, std::size_t /*n*/) const {}
  [[nodiscard]] bool leads() const { return true; }

 private:
  static int default_threads() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 1024u)); }

  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Counts what a test program asks of operator new, on any thread. Replaces it, so that exactly one source file of a
/// program may include this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace gpt2ie_test {

/// Calls and bytes so far.
inline std::atomic<std::size_t> allocations{0}, allocated_bytes{0};

namespace detail {

inline void* counted(void* memory, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(size, std::memory_order_relaxed);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace detail
}  // namespace gpt2ie_test

// Not inlined: GCC would warn that free() takes what operator new gave.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return gpt2ie_test::detail::counted(std::malloc(size == 0 ? 1 : size), size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto boundary = static_cast<std::size_t>(alignment);
  const std::size_t whole = (size + boundary - 1) / boundary * boundary;
  return gpt2ie_test::detail::counted(std::aligned_alloc(boundary, whole == 0 ? boundary : whole), size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

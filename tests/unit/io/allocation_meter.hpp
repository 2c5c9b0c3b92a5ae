// SPDX-License-Identifier: MIT
/// Counts what one test program allocates. Replaces operator new, so that exactly one source file may include it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace gpt2ie_test {

/// Bytes asked of operator new so far.
inline std::size_t allocated_bytes = 0;

}  // namespace gpt2ie_test

// Not inlined: GCC would warn that free() takes what operator new gave.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  gpt2ie_test::allocated_bytes += size;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

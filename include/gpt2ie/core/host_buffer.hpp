// SPDX-License-Identifier: MIT
/// An owning array in host memory.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// `size` elements at a 64-byte boundary, uninitialised. Movable, not copyable. Arrays of 4 MiB and more ask the system
/// for huge pages: weights are read from end to end for every token, and small pages cost a fifth of the bandwidth.
template <class T>
class HostBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HostBuffer() = default;
  explicit HostBuffer(std::size_t size)
      : data_(size ? static_cast<T*>(::operator new(bytes(size), alignment(size))) : nullptr), size_(size) {
#if defined(__linux__)
    if (is_large(size)) ::madvise(data_, bytes(size), MADV_HUGEPAGE);  // a wish; refusal changes nothing
#endif
  }
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HostBuffer() { ::operator delete(data_, alignment(size_)); }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  static bool is_large(std::size_t size) { return size * sizeof(T) >= 2 * huge_page; }
  static std::size_t bytes(std::size_t size) {
    const std::size_t exact = size * sizeof(T);
    return is_large(size) ? (exact + huge_page - 1) / huge_page * huge_page : exact;
  }
  static std::align_val_t alignment(std::size_t size) { return std::align_val_t{is_large(size) ? huge_page : 64}; }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

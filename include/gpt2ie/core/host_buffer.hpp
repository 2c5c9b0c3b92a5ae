// SPDX-License-Identifier: MIT
/// An owning array in host memory.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// `size` elements at a 64-byte boundary, uninitialised. Movable, not copyable.
template <class T>
class HostBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HostBuffer() = default;
  explicit HostBuffer(std::size_t size)
      : data_(size ? static_cast<T*>(::operator new(size * sizeof(T), alignment)) : nullptr), size_(size) {}
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HostBuffer() { ::operator delete(data_, alignment); }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t alignment{64};
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

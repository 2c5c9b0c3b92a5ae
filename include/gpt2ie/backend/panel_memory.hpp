// SPDX-License-Identifier: MIT
/// The memory of packed weights: the matrix's own, or a file's that lies in the same layout.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Movable, not copyable, like HostBuffer.
template <class T>
class PanelMemory {
 public:
  PanelMemory() = default;
  explicit PanelMemory(std::size_t size) : own_(size), data_(own_.data()), size_(size) {}
  /// What `owner` keeps in memory.
  PanelMemory(const T* data, std::size_t size, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Null for memory of someone else.
  [[nodiscard]] T* own() { return own_.data(); }

 private:
  HostBuffer<T> own_;
  std::shared_ptr<const void> owner_;
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// Memory for rows of K and V, and beside it for their scales where the element needs one for each row and head.
///
/// A scale belongs to head_dim neighbouring elements, and scales lie in the order of what they belong to.
#pragma once

#include <cstddef>
#include <utility>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The owning array that a backend's allocate<T> returns.
template <class B, class T>
using buffer_of = decltype(std::declval<B&>().template allocate<T>(std::size_t{}));

/// Where the heads of neighbouring rows lie, in elements.
struct HeadLayout {
  std::ptrdiff_t row_stride, head_stride;
  int head_dim;
};

/// Rows of K and V as a view holds them. Host and device.
template <class T>
struct StoredRows {
  T* element;
  float* scale;  ///< one for each head_dim elements; unused where elements stand for themselves

  /// `count` rows from position `first` on, whose K and V begin at these elements.
  [[nodiscard]] GPT2IE_HD Tile<T> tile(std::ptrdiff_t k, std::ptrdiff_t v, const HeadLayout& heads, int first,
                                       int count) const {
    return {element + k,
            element + v,
            scale_at(k, heads.head_dim),
            scale_at(v, heads.head_dim),
            heads.row_stride,
            heads.head_stride,
            first,
            count};
  }

  /// The row whose K and V begin at these elements.
  [[nodiscard]] GPT2IE_HD Place<T> place(std::ptrdiff_t k, std::ptrdiff_t v, const HeadLayout& heads) const {
    return {element + k, element + v, scale_at(k, heads.head_dim), scale_at(v, heads.head_dim), heads.head_stride};
  }

 private:
  [[nodiscard]] GPT2IE_HD float* scale_at(std::ptrdiff_t at, int head_dim) const {
    if constexpr (PlainElement<T>) {
      return nullptr;
    } else {
      return scale + at / head_dim;
    }
  }
};

namespace detail {

/// Owns rows in a backend's memory. Movable; empty by default. Plain elements have no scales: nothing is allocated or
/// copied for them.
template <class T, class B>
class RowMemory {
 public:
  RowMemory() = default;
  /// elements: of whole heads.
  RowMemory(B& backend, const ModelConfig& config, std::size_t elements)
      : head_dim_(static_cast<std::size_t>(config.head_dim())), elements_(backend.template allocate<T>(elements)) {
    if constexpr (!PlainElement<T>) scales_ = backend.template allocate<float>(elements / head_dim_);
  }

  [[nodiscard]] StoredRows<T> rows() { return {elements_.data(), scales_.data()}; }

  /// Has the system give the memory of `count` elements from `from` on, which hold nothing yet, where it does not do so
  /// by itself before they are first written.
  void populate(B& backend, std::size_t from, std::size_t count) {
    if constexpr (HasPopulate<B>) {
      backend.populate(elements_.data() + from, count);
      if constexpr (!PlainElement<T>) backend.populate(scales_.data() + from / head_dim_, count / head_dim_);
    }
  }

  /// Copies `count` elements of whole heads, and their scales, from element `from` of `source` to element `to` of this.
  void copy(B& backend, std::size_t to, const RowMemory& source, std::size_t from, std::size_t count,
            CopyCount& copies) {
    if (count == 0) return;
    backend.copy(elements_.data() + to, source.elements_.data() + from, count);
    copies.bytes += count * sizeof(T);
    if constexpr (!PlainElement<T>) {
      backend.copy(scales_.data() + to / head_dim_, source.scales_.data() + from / head_dim_, count / head_dim_);
      copies.bytes += count / head_dim_ * sizeof(float);
    }
  }

 private:
  std::size_t head_dim_ = 1;
  buffer_of<B, T> elements_;
  buffer_of<B, float> scales_;
};

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI

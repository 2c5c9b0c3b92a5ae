// SPDX-License-Identifier: MIT
/// Slabs: all of one sequence in one block of memory. kv::Contiguous and kv::Concat differ in when they allocate it.
///
/// Layout of a slab of `rows` rows: [n_layer][K, V][rows][E].
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The owning array that a backend's allocate<T> returns.
template <class B, class T>
using buffer_of = decltype(std::declval<B&>().template allocate<T>(std::size_t{}));

/// One tile a run.
template <class T>
struct SlabView {
  using element = T;

  StepView step;
  T* const* base;               ///< [runs]: the run's slab
  const std::ptrdiff_t* plane;  ///< [runs]: elements from K to V, and from V to the next layer's K
  int n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int /*run*/) const { return 1; }

  [[nodiscard]] GPT2IE_HD Tile<T> tile(int layer, int run, int /*index*/) const {
    const T* k = base[run] + 2 * layer * plane[run];
    return {k, k + plane[run], nullptr, nullptr, n_embd, head_dim, 0, step.run_context[run]};
  }

  [[nodiscard]] GPT2IE_HD Place<T> place(int layer, int row) const {
    const int run = step.row_run[row];
    T* k = base[run] + 2 * layer * plane[run] + static_cast<std::ptrdiff_t>(step.position[row]) * n_embd;
    return {k, k + plane[run], nullptr, nullptr, head_dim};
  }
};

namespace detail {

/// The tables behind a SlabView, in the backend's memory at addresses that stay.
template <class T, class B>
class SlabTables {
 public:
  SlabTables(B& backend, const Limits& limits)
      : base_(backend.template allocate<T*>(size(limits))),
        plane_(backend.template allocate<std::ptrdiff_t>(size(limits))) {
    host_base_.reserve(size(limits));
    host_plane_.reserve(size(limits));
  }

  void clear() {
    host_base_.clear();
    host_plane_.clear();
  }
  void add_run(T* base, std::ptrdiff_t plane) {
    host_base_.push_back(base);
    host_plane_.push_back(plane);
  }
  SlabView<T> view(B& backend, const ModelConfig& config, StepView step) {
    backend.upload(base_.data(), host_base_.data(), host_base_.size());
    backend.upload(plane_.data(), host_plane_.data(), host_plane_.size());
    return {step, base_.data(), plane_.data(), config.n_embd, config.head_dim()};
  }

 private:
  static std::size_t size(const Limits& limits) { return static_cast<std::size_t>(limits.max_sequences); }

  buffer_of<B, T*> base_;
  buffer_of<B, std::ptrdiff_t> plane_;
  std::vector<T*> host_base_;
  std::vector<std::ptrdiff_t> host_plane_;
};

/// Copies the first `rows` rows of every plane from one slab to another; planes are from_plane and to_plane elements
/// long.
template <class B, class T>
void copy_slab(B& backend, const ModelConfig& config, int rows, const T* from, std::ptrdiff_t from_plane, T* to,
               std::ptrdiff_t to_plane, CopyCount& copies) {
  const std::size_t n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(config.n_embd);
  for (int plane = 0; n != 0 && plane < 2 * config.n_layer; ++plane) {
    backend.copy(to + plane * to_plane, from + plane * from_plane, n);
    copies.bytes += n * sizeof(T);
  }
}

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI

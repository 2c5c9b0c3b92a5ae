// SPDX-License-Identifier: MIT
/// Heads of K and V as a cache keeps them.
#pragma once

#include <cstddef>
#include <vector>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/quantize.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie_test {

/// Writes x[head_dim] to to[head_dim]. scale: where its scale goes, if T has one.
template <class T>
void store_head(const float* x, int head_dim, T* to, float* scale) {
  if constexpr (gpt2ie::PlainElement<T>) {
    for (int d = 0; d < head_dim; ++d) to[d] = gpt2ie::from_float<T>(x[d]);
  } else {
    *scale = gpt2ie::quantize(x, head_dim, to);
  }
}

/// Writes a row of K and V, [n_head, head_dim] each.
template <class T>
void store_row(const float* k, const float* v, int n_head, int head_dim, const gpt2ie::Place<T>& place) {
  for (int head = 0; head < n_head; ++head, k += head_dim, v += head_dim) {
    const std::ptrdiff_t at = head * place.head_stride;
    store_head(k, head_dim, place.k + at, place.k_scale ? place.k_scale + at / head_dim : nullptr);
    store_head(v, head_dim, place.v + at, place.v_scale ? place.v_scale + at / head_dim : nullptr);
  }
}

/// What is read back where heads x[heads, head_dim] were stored.
template <class T>
std::vector<float> as_stored(std::vector<float> x, int head_dim) {
  const auto size = static_cast<std::size_t>(head_dim);
  std::vector<T> stored(size);
  for (std::size_t first = 0; first < x.size(); first += size) {
    float scale = 1;
    store_head(x.data() + first, head_dim, stored.data(), &scale);
    for (std::size_t d = 0; d < size; ++d) x[first + d] = gpt2ie::to_float(stored[d]) * scale;
  }
  return x;
}

}  // namespace gpt2ie_test

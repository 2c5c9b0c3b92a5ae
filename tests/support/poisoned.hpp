// SPDX-License-Identifier: MIT
/// A CPU backend whose fresh memory is full of NaN: what is read before it is written shows.
#pragma once

#include <cstddef>
#include <cstring>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie_test {

/// Every byte of new memory is `poison`; 0xff makes floats and halves NaN, indices -1 and pointers invalid.
template <class Base>
class Poisoned : public Base {
 public:
  using Base::Base;

  inline static unsigned char poison = 0xff;

  template <class T>
  [[nodiscard]] gpt2ie::HostBuffer<T> allocate(std::size_t n) const {
    gpt2ie::HostBuffer<T> buffer(n);
    if (n != 0) std::memset(static_cast<void*>(buffer.data()), poison, n * sizeof(T));
    return buffer;
  }
};

}  // namespace gpt2ie_test

namespace gpt2ie::inline GPT2IE_ABI {

/// It runs the kernels of the backend that it stands for.
template <class Policy, class Base>
struct attention_kernel<Policy, gpt2ie_test::Poisoned<Base>> : attention_kernel<Policy, Base> {};

}  // namespace gpt2ie::inline GPT2IE_ABI

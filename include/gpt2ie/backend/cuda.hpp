// SPDX-License-Identifier: MIT
/// backend::Cuda outside CUDA: a name that says what it needs.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>

#if !defined(GPT2IE_CUDA_CUH)
namespace gpt2ie::inline GPT2IE_ABI {
namespace backend {

/// Defined by <gpt2ie/cuda.cuh>, which only nvcc compiles.
template <class W>
class Cuda {
  static_assert(always_false<W>,
                "gpt2ie: backend::Cuda needs nvcc: compile this file as CUDA (.cu) and include <gpt2ie/cuda.cuh>");
};

}  // namespace backend

template <class W>
inline constexpr bool detail::refused<backend::Cuda<W>> = true;

}  // namespace gpt2ie::inline GPT2IE_ABI
#endif

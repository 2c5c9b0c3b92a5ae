// SPDX-License-Identifier: MIT
/// Four floats as one value, for host kernels: a vector type that GCC, Clang and nvcc's host pass map to one register.
///
/// Loops over plain arrays become good vectors only with some compilers and flags; this type does with all of them.
#pragma once

#include <cstring>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

using Float4 = float __attribute__((vector_size(16)));

/// Loads four elements from any address, converted to float.
template <NumberElement T>
inline Float4 load4(const T* from) {
  if constexpr (one_of<T, float>) {
    Float4 x;
    std::memcpy(&x, from, sizeof x);
    return x;
  } else {
    return Float4{to_float(from[0]), to_float(from[1]), to_float(from[2]), to_float(from[3])};
  }
}

inline void store4(float* to, Float4 x) { std::memcpy(to, &x, sizeof x); }

inline Float4 broadcast4(float x) { return Float4{x, x, x, x}; }

/// madd on each of the four.
inline Float4 madd4(Float4 a, Float4 b, Float4 c) {
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
  return Float4{__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]), __builtin_fmaf(a[2], b[2], c[2]),
                __builtin_fmaf(a[3], b[3], c[3])};
#else
  return a * b + c;
#endif
}

}  // namespace gpt2ie::inline GPT2IE_ABI

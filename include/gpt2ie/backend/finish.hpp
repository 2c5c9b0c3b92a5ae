// SPDX-License-Identifier: MIT
/// What becomes of a product's sums on their way out, in portable code, and the choice of an instruction set's own.
#pragma once

#include <cstddef>

#include <gpt2ie/backend/finish_args.hpp>
#include <gpt2ie/backend/finish_avx2.hpp>
#include <gpt2ie/backend/finish_avx512.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

struct FinishPortable {
  static void finish(const FinishArgs& args) {
    for (int r = 0; r < args.rows; ++r) {
      float x[FinishArgs::width] = {};
      const float* sums = args.sums + r * FinishArgs::width;
      const std::ptrdiff_t at = r * args.stride;
      for (int c = 0; c < args.columns; ++c) x[c] = args.bias ? sums[c] + args.bias[c] : sums[c];
      activate(args.activation, x, FinishArgs::width);
      for (int c = 0; c < args.columns; ++c) args.y[at + c] = args.residual ? x[c] + args.residual[at + c] : x[c];
    }
  }
};

using Finish = void (*)(const FinishArgs&);

/// Precondition: has_isa(isa).
[[nodiscard]] inline Finish finish_of(Isa isa) {
#if GPT2IE_X86_KERNELS
  if (isa == Isa::avx2) return &FinishAvx2<float>::finish;
  if (isa == Isa::avx512) return &FinishAvx512<float>::finish;
#endif
  static_cast<void>(isa);
  return &FinishPortable::finish;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

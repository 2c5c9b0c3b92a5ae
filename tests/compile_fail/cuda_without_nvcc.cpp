// SPDX-License-Identifier: MIT
// expect: gpt2ie: backend::Cuda needs nvcc
/// A CUDA backend in a file that a host compiler compiles.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<backend::Cuda<bf16>> generator{checkpoint};
#else
  Generator<backend::SimdCpu<float>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

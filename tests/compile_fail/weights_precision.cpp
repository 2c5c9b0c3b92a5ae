// SPDX-License-Identifier: MIT
// expect: gpt2ie: backend::SimdCpu<W>: W is the precision of the weights
/// Weights in a precision that the backend lacks.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<backend::SimdCpu<double>> generator{checkpoint};
#else
  Generator<backend::SimdCpu<float>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

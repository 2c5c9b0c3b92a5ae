// SPDX-License-Identifier: MIT
/// H-1, H-2: units that include every header link into one program. Those compiled for the same instruction set share
/// one definition of each function, whoever compiled them; those compiled for another one have their own.
#include <cstdio>

const void* plain_first();
const void* plain_second();
#if defined(GPT2IE_ODR_CUDA)
const void* cuda_first();
const void* cuda_second();
#endif
#if defined(GPT2IE_ODR_AVX2)
const void* avx2_first();
#endif

namespace {

int wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "expected that %s\n", what);
  ++wrong;
}

}  // namespace

int main() {
  expect(plain_first() == plain_second(), "two units share gpt2ie::fail");
#if defined(GPT2IE_ODR_CUDA)
  expect(cuda_first() == plain_first() && cuda_second() == plain_first(),
         "units compiled as .cu and as .cpp share gpt2ie::fail");
#endif
#if defined(GPT2IE_ODR_AVX2)
  expect(avx2_first() != plain_first(), "a unit compiled with -mavx2 has its own gpt2ie::fail");
#endif
  return wrong == 0 ? 0 : 1;
}

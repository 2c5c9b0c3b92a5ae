// SPDX-License-Identifier: MIT
// expect: gpt2ie: Attention<P>: P is no attention policy
/// A cache tag in the attention's place.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<Attention<kv::Paged<float, 16>>> generator{checkpoint};
#else
  Generator<Attention<attention::Standard>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

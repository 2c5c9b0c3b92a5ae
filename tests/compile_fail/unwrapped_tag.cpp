// SPDX-License-Identifier: MIT
// expect: gpt2ie: a part is none of a backend, Attention<P>, KVCache<S>
/// A policy without its wrapper.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<kv::Paged<float, 16>> generator{checkpoint};
#else
  Generator<KVCache<kv::Paged<float, 16>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

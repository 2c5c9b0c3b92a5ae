// SPDX-License-Identifier: MIT
// expect: gpt2ie: KVCache<S>: S is no cache storage
/// An attention tag in the cache's place.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<attention::Standard>> generator{checkpoint};
#else
  Generator<KVCache<kv::Contiguous<float>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

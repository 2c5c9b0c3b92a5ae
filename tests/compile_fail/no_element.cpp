// SPDX-License-Identifier: MIT
// expect: gpt2ie: KVCache<S>: S is no cache storage
/// A cache of double, which is no cache element.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<kv::Paged<double, 16>>> generator{checkpoint};
#else
  Generator<KVCache<kv::Paged<f16, 16>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

// SPDX-License-Identifier: MIT
// expect: gpt2ie: this attention policy can't read this cache's element
/// A cache element that the attention policy does not read.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<kv::Paged<fp8_e4m3, 16>>> generator{checkpoint};
#else
  Generator<KVCache<kv::Paged<bf16, 16>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

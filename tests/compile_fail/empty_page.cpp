// SPDX-License-Identifier: MIT
// expect: gpt2ie: kv::Paged<T, P>: P is the number of tokens in a page
/// Pages of no tokens.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<kv::Paged<float, 0>>> generator{checkpoint};
#else
  Generator<KVCache<kv::Paged<float, 1>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

// SPDX-License-Identifier: MIT
// expect: gpt2ie: a part is given twice
/// Two parts of one kind.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<Attention<attention::Standard>, Attention<attention::Flash<64, 64>>> generator{checkpoint};
#else
  Generator<Attention<attention::Standard>, KVCache<kv::NoCache>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

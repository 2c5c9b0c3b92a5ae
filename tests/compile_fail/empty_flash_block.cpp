// SPDX-License-Identifier: MIT
// expect: gpt2ie: attention::Flash<M, N>: M query rows and N keys
/// Flash attention over blocks of no rows.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<Attention<attention::Flash<0, 64>>> generator{checkpoint};
#else
  Generator<Attention<attention::Flash<1, 64>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

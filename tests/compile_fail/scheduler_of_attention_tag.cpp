// SPDX-License-Identifier: MIT
// expect: gpt2ie: Scheduler<S>: S is no slot policy
/// An attention tag in the scheduler's place.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<Scheduler<attention::Standard>> generator{checkpoint};
#else
  Generator<Scheduler<slots::Sequential>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

// SPDX-License-Identifier: MIT
// expect: gpt2ie: Scheduler<S>: a scheduler needs at least one slot
/// A scheduler with no slot.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<Scheduler<slots::Continuous<0>>> generator{checkpoint};
#else
  Generator<Scheduler<slots::Continuous<1>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

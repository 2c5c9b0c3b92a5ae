// SPDX-License-Identifier: MIT
// expect: gpt2ie: a part is none of a backend, Attention<P>, KVCache<S>, Scheduler<S> and SamplerChain<O>
/// A slot policy without its wrapper.
#include <gpt2ie/gpt2ie.hpp>

void serve(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Engine<slots::Continuous<4>> engine{checkpoint};
#else
  Engine<Scheduler<slots::Continuous<4>>> engine{checkpoint};
#endif
  static_cast<void>(engine);
}

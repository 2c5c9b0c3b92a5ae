// SPDX-License-Identifier: MIT
// expect: gpt2ie: kv::NoCache keeps nothing between steps
/// An engine runs eight sequences at once unless told otherwise.
#include <gpt2ie/gpt2ie.hpp>

void serve(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Engine<KVCache<kv::NoCache>> engine{checkpoint};
#else
  Engine<KVCache<kv::NoCache>, Scheduler<slots::Sequential>> engine{checkpoint};
#endif
  static_cast<void>(engine);
}

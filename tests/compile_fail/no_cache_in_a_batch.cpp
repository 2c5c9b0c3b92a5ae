// SPDX-License-Identifier: MIT
// expect: gpt2ie: kv::NoCache keeps nothing between steps
/// A batch over a cache that keeps nothing.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<kv::NoCache>, Scheduler<slots::Continuous<4>>> generator{checkpoint};
#else
  Generator<KVCache<kv::NoCache>, Scheduler<slots::Sequential>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

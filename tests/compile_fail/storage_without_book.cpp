// SPDX-License-Identifier: MIT
// expect: gpt2ie: KVCache<S>: S::book does not meet CacheBook
/// A storage whose book is none.
#include <gpt2ie/gpt2ie.hpp>

namespace {

struct StorageWithoutBook : gpt2ie::kv::Contiguous<float> {
  using book = int;
};

}  // namespace

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<StorageWithoutBook>> generator{checkpoint};
#else
  Generator<KVCache<kv::Contiguous<float>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

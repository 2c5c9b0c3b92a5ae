// SPDX-License-Identifier: MIT
// expect: gpt2ie: KVCache<S>: S::pool<Backend>::stage must return a trivially copyable view with tile_count
/// A storage whose view has places, but no tiles.
#include <gpt2ie/gpt2ie.hpp>

namespace {

struct ViewWithoutTiles {
  using element = float;
  gpt2ie::StepView step;
  [[nodiscard]] gpt2ie::Place<float> place(int /*layer*/, int /*row*/) const { return {}; }
};

template <class Backend>
struct PoolWithoutTiles {
  PoolWithoutTiles(Backend& /*backend*/, const gpt2ie::ModelConfig& /*config*/, const gpt2ie::Limits& /*limits*/) {}
  ViewWithoutTiles stage(Backend& /*backend*/, const gpt2ie::SlotBook& /*book*/, const gpt2ie::Step& /*step*/,
                         gpt2ie::StepView step) {
    return {step};
  }
};

struct StorageWithoutTiles {
  using element = float;
  using book = gpt2ie::SlotBook;
  template <class Backend>
  using pool = PoolWithoutTiles<Backend>;
  static constexpr bool retains = true;
};

}  // namespace

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<KVCache<StorageWithoutTiles>> generator{checkpoint};
#else
  Generator<KVCache<kv::Contiguous<float>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

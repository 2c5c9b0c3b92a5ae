// SPDX-License-Identifier: MIT
/// Models and near misses of AttentionPolicy and SlotPolicy, each without one atom.
#include <cstddef>

#include <doctest/doctest.h>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/kv_cache/paged.hpp>
#include <gpt2ie/scheduler/slots.hpp>

#include "concepts/archetypes.hpp"

namespace near_miss {

using namespace gpt2ie;

struct NoReads : archetype::Policy {
  void reads();
};
struct NoScratch : archetype::Policy {
  void scratch_floats();
};
struct ScratchInBytes : archetype::Policy {
  static long scratch_floats(const ModelConfig& config, const Limits& limits);
};
struct NoRow : archetype::Policy {
  void row();
};
struct RowOfOneHead : archetype::Policy {
  template <class View>
  static void row(const View& view, const AttentionArgs& args, int row);
};

struct NoCount {
  static constexpr bool refills = true;
};
struct NoRefills {
  static constexpr int count = 4;
};
struct CountAtRunTime {
  int count = 4;
  static constexpr bool refills = true;
};

}  // namespace near_miss

using namespace near_miss;

TEST_CASE("shipped policies and the archetype are attention policies") {
  attentions::for_each([]<class P>() {
    CHECK(AttentionPolicy<P>);
    CHECK((Reads<P, float> && Reads<P, bf16> && Reads<P, f16> && Reads<P, int8>));
    CHECK_FALSE(Reads<P, fp8_e4m3>);
  });
  CHECK(AttentionPolicy<archetype::Policy>);
  CHECK((Reads<archetype::Policy, float> && !Reads<archetype::Policy, bf16>));
}

TEST_CASE("what lacks one atom is no attention policy") {
  CHECK((!HasReads<NoReads> && HasScratch<NoReads> && !AttentionPolicy<NoReads>));
  CHECK((!HasScratch<NoScratch> && HasRow<NoScratch> && !AttentionPolicy<NoScratch>));
  CHECK((!HasScratch<ScratchInBytes> && !AttentionPolicy<ScratchInBytes>));
  CHECK((!HasRow<NoRow> && HasReads<NoRow> && !AttentionPolicy<NoRow>));
  CHECK((!HasRow<RowOfOneHead> && !AttentionPolicy<RowOfOneHead>));
  CHECK_FALSE(AttentionPolicy<kv::Paged<float, 16>>);
  CHECK_FALSE(Reads<kv::Paged<float, 16>, float>);
  CHECK_FALSE(AttentionPolicy<int>);
}

TEST_CASE("slot policies and what lacks one atom") {
  CHECK((SlotPolicy<slots::Sequential> && SlotPolicy<slots::Static<2>> && SlotPolicy<slots::Continuous<2>>));
  CHECK(SlotPolicy<archetype::Slots>);
  CHECK((!HasSlotCount<NoCount> && HasRefills<NoCount> && !SlotPolicy<NoCount>));
  CHECK((!HasRefills<NoRefills> && HasSlotCount<NoRefills> && !SlotPolicy<NoRefills>));
  CHECK((!HasSlotCount<CountAtRunTime> && !SlotPolicy<CountAtRunTime>));
  CHECK_FALSE(SlotPolicy<attention::Standard>);
  CHECK_FALSE(SlotPolicy<int>);
}

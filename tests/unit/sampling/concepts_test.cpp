// SPDX-License-Identifier: MIT
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/sampling/concepts.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>

using namespace gpt2ie;

namespace gpt2ie_test {

// The least that is a processor: bans odd tokens.
struct EvenOnly {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions&) { return true; }
  void apply(Candidates& candidates, const SamplingContext&) const {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates.id(i) % 2 != 0) candidates.ban(candidates.id(i));
    }
  }
};
struct NoSwitch {
  static constexpr bool shapes_greedy = true;
  void apply(Candidates&, const SamplingContext&) {}
};
struct NoGreedyRule {
  static bool enabled(const GenerateOptions&) { return true; }
  void apply(Candidates&, const SamplingContext&) {}
};
struct NoApply {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const GenerateOptions&) { return true; }
};
struct NoDefault : EvenOnly {
  explicit NoDefault(int) {}
};

static_assert(LogitsProcessor<EvenOnly>);
static_assert(!HasSwitch<NoSwitch> && !LogitsProcessor<NoSwitch>);
static_assert(!HasGreedyRule<NoGreedyRule> && !LogitsProcessor<NoGreedyRule>);
static_assert(!HasApply<NoApply> && !LogitsProcessor<NoApply>);
static_assert(!LogitsProcessor<NoDefault>);
static_assert(!LogitsProcessor<int>);

}  // namespace gpt2ie_test

using gpt2ie_test::EvenOnly;

TEST_CASE("a processor of one's own is one entry in an order") {
  const std::vector<float> logits = {0, 5, 1, 4};
  SamplerChain<type_list<EvenOnly>> greedy({.temperature = 0}, 4, {});
  CHECK(greedy.pick(logits, {}, 0).token == 2);
  SamplerChain<type_list<sampling::TopK, EvenOnly>> narrow({.top_k = 3}, 4, {});
  CHECK(narrow.pick(logits, {}, 0).token == 2);
}

TEST_CASE("an empty order is plain sampling") {
  SamplerChain<type_list<>> plain({.top_k = 1}, 2, {});
  CHECK(plain.distribution(std::vector<float>{1, 1}, {}, 0).size() == 2);
}

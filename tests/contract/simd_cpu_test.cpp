// SPDX-License-Identifier: MIT
/// The contract on backend::SimdCpu: to the bit, in memory that is poisoned with NaN, without allocations while it
/// decodes. Also built once more with -O3 -march=native, there over caches in float alone.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/simd_cpu.hpp>

#include "contract/same_answer_suite.hpp"
#include "contract/sequences_suite.hpp"
#include "support/count_allocations.hpp"
#include "support/poisoned.hpp"

namespace gpt2ie_test {

using Backend = Poisoned<gpt2ie::backend::SimdCpu<float>>;

std::vector<Combination> contract_combinations(const gpt2ie::Checkpoint& checkpoint) {
#if defined(GPT2IE_TEST_FLOAT_CACHES)
  return combinations<Backend, float_storages>(checkpoint);
#else
  return combinations<Backend>(checkpoint);
#endif
}

bool same(const std::string& /*element*/, std::span<const float> found, std::span<const float> expected) {
  return same_bits(found, expected);
}

TEST_CASE("memory that was never written is never read") {
  for_each_combination([](const Combination& combination) {
    const Tokens tokens = some_tokens(70);
    Backend::poison = 0;
    const Logits clean = alone(combination, tokens);
    Backend::poison = 0xff;
    check_same(combination, alone(combination, tokens), clean);
  });
}

TEST_CASE("a steady step allocates nothing") {
  for_each_combination([](const Combination& combination) {
    if (combination.storage.starts_with("kv::Concat")) return;  // growing by copying is what it is
    for (const int threads : {1, 2}) {
      const auto executor = combination.make(limits_for(3, 64), threads);
      const std::vector<gpt2ie::SeqId> seqs = {open(*executor), open(*executor)};
      const Tokens tokens = some_tokens(64);
      gpt2ie::Step step = plan(*executor, {{seqs[0], tokens}});
      REQUIRE(executor->reserve(step));
      static_cast<void>(executor->run(step));
      executor->commit(step);
      const std::size_t before = allocations;
      for (int i = 0; i < 40; ++i) {
        // Sequence 0 decodes; in between a prompt comes, forks, diverges and goes.
        const bool decode = combination.retains && i % 4 != 0;
        const gpt2ie::SeqId seq = seqs[decode ? 0 : 1];
        const int first = executor->length(seq), count = decode ? 1 : 20;
        step.clear();
        step.runs.push_back({.seq = seq, .first = first, .count = count, .row = 0});
        for (int r = 0; r < count; ++r) {
          step.tokens.push_back(tokens[static_cast<std::size_t>(r)]);
          step.positions.push_back(first + r);
        }
        step.logit_rows.push_back(count - 1);
        bool ran = executor->reserve(step);
        if (ran) {
          static_cast<void>(executor->run(step));
          executor->commit(step);
        }
        if (!decode) {
          const auto forked = executor->fork(seq);
          ran = ran && forked.has_value();
          executor->close(*forked);
          executor->truncate(seq, 0);
        }
        if (!ran) FAIL("no room");
      }
      CHECK(allocations == before);
    }
  });
}

TEST_CASE("flash attention allocates no T x T matrix, standard attention does") {
  const gpt2ie::ModelConfig config = small_config(4, 8, 1024);
  for (const Combination& combination : contract_combinations(random_checkpoint(config))) {
    if (combination.storage != "kv::NoCache" && combination.storage != "kv::Paged<float, 16>") continue;
    INFO(combination.name());
    std::vector<std::size_t> bytes;
    for (const int length : {256, 512, 1024}) {
      gpt2ie::Limits limits{.max_rows = length, .max_length = length};
      const std::size_t before = allocated_bytes;
      const auto executor = combination.make(limits, 1);
      gpt2ie::Step step = plan(*executor, {{open(*executor), make_tokens(length, config.vocab)}});
      step.logit_rows = {length - 1};
      REQUIRE(executor->reserve(step));
      static_cast<void>(executor->run(step));
      bytes.push_back(allocated_bytes - before);
    }
    MESSAGE(combination.name(), ": ", bytes[0], ", ", bytes[1], " and ", bytes[2], " bytes for 256, 512, 1024 tokens");
    if (combination.attention == "attention::Standard") {
      for (std::size_t i = 0, length = 256; i < 3; ++i, length *= 2) CHECK(bytes[i] >= 4 * length * length * 4);
    } else {
      CHECK(bytes[1] <= 2 * bytes[0]);
      CHECK(bytes[2] <= 2 * bytes[1]);
    }
  }
}

}  // namespace gpt2ie_test

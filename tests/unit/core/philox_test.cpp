// SPDX-License-Identifier: MIT
// Philox against the known answers of Random123, and the mapping from draws to numbers.
#include <cstdint>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include <gpt2ie/core/philox.hpp>

using namespace gpt2ie;

namespace {

// Random123, kat_vectors: "philox4x32 10".
static_assert(philox4x32_10({{0, 0, 0, 0}}, {0, 0}) ==
              PhiloxBlock{{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
static_assert(philox4x32_10({{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}) ==
              PhiloxBlock{{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
static_assert(philox4x32_10({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, {0xa4093822u, 0x299f31d0u}) ==
              PhiloxBlock{{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});

}  // namespace

TEST_CASE("philox4x32_10 gives the known answers at run time too") {
  const PhiloxBlock pi_counter{{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}};
  const PhiloxBlock block = philox4x32_10(pi_counter, {0xa4093822u, 0x299f31d0u});
  CHECK(block == PhiloxBlock{{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

TEST_CASE("a draw's seed is the key and its position, purpose and choice are the counter") {
  const DrawName draw{.seed = 0x299f31d0a4093822u, .position = 7, .choice = 3, .purpose = DrawPurpose::accept};
  CHECK(random_block(draw) == philox4x32_10({{7, 2, 3, 0}}, {0xa4093822u, 0x299f31d0u}));
}

TEST_CASE("different draws get different blocks") {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  int draws = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (std::uint32_t position = 0; position < 20; ++position) {
      for (std::uint32_t choice = 0; choice < 20; ++choice) {
        for (const DrawPurpose purpose : {DrawPurpose::sample, DrawPurpose::draft, DrawPurpose::accept}) {
          const PhiloxBlock block = random_block({seed, position, choice, purpose});
          seen.emplace(block.word[0], block.word[1], block.word[2], block.word[3]);
          ++draws;
        }
      }
    }
  }
  CHECK(static_cast<int>(seen.size()) == draws);
}

TEST_CASE("uniform numbers lie in [0, 1), and float holds the upper bits of double") {
  double sum = 0;
  for (std::uint32_t position = 0; position < 10000; ++position) {
    const DrawName draw{.seed = 42, .position = position};
    const double exact = uniform_double(draw);
    const float coarse = uniform_float(draw);
    REQUIRE(exact >= 0.0);
    REQUIRE(exact < 1.0);
    REQUIRE(static_cast<double>(coarse) <= exact);
    REQUIRE(exact - static_cast<double>(coarse) < 0x1p-24);
    sum += exact;
  }
  CHECK(sum / 10000 == doctest::Approx(0.5).epsilon(0.02));  // 7 standard deviations
}

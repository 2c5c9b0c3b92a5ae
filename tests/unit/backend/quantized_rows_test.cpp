// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/quantized_rows.hpp>

#include "unit/backend/operations.hpp"

using namespace gpt2ie;
using namespace gpt2ie::detail;

namespace {

struct Group {
  std::int8_t value[32];
  float scale;
  std::int32_t sum;

  bool operator==(const Group& other) const {
    bool same = scale == other.scale || (std::isnan(scale) && std::isnan(other.scale));
    for (int i = 0; i < 32; ++i) same = same && value[i] == other.value[i];
    return same && sum == other.sum;
  }
};

Group quantized(const std::vector<float>& x) {
  Group group;
  quantize_group(x.data(), static_cast<int>(x.size()), group.value, group.scale, group.sum);
  return group;
}

std::vector<float> group_of(std::vector<float> first) {
  first.resize(32);
  return first;
}

}  // namespace

TEST_CASE("the largest becomes 127, ties go to even, and the rest of a short group is zero") {
  const Group group = quantized({127, -127, 0.5f, 1.5f, -2.5f, 3.4f});
  CHECK(group.scale == 1.0f);
  const std::int8_t expected[] = {127, -127, 0, 2, -2, 3, 0};
  for (int i = 0; i < 7; ++i) CHECK(group.value[i] == expected[i]);
  CHECK(group.value[31] == 0);
  CHECK(group.sum == 3);
}

TEST_CASE("what is not finite shows in the scale; zeros and subnormals are zeros") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    CHECK(std::isnan(quantized(group_of({1, bad})).scale));
  }
  CHECK(quantized(group_of({0, -0.0f})) == quantized(group_of({})));
  CHECK(quantized(group_of({1e-40f})).scale == 0.0f);
}

TEST_CASE("each instruction set gives the same integers") {
  for (const Isa isa : all_isas) {
    if (!has_isa(isa)) continue;
    CAPTURE(isa_name(isa));
    const QuantizeGroup quantize = quantize_group_of(isa);
    const auto same = [&](const std::vector<float>& x) {
      Group group;
      quantize(x.data(), group.value, group.scale, group.sum);
      return group == quantized(x);
    };
    for (std::uint32_t seed = 0; seed < 200; ++seed) CHECK(same(gpt2ie_test::random_floats(32, 1, seed)));
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float odd : {0.0f, -0.0f, 1e-40f, 1e-38f, 3e38f, infinity, -infinity, std::nanf("")}) {
      CAPTURE(odd);
      CHECK(same(group_of({odd})));
      CHECK(same(group_of({1, -2, odd, 0.25f})));
    }
  }
}

TEST_CASE("rows lie in blocks, four values of each beside each other") {
  constexpr int elements = 40, groups = 2;
  for (const int count : {1, 3, 12, 13, 29}) {
    CAPTURE(count);
    const RowBlocks blocks(count);
    QuantizedRowBuffer buffer;
    buffer.reserve(count, elements);
    const std::vector<float> x = gpt2ie_test::random_floats(static_cast<std::size_t>(count * elements), 1, 9);
    for (int block = 0; block < blocks.count(); ++block) {
      buffer.fill(blocks, block, x.data(), elements, quantize_group_of(Isa::portable));
    }
    const QuantizedRows rows = buffer.rows(elements);
    CHECK(rows.groups == groups);
    int wrong = 0;
    for (int block = 0; block < blocks.count(); ++block) {
      const int size = blocks.size(block);
      for (int r = 0; r < size; ++r) {
        for (int g = 0; g < groups; ++g) {
          const auto from = x.begin() + (blocks.begin(block) + r) * elements + g * 32;
          const Group expected = quantized(std::vector<float>(from, from + (g == 0 ? 32 : elements - 32)));
          const int at = blocks.begin(block) * groups + g * size;
          for (int k = 0; k < 32; ++k) {
            wrong += rows.value[at * 32 + (k / 4 * size + r) * 4 + k % 4] != expected.value[k];
          }
          wrong += rows.scale[at + r] != expected.scale;
          wrong += rows.negated_sum[at + r] != -expected.sum;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

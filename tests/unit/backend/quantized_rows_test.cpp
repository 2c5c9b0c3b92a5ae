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

TEST_CASE("rows lie one after the other, and a part of them starts where it should") {
  QuantizedRowBuffer buffer;
  buffer.reserve(3, 40);
  const std::vector<float> x = gpt2ie_test::random_floats(3 * 40, 1, 9);
  for (int row = 0; row < 3; ++row) buffer.quantize(row, x.data() + row * 40, 40, quantize_group_of(Isa::portable));
  const QuantizedRows rows = buffer.rows(40);
  CHECK(rows.groups == 2);
  for (int row = 0; row < 3; ++row) {
    for (int g = 0; g < 2; ++g) {
      const std::vector<float> part(x.begin() + row * 40 + g * 32, x.begin() + row * 40 + (g == 0 ? 32 : 40));
      const Group expected = quantized(part);
      CHECK(rows.values_of(row, g)[3] == expected.value[3]);
      CHECK(rows.from(1).values_of(0, g) == rows.values_of(1, g));
      CHECK(rows.scale_of(row, g) == expected.scale);
      CHECK(rows.sum_of(row, g) == expected.sum);
    }
  }
}

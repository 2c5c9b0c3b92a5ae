// SPDX-License-Identifier: MIT
/// Kernels of one value and one row against double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/float4.hpp>
#include <gpt2ie/core/math.hpp>
#include <gpt2ie/core/philox.hpp>

namespace {

using gpt2ie::Activation;

std::vector<float> random_row(std::size_t n, std::uint64_t seed) {
  std::vector<float> row(n);
  for (std::size_t i = 0; i < n; ++i) {
    row[i] = 2 * gpt2ie::uniform_float({.seed = seed, .position = static_cast<std::uint32_t>(i)}) - 1;
  }
  return row;
}

float activated(Activation activation, float x) {
  gpt2ie::activate(activation, &x, 1);
  return x;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::quick_gelu:
      return x * sigmoid(1.702 * x);
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::none:
      break;
  }
  return x;
}

template <class T>
std::vector<T> as(const std::vector<float>& row) {
  std::vector<T> converted;
  if constexpr (gpt2ie::PlainElement<T>) {
    for (const float x : row) converted.push_back(gpt2ie::from_float<T>(x));
  } else {
    for (const float x : row) converted.push_back({static_cast<std::int8_t>(127 * x)});
  }
  return converted;
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

template <int Size, class T>
void check_dot() {
  const std::vector<float> a = random_row(Size, 1);
  const std::vector<T> b = as<T>(random_row(Size, 2));
  double expected = 0, magnitude = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(gpt2ie::to_float(b[i]));
    expected += product;
    magnitude += std::abs(product);
  }
  const float general = gpt2ie::dot(a.data(), b.data(), Size);
  CHECK(std::abs(static_cast<double>(general) - expected) <= 1e-6 * magnitude);
  CHECK(same_bits(gpt2ie::dot<Size>(a.data(), b.data(), Size), general));
}

template <int Size, class T>
void check_weighted_rows(int rows) {
  const std::ptrdiff_t stride = Size + 3;
  const std::vector<float> weight = random_row(static_cast<std::size_t>(rows), 3);
  const std::vector<T> x = as<T>(random_row(static_cast<std::size_t>(rows * stride), 4));
  const std::vector<float> start = random_row(Size, 5);
  std::vector<float> fixed = start, general = start, one_by_one = start;
  gpt2ie::add_weighted_rows<Size>(weight.data(), x.data(), stride, rows, Size, fixed.data());
  gpt2ie::add_weighted_rows(weight.data(), x.data(), stride, rows, Size, general.data());
  for (int r = 0; r < rows; ++r) {
    gpt2ie::add_scaled(weight[static_cast<std::size_t>(r)], x.data() + r * stride, Size, one_by_one.data());
  }
  int wrong = 0, other_bits = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    double expected = static_cast<double>(start[i]), magnitude = std::abs(expected);
    for (int r = 0; r < rows; ++r) {
      const double product = static_cast<double>(weight[static_cast<std::size_t>(r)]) *
                             static_cast<double>(gpt2ie::to_float(x[static_cast<std::size_t>(r * stride) + i]));
      expected += product;
      magnitude += std::abs(product);
    }
    wrong += std::abs(static_cast<double>(fixed[i]) - expected) > 2e-6 * magnitude;
    other_bits += !same_bits(fixed[i], general[i]) || !same_bits(fixed[i], one_by_one[i]);
  }
  CHECK(wrong == 0);
  CHECK(other_bits == 0);
}

}  // namespace

TEST_CASE("exp_float is within 2 units in the last place") {
  double worst = 0;
  for (int i = -860000; i <= 887000; i += 37) {
    const float x = static_cast<float>(i) * 1e-4f;
    const double expected = std::exp(static_cast<double>(x));
    const float rounded = static_cast<float>(expected);
    const double unit = static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded);
    worst = std::max(worst, std::abs(static_cast<double>(gpt2ie::exp_float(x)) - expected) / unit);
  }
  CHECK(worst <= 2);
  CHECK(worst > 0);
}

TEST_CASE("exp_float at its ends") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(gpt2ie::exp_float(0.0f) == 1.0f);
  CHECK(gpt2ie::exp_float(-0.0f) == 1.0f);
  CHECK(gpt2ie::exp_float(-infinity) == 0.0f);
  CHECK(gpt2ie::exp_float(-1000.0f) == 0.0f);
  CHECK(gpt2ie::exp_float(-87.5f) == 0.0f);
  CHECK(gpt2ie::exp_float(89.0f) == infinity);
  CHECK(gpt2ie::exp_float(infinity) == infinity);
  CHECK(std::isfinite(gpt2ie::exp_float(88.7f)));
  CHECK(std::isnan(gpt2ie::exp_float(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("C-5: the activations at 1 and their largest differences") {
  CHECK(std::abs(static_cast<double>(activated(Activation::gelu_tanh, 1)) - .84119199) < 1e-7);
  CHECK(std::abs(static_cast<double>(activated(Activation::gelu, 1)) - .84134475) < 1e-7);
  CHECK(std::abs(static_cast<double>(activated(Activation::quick_gelu, 1)) - .84579577) < 1e-7);
  double to_gelu = 0, to_quick = 0;
  for (int i = -8000; i <= 8000; ++i) {
    const float x = static_cast<float>(i) * 1e-3f;
    const double new_gelu = static_cast<double>(activated(Activation::gelu_tanh, x));
    to_gelu = std::max(to_gelu, std::abs(new_gelu - static_cast<double>(activated(Activation::gelu, x))));
    to_quick = std::max(to_quick, std::abs(new_gelu - static_cast<double>(activated(Activation::quick_gelu, x))));
  }
  CHECK(to_gelu == doctest::Approx(4.7e-4).epsilon(0.02));
  CHECK(to_quick == doctest::Approx(2.1e-2).epsilon(0.04));
}

TEST_CASE("C-5: every activation against double over its whole range") {
  for (const Activation activation : {Activation::none, Activation::gelu_tanh, Activation::gelu, Activation::quick_gelu,
                                      Activation::relu, Activation::silu, Activation::tanh}) {
    CAPTURE(static_cast<int>(activation));
    double worst = 0;
    for (int i = -20000; i <= 20000; ++i) {
      const float x = static_cast<float>(i) * 1e-3f;
      const double expected = exact(activation, static_cast<double>(x));
      const double error = std::abs(static_cast<double>(activated(activation, x)) - expected);
      worst = std::max(worst, error / std::max(1.0, std::abs(expected)));
    }
    CHECK(worst < 3e-7);
    CHECK(std::isnan(activated(activation, std::numeric_limits<float>::quiet_NaN())));
    const float large = activated(activation, 1000.0f), small = activated(activation, -1000.0f);
    CHECK(large == (activation == Activation::tanh ? 1.0f : 1000.0f));
    if (activation != Activation::none) CHECK(small == (activation == Activation::tanh ? -1.0f : 0.0f));
  }
}

TEST_CASE("select picks either side, NaN included") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(gpt2ie::select(true, 1.5f, nan) == 1.5f);
  CHECK(gpt2ie::select(false, nan, -0.5f) == -0.5f);
  CHECK(std::isnan(gpt2ie::select(true, nan, 0.0f)));
}

TEST_CASE("dot products against double, with the same bits for a size that is a constant") {
  check_dot<1, float>();
  check_dot<15, float>();
  check_dot<16, float>();
  check_dot<17, float>();
  check_dot<64, float>();
  check_dot<80, float>();
  check_dot<100, float>();
  check_dot<128, float>();
  check_dot<256, float>();
  check_dot<64, gpt2ie::bf16>();
  check_dot<100, gpt2ie::f16>();
  check_dot<64, gpt2ie::int8>();
  check_dot<100, gpt2ie::int8>();
}

TEST_CASE("the dot product of nothing is 0") {
  const float x = 1;
  CHECK(gpt2ie::dot(&x, &x, 0) == 0.0f);
}

TEST_CASE("weighted sums of rows against double, with the same bits for a size that is a constant") {
  for (const int rows : {0, 1, 5, 64}) {
    CAPTURE(rows);
    check_weighted_rows<1, float>(rows);
    check_weighted_rows<20, float>(rows);
    check_weighted_rows<64, float>(rows);
    check_weighted_rows<96, float>(rows);
    check_weighted_rows<128, float>(rows);
    check_weighted_rows<128, gpt2ie::bf16>(rows);
    check_weighted_rows<64, gpt2ie::f16>(rows);
    check_weighted_rows<64, gpt2ie::int8>(rows);
  }
}

TEST_CASE("four lanes round as one does") {
  const std::vector<float> a = random_row(4, 6), b = random_row(4, 7), c = random_row(4, 8);
  float lanes[4];
  gpt2ie::store4(lanes, gpt2ie::madd4(gpt2ie::load4(a.data()), gpt2ie::load4(b.data()), gpt2ie::load4(c.data())));
  for (std::size_t i = 0; i < 4; ++i) CHECK(same_bits(lanes[i], gpt2ie::madd(a[i], b[i], c[i])));
  gpt2ie::store4(lanes, gpt2ie::broadcast4(2.5f));
  CHECK(lanes[3] == 2.5f);
}

TEST_CASE("scale multiplies in place") {
  std::vector<float> row = {1, -2, 3};
  gpt2ie::scale(0.5f, 2, row.data());
  CHECK(row == std::vector<float>{0.5f, -1, 3});
}

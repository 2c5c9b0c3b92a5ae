// SPDX-License-Identifier: MIT
/// Element types, sizes and conversion to float.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/io/tensor.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

TEST_CASE("names and sizes of element types") {
  CHECK(dtype_from_name("F32") == DType::f32);
  CHECK(dtype_from_name("BOOL") == DType::boolean);
  CHECK(dtype_from_name("C64") == DType::c64);
  CHECK(dtype_from_name("f32") == std::nullopt);
  CHECK(dtype_from_name("F999") == std::nullopt);
  CHECK(dtype_bits(DType::bf16) == 16);
  CHECK(dtype_bits(DType::f4) == 4);
  for (unsigned i = 0; i < 22; ++i) CHECK(dtype_from_name(dtype_name(static_cast<DType>(i))) == static_cast<DType>(i));
}

TEST_CASE("sizes of tensors, and those that are none") {
  CHECK(tensor_size(DType::f32, Shape{2, 3}) == 24u);
  CHECK(tensor_size(DType::f64, Shape{}) == 8u);
  CHECK(tensor_size(DType::f16, Shape{0, 5}) == 0u);
  CHECK(tensor_size(DType::f4, Shape{2}) == 1u);
  CHECK(tensor_size(DType::f4, Shape{3}) == std::nullopt);
  CHECK(tensor_size(DType::f32, Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}) == std::nullopt);
  CHECK(tensor_size(DType::i8, Shape{-1}) == std::nullopt);
}

/// All 65,536 patterns of a 16-bit type, one byte off any alignment, converted to float.
template <class T>
void check_all_halves(DType dtype) {
  constexpr std::size_t count = 1 << 16;
  std::vector<std::byte> bytes(2 * count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(bytes.data() + 1 + 2 * i, &bits, 2);
  }
  const Tensor tensor{"t", dtype, {count}, std::span(bytes).subspan(1), nullptr};
  const std::vector<float> values = values_of(tensor);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float expected = to_float(T{static_cast<std::uint16_t>(i)});
    wrong += bit_cast<std::uint32_t>(values[i]) != bit_cast<std::uint32_t>(expected);
  }
  CHECK(wrong == 0);
}

TEST_CASE("every half converts exactly, from any address") {
  check_all_halves<f16>(DType::f16);
  check_all_halves<bf16>(DType::bf16);
}

TEST_CASE("a range of elements, and no element past it") {
  const std::vector<float> values = {0, 1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN()};
  const Tensor tensor = float_tensor("t", {6}, values);
  std::array<float, 4> out = {9, 9, 9, 9};
  read_floats(tensor, 2, 3, out.data());
  CHECK(out == std::array<float, 4>{2, 3, 4, 9});
  read_floats(tensor, 6, 0, nullptr);
  read_floats(tensor, 5, 1, out.data());
  CHECK(std::isnan(out[0]));
  check_error(errc::bad_request, {"6 elements of tensor t", "2 elements from 5"},
              [&] { read_floats(tensor, 5, 2, out.data()); });
  check_error(errc::bad_request, {"from 7"}, [&] { read_floats(tensor, 7, std::size_t(-1), out.data()); });
}

TEST_CASE("types without a conversion are named") {
  float out = 0;
  check_error(errc::unsupported, {"tensor mask", "F32, F16 or BF16", "BOOL"},
              [&] { read_floats(zero_tensor("mask", DType::boolean, {1}), 0, 1, &out); });
}

TEST_CASE("values and shape must agree") {
  const std::vector<float> values = {1, 2, 3};
  check_error(errc::bad_shape, {"4 values", "[2, 2]", "3"}, [&] {
    static_cast<void>(float_tensor("t", {2, 2}, values));
  });
  check_error(errc::bad_shape, {"64 bits"},
              [&] { static_cast<void>(float_tensor("t", {std::int64_t{1} << 62}, values)); });
}

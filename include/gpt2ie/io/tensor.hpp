// SPDX-License-Identifier: MIT
/// A named tensor as a file stores it: bytes, element type and shape, and its conversion to float.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/error.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

static_assert(std::endian::native == std::endian::little, "gpt2ie reads little-endian files in place");

/// Element types of the safetensors format.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64,
};

namespace detail {

struct DTypeFacts {
  std::string_view name;
  unsigned bits;
};

/// In the order of DType.
inline constexpr std::array<DTypeFacts, 22> dtype_facts = {{
    {"F64", 64},    {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"I64", 64},        {"I32", 32},
    {"I16", 16},    {"I8", 8},      {"U64", 64},    {"U32", 32},    {"U16", 16},        {"U8", 8},
    {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},
}};

}  // namespace detail

/// The name of the type in a safetensors header, such as "BF16".
[[nodiscard]] constexpr std::string_view dtype_name(DType dtype) {
  return detail::dtype_facts[static_cast<std::size_t>(dtype)].name;
}

/// Bits of one element.
[[nodiscard]] constexpr unsigned dtype_bits(DType dtype) {
  return detail::dtype_facts[static_cast<std::size_t>(dtype)].bits;
}

/// The type with this name in a safetensors header; nothing if the format has no such type.
[[nodiscard]] constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < detail::dtype_facts.size(); ++i) {
    if (detail::dtype_facts[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// read_floats converts elements of this type.
[[nodiscard]] constexpr bool converts_to_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Sizes of a tensor, slowest index first. Never negative in a tensor that was read from a file.
using Shape = std::vector<std::int64_t>;

/// "[48, 144]", for messages.
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Bytes of a tensor; nothing if the number does not fit in 64 bits, is no whole number or a size is negative.
[[nodiscard]] inline std::optional<std::uint64_t> tensor_size(DType dtype, std::span<const std::int64_t> shape) {
  std::uint64_t size = dtype_bits(dtype);
  for (const std::int64_t n : shape) {
    if (n < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(n), &size)) return std::nullopt;
  }
  if (size % 8 != 0) return std::nullopt;
  return size / 8;
}

/// A tensor in memory that someone else owns; cheap to copy. The bytes are row-major, in no particular alignment.
struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep_alive;  ///< owns the bytes

  /// Number of elements.
  [[nodiscard]] std::size_t size() const { return bytes.size() * 8 / dtype_bits(dtype); }
};

/// A tensor that owns its values, and the place to write them to.
struct NewTensor {
  Tensor tensor;
  float* values;  ///< valid as long as a copy of the tensor
};

/// A float tensor of this shape with values yet to be written. Errors: `bad_shape` for a size of over 64 bits.
[[nodiscard]] inline NewTensor new_float_tensor(std::string name, Shape shape) {
  const auto size = tensor_size(DType::f32, shape);
  if (!size) fail(errc::bad_shape, "a shape of tensor " + name + " that fits in 64 bits", shape_text(shape));
  const std::size_t count = static_cast<std::size_t>(*size) / sizeof(float);
  const std::shared_ptr<float[]> owner(std::make_unique_for_overwrite<float[]>(count));
  const auto bytes = std::as_bytes(std::span(owner.get(), count));
  return {{std::move(name), DType::f32, std::move(shape), bytes, owner}, owner.get()};
}

/// A float tensor with a copy of these values. Errors: `bad_shape` unless their number is the product of the shape.
[[nodiscard]] inline Tensor float_tensor(std::string name, Shape shape, std::span<const float> values) {
  NewTensor made = new_float_tensor(std::move(name), std::move(shape));
  if (made.tensor.size() != values.size()) {
    fail(errc::bad_shape,
         std::to_string(made.tensor.size()) + " values for tensor " + made.tensor.name + " " +
             shape_text(made.tensor.shape),
         std::to_string(values.size()));
  }
  std::copy(values.begin(), values.end(), made.values);
  return made.tensor;
}

namespace detail {

/// Converts 16-bit elements. Blocks of a fixed size in local arrays, which alias nothing, become vector code at -O2.
template <class T>
void read_halves(const std::byte* from, std::size_t count, float* out) {
  constexpr std::size_t block = 64;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = std::min(block, count - first);
    std::array<std::uint16_t, block> bits{};
    std::array<float, block> values;
    std::memcpy(bits.data(), from + first * sizeof(std::uint16_t), n * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < block; ++i) values[i] = to_float(T{bits[i]});
    std::memcpy(out + first, values.data(), n * sizeof(float));
  }
}

}  // namespace detail

/// Writes elements [first, first + count) of `tensor` as floats to `out` [count]. F16 and BF16 convert exactly, NaN and
/// infinity included. Errors: `unsupported` for types other than F32, F16 and BF16; `bad_request` for a range outside
/// the tensor.
inline void read_floats(const Tensor& tensor, std::size_t first, std::size_t count, float* out) {
  if (!converts_to_float(tensor.dtype)) {
    fail(errc::unsupported, "tensor " + tensor.name + " in F32, F16 or BF16", std::string(dtype_name(tensor.dtype)));
  }
  if (first > tensor.size() || count > tensor.size() - first) {
    fail(errc::bad_request,
         "a range within the " + std::to_string(tensor.size()) + " elements of tensor " + tensor.name,
         std::to_string(count) + " elements from " + std::to_string(first));
  }
  if (count == 0) return;
  const std::byte* from = tensor.bytes.data() + first * (dtype_bits(tensor.dtype) / 8);
  if (tensor.dtype == DType::f32) std::memcpy(out, from, count * sizeof(float));
  if (tensor.dtype == DType::f16) detail::read_halves<f16>(from, count, out);
  if (tensor.dtype == DType::bf16) detail::read_halves<bf16>(from, count, out);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

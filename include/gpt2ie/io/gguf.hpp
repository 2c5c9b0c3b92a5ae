// SPDX-License-Identifier: MIT
/// Reads GGUF files, trusting nothing that they say.
/// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/mapped_file.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Element types of GGUF that are read. q8_0: blocks of 32 signed bytes behind a half-precision scale, 34 bytes a
/// block.
enum class GgufType : std::uint32_t { f32 = 0, f16 = 1, q8_0 = 8, bf16 = 30 };

/// One tensor of a GGUF file.
struct GgufEntry {
  GgufType type = GgufType::f32;
  Shape dims;  ///< fastest index first, the other way round than Shape elsewhere
  std::span<const std::byte> bytes;
};

/// One value of the metadata. Lists are skipped over and leave std::monostate.
using GgufValue = std::variant<std::monostate, std::uint64_t, std::int64_t, double, bool, std::string_view>;

namespace detail {

/// Name of any ggml element type, for messages.
inline std::string ggml_type_name(std::uint32_t type) {
  static constexpr std::array<std::pair<std::uint32_t, std::string_view>, 24> names = {{
      {2, "Q4_0"},    {3, "Q4_1"},     {6, "Q5_0"},   {7, "Q5_1"},    {9, "Q8_1"},   {10, "Q2_K"},
      {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},  {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"},
      {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},
      {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},   {28, "F64"},
  }};
  for (const auto& [known, name] : names) {
    if (known == type) return std::string(name);
  }
  return "type number " + std::to_string(type);
}

/// Reads a file from front to back and never past its end.
class GgufCursor {
 public:
  explicit GgufCursor(const MappedFile& file) : file_(file) {}

  /// A key of the file as a message shows it.
  static std::string printable(std::string_view key) {
    std::string shown(key.substr(0, 100));
    for (char& c : shown) {
      if (c < ' ' || c > '~') c = '?';
    }
    return shown;
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::uint64_t remaining() const { return file_.size() - position_; }

  [[noreturn]] void refuse(std::string expected, std::string found) const {
    fail(errc::bad_file, std::move(expected) + " in " + file_.path().string(), std::move(found));
  }

  /// Refuses a count of things of at least `least` bytes each that cannot all be in the rest of the file.
  void check_count(std::uint64_t count, std::uint64_t least, std::string_view what) const {
    if (count <= remaining() / least) return;
    refuse("at most " + std::to_string(remaining() / least) + " " + std::string(what) + " at byte " +
               std::to_string(position_),
           std::to_string(count));
  }

  void skip(std::uint64_t bytes, std::string_view what) {
    if (bytes > remaining()) {
      refuse("at most " + std::to_string(remaining()) + " bytes of " + printable(what) + " at byte " +
                 std::to_string(position_),
             std::to_string(bytes));
    }
    position_ += static_cast<std::size_t>(bytes);
  }

  template <class T>
  T number(std::string_view what) {
    const std::size_t at = position_;
    skip(sizeof(T), what);
    T value;
    std::memcpy(&value, file_.bytes().data() + at, sizeof(T));
    return value;
  }

  std::string_view text(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    const std::size_t at = position_;
    skip(length, what);
    return file_.text().substr(at, static_cast<std::size_t>(length));
  }

  GgufValue value(std::string_view key) {
    const auto type = number<std::uint32_t>(key);
    return type == array_type ? skip_array(key) : scalar(type, key);
  }

 private:
  static constexpr std::uint32_t string_type = 8, array_type = 9;

  GgufValue scalar(std::uint32_t type, std::string_view key) {
    switch (type) {
      case 0:
        return std::uint64_t{number<std::uint8_t>(key)};
      case 1:
        return std::int64_t{number<std::int8_t>(key)};
      case 2:
        return std::uint64_t{number<std::uint16_t>(key)};
      case 3:
        return std::int64_t{number<std::int16_t>(key)};
      case 4:
        return std::uint64_t{number<std::uint32_t>(key)};
      case 5:
        return std::int64_t{number<std::int32_t>(key)};
      case 6:
        return double{number<float>(key)};
      case 7:
        return boolean(key);
      case string_type:
        return text(key);
      case 10:
        return number<std::uint64_t>(key);
      case 11:
        return number<std::int64_t>(key);
      case 12:
        return number<double>(key);
      default:
        refuse("a known type of the value of " + printable(key), "type number " + std::to_string(type));
    }
  }

  bool boolean(std::string_view key) {
    const auto byte = number<std::uint8_t>(key);
    if (byte > 1) refuse("0 or 1 as the truth value of " + printable(key), std::to_string(byte));
    return byte == 1;
  }

  GgufValue skip_array(std::string_view key) {
    const auto type = number<std::uint32_t>(key);
    const auto count = number<std::uint64_t>(key);
    // Bytes of an element by type number; 0: a string, which is looked at, or a list, which is refused.
    static constexpr std::array<std::uint64_t, 13> sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type >= sizes.size() || type == array_type) {
      refuse("a list of numbers, truth values or texts as " + printable(key),
             type == array_type ? "a list of lists" : "elements of type number " + std::to_string(type));
    }
    if (type == string_type) {
      check_count(count, sizeof(std::uint64_t), "texts of " + printable(key));
      for (std::uint64_t i = 0; i < count; ++i) static_cast<void>(text(key));
    } else {
      check_count(count, sizes[type], "elements of " + printable(key));
      skip(count * sizes[type], key);
    }
    return std::monostate{};
  }

  const MappedFile& file_;
  std::size_t position_ = 0;
};

}  // namespace detail

/// A GGUF file, mapped, with its metadata and table of tensors checked. Copies share the mapping. Immutable and safe to
/// read from any thread.
class GgufFile {
 public:
  /// Opens and checks a file. Cost: reads everything in front of the weights once. Errors: `bad_file`, naming the path
  /// and what is wrong; `unsupported` for element types other than F32, F16, BF16 and Q8_0.
  explicit GgufFile(const std::filesystem::path& path) : file_(std::make_shared<const MappedFile>(path)) {
    detail::GgufCursor cursor(*file_);
    if (!file_->text().starts_with("GGUF")) cursor.refuse("a file that begins with GGUF", "something else");
    cursor.skip(4, "the format's name");
    const auto version = cursor.number<std::uint32_t>("the version");
    if (version != 2 && version != 3) {
      cursor.refuse("version 2 or 3 of GGUF, little-endian", "version " + std::to_string(version));
    }
    const auto tensor_count = cursor.number<std::uint64_t>("the number of tensors");
    const auto value_count = cursor.number<std::uint64_t>("the number of metadata values");
    cursor.check_count(value_count, 8 + 4 + 1, "metadata values");
    for (std::uint64_t i = 0; i < value_count; ++i) {
      const std::string_view key = cursor.text("a metadata key");
      if (!metadata_.emplace(key, cursor.value(key)).second) {
        cursor.refuse("each metadata key once", cursor.printable(key) + " again");
      }
    }
    read_tensors(cursor, tensor_count);
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_->path(); }

  /// Keys and texts point into the mapping.
  [[nodiscard]] const std::map<std::string_view, GgufValue>& metadata() const noexcept { return metadata_; }
  [[nodiscard]] const std::map<std::string_view, GgufEntry>& tensors() const noexcept { return tensors_; }

  /// What owns the bytes of the entries.
  [[nodiscard]] std::shared_ptr<const void> keep_alive() const noexcept { return file_; }

 private:
  static constexpr std::uint64_t largest_alignment = 1 << 20;

  void read_tensors(detail::GgufCursor& cursor, std::uint64_t count) {
    cursor.check_count(count, 8 + 4 + 8 + 4 + 8, "tensors");
    std::vector<std::pair<GgufEntry*, std::uint64_t>> offsets;
    offsets.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view name = cursor.text("a tensor's name");
      const auto [place, added] = tensors_.emplace(name, GgufEntry{});
      if (!added) cursor.refuse("each tensor once", cursor.printable(name) + " again");
      offsets.emplace_back(&place->second, read_entry(cursor, cursor.printable(name), place->second));
    }
    const std::uint64_t alignment = read_alignment(cursor);
    const std::uint64_t padding = (alignment - cursor.position() % alignment) % alignment;
    if (count > 0) cursor.skip(padding, "padding in front of the tensors");
    const auto data = file_->bytes().subspan(cursor.position());
    for (const auto& [entry, offset] : offsets) {
      const std::uint64_t size = stored_size(cursor, *entry);
      if (offset % alignment != 0 || offset > data.size() || size > data.size() - offset) {
        cursor.refuse("tensors of " + std::to_string(size) + " bytes at multiples of " + std::to_string(alignment) +
                          " within the " + std::to_string(data.size()) + " bytes of data",
                      "one at byte " + std::to_string(offset));
      }
      entry->bytes = data.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }
  }

  /// Reads all but the offset into `entry`, and gives the offset.
  static std::uint64_t read_entry(detail::GgufCursor& cursor, const std::string& name, GgufEntry& entry) {
    const auto rank = cursor.number<std::uint32_t>("a tensor's rank");
    if (rank < 1 || rank > 4) {
      cursor.refuse("tensor " + name + " of 1 to 4 dimensions", std::to_string(rank) + " dimensions");
    }
    for (std::uint32_t d = 0; d < rank; ++d) {
      const auto size = cursor.number<std::uint64_t>("a tensor's shape");
      if (size < 1 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        cursor.refuse("sizes of tensor " + name + " from 1 to 2^63 - 1", std::to_string(size));
      }
      entry.dims.push_back(static_cast<std::int64_t>(size));
    }
    const auto type = cursor.number<std::uint32_t>("a tensor's type");
    entry.type = static_cast<GgufType>(type);
    if (entry.type != GgufType::f32 && entry.type != GgufType::f16 && entry.type != GgufType::bf16 &&
        entry.type != GgufType::q8_0) {
      fail(errc::unsupported, "tensor " + name + " in F32, F16, BF16 or Q8_0", detail::ggml_type_name(type));
    }
    return cursor.number<std::uint64_t>("a tensor's offset");
  }

  std::uint64_t read_alignment(const detail::GgufCursor& cursor) const {
    const auto found = metadata_.find("general.alignment");
    if (found == metadata_.end()) return 32;
    const auto* number = std::get_if<std::uint64_t>(&found->second);
    if (number == nullptr || !std::has_single_bit(*number) || *number > largest_alignment) {
      cursor.refuse("a power of two up to 2^20 as general.alignment",
                    number ? std::to_string(*number) : "a value of another type");
    }
    return *number;
  }

  static std::uint64_t stored_size(const detail::GgufCursor& cursor, const GgufEntry& entry) {
    constexpr std::int64_t block = 32;
    const DType dtype = entry.type == GgufType::f32 ? DType::f32 : DType::f16;  // all but F32: 16 bits, or made of such
    const auto size = tensor_size(dtype, entry.dims);
    if (!size) cursor.refuse("sizes of a tensor whose product fits in 64 bits", shape_text(entry.dims));
    if (entry.type != GgufType::q8_0) return *size;
    if (entry.dims[0] % block != 0) {
      cursor.refuse("rows of a Q8_0 tensor in blocks of 32", shape_text(entry.dims));
    }
    return *size / 2 / block * 34;
  }

  std::shared_ptr<const MappedFile> file_;
  std::map<std::string_view, GgufValue> metadata_;
  std::map<std::string_view, GgufEntry> tensors_;
};

/// Writes elements [first, first + count) of a tensor as floats to `out`, in stored order. `first` and `count` are
/// multiples of 32 for Q8_0. The range lies within the tensor.
inline void read_gguf_floats(const GgufEntry& entry, std::size_t first, std::size_t count, float* out) {
  if (entry.type != GgufType::q8_0) {
    const DType dtype = entry.type == GgufType::f32   ? DType::f32
                        : entry.type == GgufType::f16 ? DType::f16
                                                      : DType::bf16;
    return read_floats({"", dtype, {}, entry.bytes, nullptr}, first, count, out);
  }
  constexpr std::size_t block = 32, block_bytes = 34;
  GPT2IE_ASSERT(first % block == 0 && count % block == 0);
  for (std::size_t i = 0; i < count; i += block) {
    const std::byte* from = entry.bytes.data() + (first + i) / block * block_bytes;
    f16 scale;
    std::array<std::int8_t, block> values;
    std::memcpy(&scale.bits, from, sizeof scale.bits);
    std::memcpy(values.data(), from + sizeof scale.bits, block);
    for (std::size_t k = 0; k < block; ++k) out[i + k] = to_float(scale) * static_cast<float>(values[k]);
  }
}

}  // namespace gpt2ie::inline GPT2IE_ABI

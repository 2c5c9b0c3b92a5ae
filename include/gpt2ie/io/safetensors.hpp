// SPDX-License-Identifier: MIT
/// Reads safetensors files, trusting nothing that they say.
/// Format: https://huggingface.co/docs/safetensors (an 8-byte length, a JSON header of that length, the data).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/mapped_file.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The longest header that is read, in bytes: the limit of the format's own library.
inline constexpr std::uint64_t safetensors_header_limit = 100'000'000;

/// One tensor of a safetensors file.
struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

namespace detail {

/// Builds the table of tensors while nlohmann's parser walks through the header. No document is built, so what is
/// allocated is bounded by the header's length and nesting deeper than the format's three levels stops the parser at
/// once. Every method returns false after it has set `problem`.
class SafetensorsHeader {
 public:
  using Json = nlohmann::json;

  std::map<std::string, SafetensorsEntry, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
  std::string problem;

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::start:
        place_ = Place::names;
        return true;
      case Place::name_value:
        place_ = is_metadata_ ? Place::metadata_keys : Place::fields;
        fields_seen_ = {};
        entry_ = {};
        return true;
      default:
        return refuse("an object at an unexpected place");
    }
  }

  bool key(std::string& text) {
    if (place_ == Place::names) {
      name_ = text;
      is_metadata_ = text == "__metadata__";
      if (is_metadata_ ? std::exchange(metadata_seen_, true) : tensors.contains(text)) {
        return refuse("the key " + text + " twice");
      }
      place_ = Place::name_value;
      return true;
    }
    if (place_ == Place::metadata_keys) {
      if (metadata.contains(text)) return refuse("the metadata key " + text + " twice");
      metadata_key_ = text;
      place_ = Place::metadata_value;
      return true;
    }
    static constexpr std::array<std::string_view, 3> fields = {"dtype", "shape", "data_offsets"};
    const auto field = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), text) - fields.begin());
    if (field == fields.size()) return refuse("the unknown field " + text + " of tensor " + name_);
    if (std::exchange(fields_seen_[field], true)) return refuse("the field " + text + " of tensor " + name_ + " twice");
    static constexpr std::array<Place, 3> values = {Place::dtype_value, Place::shape_value, Place::offsets_value};
    place_ = values[field];
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata_value) {
      metadata.emplace(std::move(metadata_key_), text);
      place_ = Place::metadata_keys;
      return true;
    }
    if (place_ != Place::dtype_value) return refuse("the text \"" + text + "\" at an unexpected place");
    const auto dtype = dtype_from_name(text);
    if (!dtype) return refuse("the unknown element type " + text + " of tensor " + name_);
    entry_.dtype = *dtype;
    place_ = Place::fields;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::shape_value) {
      place_ = Place::shape_numbers;
      return true;
    }
    if (place_ == Place::offsets_value) {
      place_ = Place::offset_numbers;
      offset_count_ = 0;
      return true;
    }
    return refuse("a list at an unexpected place");
  }

  bool number_unsigned(std::uint64_t number) {
    if (place_ == Place::shape_numbers) {
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
          entry_.shape.size() == max_rank) {
        return refuse("a shape of tensor " + name_ + " with " + std::to_string(entry_.shape.size() + 1) +
                      " sizes, the last of them " + std::to_string(number));
      }
      entry_.shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (place_ == Place::offset_numbers && offset_count_ < 2) {
      (offset_count_++ == 0 ? entry_.begin : entry_.end) = number;
      return true;
    }
    return refuse("the number " + std::to_string(number) + " at an unexpected place");
  }

  bool end_array() {
    if (place_ == Place::offset_numbers && offset_count_ != 2) {
      return refuse(std::to_string(offset_count_) + " data offsets of tensor " + name_);
    }
    place_ = Place::fields;
    return true;
  }

  bool end_object() {
    if (place_ == Place::fields) {
      if (fields_seen_ != std::array{true, true, true}) return refuse("an incomplete entry for tensor " + name_);
      tensors.emplace(std::move(name_), std::move(entry_));
    }
    place_ = Place::names;
    return true;
  }

  bool null() { return refuse("a null"); }
  bool boolean(bool) { return refuse("a true or false"); }
  bool number_integer(std::int64_t number) { return refuse("the negative number " + std::to_string(number)); }
  bool number_float(double, const std::string& text) { return refuse("the number " + text + ", which is no integer"); }
  bool binary(Json::binary_t&) { return refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    return refuse("malformed JSON at byte " + std::to_string(position) + " of the header");
  }

 private:
  /// What the parser reads next.
  enum class Place {
    start,
    names,
    name_value,
    metadata_keys,
    metadata_value,
    fields,
    dtype_value,
    shape_value,
    shape_numbers,
    offsets_value,
    offset_numbers,
  };
  static constexpr std::size_t max_rank = 64;

  bool refuse(std::string what) {
    if (what.size() > 300) what.resize(300);
    problem = std::move(what);
    return false;
  }

  Place place_ = Place::start;
  std::string name_, metadata_key_;
  bool is_metadata_ = false, metadata_seen_ = false;
  std::array<bool, 3> fields_seen_{};
  int offset_count_ = 0;
  SafetensorsEntry entry_;
};

}  // namespace detail

/// A safetensors file, mapped, with its header checked in full: spans agree with shapes and types, lie one behind the
/// other and fill the file. Copies share the mapping. Immutable and safe to read from any thread.
class SafetensorsFile {
 public:
  using Entries = std::map<std::string, SafetensorsEntry, std::less<>>;
  using Metadata = std::map<std::string, std::string, std::less<>>;

  /// Opens and checks a file. Cost: reads the header alone. Errors: `bad_file`, naming the path and what is wrong.
  explicit SafetensorsFile(const std::filesystem::path& path)
      : file_(std::make_shared<const MappedFile>(path)), data_(file_->bytes()) {
    read_header();
    check_spans();
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_->path(); }
  [[nodiscard]] const Entries& tensors() const noexcept { return entries_; }
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  [[nodiscard]] bool has(std::string_view name) const { return entries_.contains(name); }

  /// The tensor of this name, its bytes in the mapping. Errors: `missing_tensor`.
  [[nodiscard]] Tensor tensor(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
      fail(errc::missing_tensor, "tensor " + std::string(name) + " in " + path().string(), "none of that name");
    }
    const SafetensorsEntry& entry = found->second;
    return {found->first, entry.dtype, entry.shape,
            data_.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin)),
            file_};
  }

 private:
  [[noreturn]] void refuse(std::string expected, std::string found) const {
    fail(errc::bad_file, std::move(expected) + " in " + path().string(), std::move(found));
  }

  void read_header() {
    constexpr std::size_t prefix = sizeof(std::uint64_t);
    if (data_.size() < prefix) {
      refuse("the 8 bytes of a safetensors header length", std::to_string(data_.size()) + " bytes");
    }
    std::uint64_t length = 0;
    std::memcpy(&length, data_.data(), prefix);
    const std::uint64_t limit = std::min<std::uint64_t>(data_.size() - prefix, safetensors_header_limit);
    if (length > limit) {
      refuse("a safetensors header of at most " + std::to_string(limit) + " bytes", std::to_string(length));
    }
    const std::string_view text = file_->text().substr(prefix, static_cast<std::size_t>(length));
    data_ = data_.subspan(prefix + static_cast<std::size_t>(length));

    detail::SafetensorsHeader header;
    if (!text.starts_with('{')) refuse("a safetensors header that is a JSON object", "something else");
    if (!nlohmann::json::sax_parse(text, &header)) refuse("a safetensors header", header.problem);
    entries_ = std::move(header.tensors);
    metadata_ = std::move(header.metadata);
  }

  void check_spans() const {
    std::vector<const Entries::value_type*> order;
    order.reserve(entries_.size());
    for (const auto& item : entries_) order.push_back(&item);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
    });
    std::uint64_t at = 0;
    for (const auto* item : order) {
      const auto& [name, entry] = *item;
      const std::string span =
          std::string("[").append(std::to_string(entry.begin)).append(", ").append(std::to_string(entry.end)) + ")";
      const auto size = tensor_size(entry.dtype, entry.shape);
      if (!size) {
        refuse("a shape of tensor " + name + " whose size in bytes is a whole number of 64 bits",
               shape_text(entry.shape) + " of " + std::string(dtype_name(entry.dtype)));
      }
      if (entry.end < entry.begin || entry.end > data_.size()) {
        refuse("a span of tensor " + name + " within the " + std::to_string(data_.size()) + " bytes of data", span);
      }
      if (entry.end - entry.begin != *size) {
        refuse("a span of " + std::to_string(*size) + " bytes for tensor " + name + " " + shape_text(entry.shape) +
                   " of " + std::string(dtype_name(entry.dtype)),
               std::to_string(entry.end - entry.begin) + " bytes");
      }
      if (entry.begin != at) {
        refuse("tensor " + name + " to begin at byte " + std::to_string(at) + " of the data, where the one before ends",
               "the span " + span);
      }
      at = entry.end;
    }
    if (at != data_.size()) {
      refuse("data that ends with the last tensor, at byte " + std::to_string(at),
             std::to_string(data_.size()) + " bytes");
    }
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> data_;
  Entries entries_;
  Metadata metadata_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Writes safetensors files.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

namespace detail {

/// Text as a JSON string. Errors: `bad_request` for text that is not UTF-8, as no JSON string is equal to it.
inline std::string json_string(std::string_view text) {
  const nlohmann::json value(text);
  const std::string quoted = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (nlohmann::json::parse(quoted, nullptr, false) != value) {
    fail(errc::bad_request, "names and metadata of a safetensors file in UTF-8", quoted);
  }
  return quoted;
}

/// A file that takes the place of `path` only once it is whole: until then it lies beside it under a name of its own,
/// and a failure leaves `path` as it was. What is not a regular file, such as a pipe or a device, is written to
/// directly.
class FileReplacement {
 public:
  /// Errors: bad_file if nothing can be written there.
  explicit FileReplacement(const std::filesystem::path& path) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(path, ignored);
    target_ = real.empty() ? path : real;
    direct_ = std::filesystem::exists(target_, ignored) && !std::filesystem::is_regular_file(target_, ignored);
    written_ = target_;
    if (!direct_) written_ += ".partial-" + std::to_string(std::random_device{}());
    stream_.open(written_, std::ios::binary | std::ios::trunc);
    if (!stream_.is_open()) {
      direct_ = true;  // nothing was made, so nothing is to be removed
      fail(errc::bad_file, "to write to " + path.string(), "that the file can't be opened for writing");
    }
  }
  ~FileReplacement() {
    std::error_code ignored;
    if (!direct_) std::filesystem::remove(written_, ignored);
  }
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  [[nodiscard]] std::ofstream& stream() { return stream_; }

  /// Puts the file in its place. False: the system did not take all of it.
  [[nodiscard]] bool finish() {
    stream_.close();
    if (!stream_) return false;
    if (direct_) return true;
    std::error_code error;
    std::filesystem::rename(written_, target_, error);
    direct_ = !error;  // the name is gone, or the destructor removes it
    return !error;
  }

 private:
  std::filesystem::path target_, written_;
  bool direct_ = false;
  std::ofstream stream_;
};

}  // namespace detail

/// Writes the tensors and metadata to a new file at `path`, over one that is there. The widest element types come
/// first and the data begins at a multiple of 64 bytes, so every tensor is aligned. If writing fails, the partial file
/// is removed. Errors: `bad_request` for a repeated or impossible name or bytes that disagree with a shape, before the
/// file is touched; `bad_file` if the system does not take the data.
inline void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                              const std::map<std::string, std::string, std::less<>>& metadata = {}) {
  std::vector<const Tensor*> order;
  std::set<std::string_view> names = {"__metadata__"};
  for (const Tensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      fail(errc::bad_request, "a name for each tensor of a safetensors file", tensor.name + " again");
    }
    if (tensor_size(tensor.dtype, tensor.shape) != std::uint64_t{tensor.bytes.size()}) {
      fail(errc::bad_request, "the bytes of tensor " + tensor.name + " " + shape_text(tensor.shape),
           std::to_string(tensor.bytes.size()) + " bytes");
    }
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Tensor* a, const Tensor* b) { return dtype_bits(a->dtype) > dtype_bits(b->dtype); });

  std::string header = "{";
  const auto add = [&](std::string_view key, const std::string& value) {
    header += (header.size() > 1 ? "," : "") + detail::json_string(key) + ":" + value;
  };
  if (!metadata.empty()) {
    std::string values;
    for (const auto& [key, value] : metadata) {
      values += (values.empty() ? "{" : ",") + detail::json_string(key) + ":" + detail::json_string(value);
    }
    add("__metadata__", values + "}");
  }
  std::uint64_t at = 0;
  for (const Tensor* tensor : order) {
    const std::uint64_t end = at + tensor->bytes.size();
    add(tensor->name, "{\"dtype\":\"" + std::string(dtype_name(tensor->dtype)) +
                          "\",\"shape\":" + shape_text(tensor->shape) + ",\"data_offsets\":" + "[" +
                          std::to_string(at) + "," + std::to_string(end) + "]}");
    at = end;
  }
  header += "}";
  header.append((64 - (sizeof(std::uint64_t) + header.size()) % 64) % 64, ' ');
  if (header.size() > safetensors_header_limit) {
    fail(errc::bad_request, "a header of at most " + std::to_string(safetensors_header_limit) + " bytes",
         std::to_string(header.size()));
  }

  const std::uint64_t length = header.size();
  std::array<char, sizeof length> prefix;
  std::memcpy(prefix.data(), &length, sizeof length);
  detail::FileReplacement file(path);
  file.stream().write(prefix.data(), prefix.size());
  file.stream().write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const Tensor* tensor : order) {
    file.stream().write(reinterpret_cast<const char*>(tensor->bytes.data()),
                        static_cast<std::streamsize>(tensor->bytes.size()));
  }
  if (!file.finish()) {
    fail(errc::bad_file, "to write " + std::to_string(prefix.size() + length + at) + " bytes to " + path.string(),
         "that the system does not take them all");
  }
}

}  // namespace gpt2ie::inline GPT2IE_ABI

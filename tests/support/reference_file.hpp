// SPDX-License-Identifier: MIT
/// Reads values of a reference file.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie_test {

/// A safetensors file of expected values: floats, and token ids as 64-bit integers.
class ReferenceFile {
 public:
  explicit ReferenceFile(const std::filesystem::path& path) : file_(path) {}

  [[nodiscard]] std::vector<float> floats(const std::string& name) const {
    const gpt2ie::Tensor tensor = file_.tensor(name);
    std::vector<float> values(tensor.size());
    gpt2ie::read_floats(tensor, 0, values.size(), values.data());
    return values;
  }

  [[nodiscard]] std::vector<gpt2ie::Token> tokens(const std::string& name) const {
    const gpt2ie::Tensor tensor = file_.tensor(name);
    REQUIRE(tensor.dtype == gpt2ie::DType::i64);
    std::vector<std::int64_t> values(tensor.size());
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return {values.begin(), values.end()};
  }

 private:
  gpt2ie::SafetensorsFile file_;
};

}  // namespace gpt2ie_test

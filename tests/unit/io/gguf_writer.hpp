// SPDX-License-Identifier: MIT
/// Writes GGUF files for tests, well-formed ones and, piece by piece, others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/gguf.hpp>
#include <gpt2ie/io/gguf_model.hpp>
#include <gpt2ie/io/synthetic.hpp>

#include "unit/io/checkpoint_files.hpp"

namespace gpt2ie_test {

inline std::string gguf_text(std::string_view text) {
  return little_endian<std::uint64_t>(text.size()) + std::string(text);
}

/// A metadata value of any type: key, number of the type, bytes of the value.
inline std::string gguf_value(std::string_view key, std::uint32_t type, std::string_view bytes) {
  return gguf_text(key) + little_endian(type) + std::string(bytes);
}

inline std::string gguf_integer(std::string_view key, std::uint32_t value) {
  return gguf_value(key, 4, little_endian(value));
}

/// Encodes floats row by row as a GGUF file stores them; Q8_0 as the format defines it: scale = largest / 127.
inline std::string gguf_encode(gpt2ie::GgufType type, const std::vector<float>& values) {
  std::string bytes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == gpt2ie::GgufType::f32) bytes += little_endian(values[i]);
    if (type == gpt2ie::GgufType::f16) bytes += little_endian(gpt2ie::from_float<gpt2ie::f16>(values[i]).bits);
    if (type == gpt2ie::GgufType::bf16) bytes += little_endian(gpt2ie::from_float<gpt2ie::bf16>(values[i]).bits);
    if (type == gpt2ie::GgufType::q8_0 && i % 32 == 0) {
      float largest = 0;
      for (std::size_t k = i; k < i + 32; ++k) largest = std::max(largest, std::fabs(values[k]));
      const float scale = largest / 127.0f;
      bytes += little_endian(gpt2ie::from_float<gpt2ie::f16>(scale).bits);
      for (std::size_t k = i; k < i + 32; ++k) {
        bytes += little_endian(static_cast<std::int8_t>(scale > 0 ? std::lround(values[k] / scale) : 0));
      }
    }
  }
  return bytes;
}

/// One file in the making.
struct GgufWriter {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::vector<std::string> values;
  std::vector<std::string> infos;
  std::string data;

  void add(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
           const std::string& bytes) {
    std::string info = gguf_text(name) + little_endian(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t n : dims) info += little_endian(n);
    infos.push_back(info + little_endian(type) + little_endian<std::uint64_t>(data.size()));
    data += bytes;
    data.resize((data.size() + alignment - 1) / alignment * alignment);
  }

  /// Everything in front of the data, without padding.
  std::string front() const {
    std::string text = "GGUF" + little_endian(version) + little_endian<std::uint64_t>(infos.size()) +
                       little_endian<std::uint64_t>(values.size());
    for (const std::string& value : values) text += value;
    for (const std::string& info : infos) text += info;
    return text;
  }

  std::string text() const {
    std::string text = front();
    text.resize((text.size() + alignment - 1) / alignment * alignment);
    return text + data;
  }
};

/// A GPT-2 with synthetic values as a GGUF file. Weights of products go as `type` where their rows are whole blocks,
/// else as F16 where `type` is Q8_0; vectors and positions are F32, as converters leave them.
inline GgufWriter gguf_model(const gpt2ie::ModelConfig& config, gpt2ie::GgufType type) {
  using gpt2ie::GgufType;
  GgufWriter writer;
  writer.values = {
      gguf_value("general.architecture", 8, gguf_text("gpt2")),
      gguf_value("tokenizer.ggml.tokens", 9,
                 little_endian(std::uint32_t{8}) + little_endian(std::uint64_t{2}) + gguf_text("a") + gguf_text("")),
      gguf_value("tokenizer.ggml.scores", 9,
                 little_endian(std::uint32_t{6}) + little_endian(std::uint64_t{1}) + little_endian(1.0f)),
      gguf_value("tokenizer.ggml.add_bos_token", 7, little_endian(std::uint8_t{1})),
      gguf_integer("tokenizer.ggml.eos_token_id", 39),
      gguf_integer("tokenizer.ggml.bos_token_id", 50256),
      gguf_integer("gpt2.block_count", static_cast<std::uint32_t>(config.n_layer)),
      gguf_integer("gpt2.attention.head_count", static_cast<std::uint32_t>(config.n_head)),
      gguf_integer("gpt2.embedding_length", static_cast<std::uint32_t>(config.n_embd)),
      gguf_integer("gpt2.feed_forward_length", static_cast<std::uint32_t>(config.n_inner)),
      gguf_value("gpt2.context_length", 10, little_endian(static_cast<std::uint64_t>(config.n_positions))),
      gguf_value("gpt2.attention.layer_norm_epsilon", 6, little_endian(config.layer_norm_epsilon))};
  const gpt2ie::Checkpoint checkpoint = gpt2ie::synthetic_checkpoint(config);
  gpt2ie::for_each_weight(config, [&](const std::string& key, const gpt2ie::Shape& shape) {
    std::vector<float> stored = values_of(checkpoint.tensor(key));
    std::vector<std::uint64_t> dims;
    for (auto n = shape.rbegin(); n != shape.rend(); ++n) dims.push_back(static_cast<std::uint64_t>(*n));
    if (gpt2ie::detail::gguf_is_transposed(key)) {
      const std::vector<float> given = stored;
      std::swap(dims[0], dims[1]);  // dims are now [in, out], fastest first: rows of the file are outputs
      for (std::size_t i = 0; i < dims[0]; ++i) {
        for (std::size_t o = 0; o < dims[1]; ++o) stored[o * dims[0] + i] = given[i * dims[1] + o];
      }
    }
    GgufType used = shape.size() == 1 || key == "wpe.weight" ? GgufType::f32 : type;
    if (used == GgufType::q8_0 && dims[0] % 32 != 0) used = GgufType::f16;
    writer.add(gpt2ie::detail::gguf_name(key), dims, static_cast<std::uint32_t>(used), gguf_encode(used, stored));
  });
  return writer;
}

}  // namespace gpt2ie_test

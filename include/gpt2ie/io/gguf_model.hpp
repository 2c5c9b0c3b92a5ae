// SPDX-License-Identifier: MIT
/// The tensors of a GPT-2 in a GGUF file, under Hugging Face's keys and in Hugging Face's orientation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/check_model_config.hpp>
#include <gpt2ie/io/gguf.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/io/tensor_source.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The name in a GGUF file of the tensor with this key; empty if there is none.
inline std::string gguf_name(std::string_view key) {
  using Pair = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Pair, 5> outside = {{
      {"wte.weight", "token_embd.weight"},
      {"wpe.weight", "position_embd.weight"},
      {"ln_f.weight", "output_norm.weight"},
      {"ln_f.bias", "output_norm.bias"},
      {"lm_head.weight", "output.weight"},
  }};
  static constexpr std::array<Pair, 6> inside = {{
      {"ln_1", "attn_norm"},
      {"attn.c_attn", "attn_qkv"},
      {"attn.c_proj", "attn_output"},
      {"ln_2", "ffn_norm"},
      {"mlp.c_fc", "ffn_up"},
      {"mlp.c_proj", "ffn_down"},
  }};
  for (const auto& [ours, theirs] : outside) {
    if (ours == key) return std::string(theirs);
  }
  if (!key.starts_with("h.")) return {};
  key.remove_prefix(2);
  const std::string_view layer = key.substr(0, key.find('.'));
  const std::string_view rest = key.substr(std::min(key.size(), layer.size() + 1));
  const std::size_t last_dot = rest.rfind('.');
  if (last_dot == std::string_view::npos) return {};
  for (const auto& [ours, theirs] : inside) {
    if (ours == rest.substr(0, last_dot)) {
      return "blk." + std::string(layer) + "." + std::string(theirs) + std::string(rest.substr(last_dot));
    }
  }
  return {};
}

/// GGUF keeps weights of products as [out, in]; Hugging Face's GPT-2 has them as [in, out].
inline bool gguf_is_transposed(std::string_view key) {
  return key.ends_with("c_attn.weight") || key.ends_with("c_proj.weight") || key.ends_with("c_fc.weight");
}

class GgufModel final : public TensorSource {
 public:
  explicit GgufModel(const std::filesystem::path& path) : file_(path), config_(read_config()) {}

  [[nodiscard]] const ModelConfig& config() const noexcept { return config_; }

  [[nodiscard]] std::optional<TensorInfo> info(std::string_view key) const override {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return std::nullopt;
    Shape shape = entry->dims;
    // Fastest first is the transposed matrix already; anything else is turned round.
    if (!gguf_is_transposed(key)) std::reverse(shape.begin(), shape.end());
    return TensorInfo{given_type(key, *entry), std::move(shape), entry->bytes.size()};
  }

  /// Tensors that need no decoding and no transposition stay in the mapping.
  [[nodiscard]] Tensor tensor(std::string_view key) const override {
    const GgufEntry& entry = *find(key);
    TensorInfo facts = *info(key);
    if (!gguf_is_transposed(key) && entry.type != GgufType::q8_0) {
      return {std::string(key), facts.dtype, std::move(facts.shape), entry.bytes, file_.keep_alive()};
    }
    NewTensor made = new_float_tensor(std::string(key), std::move(facts.shape));
    if (gguf_is_transposed(key)) {
      transpose(entry, made.values);
    } else {
      read_gguf_floats(entry, 0, made.tensor.size(), made.values);
    }
    return made.tensor;
  }

  [[nodiscard]] bool same(std::string_view key, std::string_view other) const override {
    const GgufEntry &a = *find(key), &b = *find(other);
    return a.type == b.type && a.dims == b.dims && std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
  }

 private:
  [[nodiscard]] const GgufEntry* find(std::string_view key) const {
    const auto found = file_.tensors().find(gguf_name(key));
    return found == file_.tensors().end() ? nullptr : &found->second;
  }

  static DType given_type(std::string_view key, const GgufEntry& entry) {
    if (gguf_is_transposed(key)) return DType::f32;
    return entry.type == GgufType::f16 ? DType::f16 : entry.type == GgufType::bf16 ? DType::bf16 : DType::f32;
  }

  /// Writes rows of the file as columns of `out`, some rows at a time so that writes fill whole cache lines.
  static void transpose(const GgufEntry& entry, float* out) {
    constexpr std::size_t lines = 16;
    const auto in = static_cast<std::size_t>(entry.dims[0]), rows = static_cast<std::size_t>(entry.dims[1]);
    std::vector<float> strip(lines * in);
    for (std::size_t first = 0; first < rows; first += lines) {
      const std::size_t n = std::min(lines, rows - first);
      read_gguf_floats(entry, first * in, n * in, strip.data());
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t r = 0; r < n; ++r) out[i * rows + first + r] = strip[r * in + i];
      }
    }
  }

  [[nodiscard]] const GgufValue* value(std::string_view key) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? nullptr : &found->second;
  }

  [[noreturn]] void refuse(std::string_view expected, std::string_view key, const GgufValue* found) const {
    fail(errc::bad_config, std::string(expected) + " as " + std::string(key) + " in " + file_.path().string(),
         found == nullptr ? "no such key" : "a value of another type or range");
  }

  [[nodiscard]] int integer(std::string_view key) const {
    constexpr int most = std::numeric_limits<int>::max();
    const GgufValue* found = value(key);
    if (found != nullptr) {
      if (const auto* n = std::get_if<std::uint64_t>(found); n && *n <= std::uint64_t{most})
        return static_cast<int>(*n);
      if (const auto* n = std::get_if<std::int64_t>(found); n && *n >= 0 && *n <= most) return static_cast<int>(*n);
    }
    refuse("an integer from 0 to 2^31 - 1", key, found);
  }

  [[nodiscard]] ModelConfig read_config() const {
    const std::string name = file_.path().string();
    const GgufValue* architecture = value("general.architecture");
    const auto* text = architecture ? std::get_if<std::string_view>(architecture) : nullptr;
    if (text == nullptr) refuse("a text", "general.architecture", architecture);
    if (*text != "gpt2") {
      fail(errc::unsupported, "general.architecture gpt2 in " + name, "\"" + GgufCursor::printable(*text) + "\"");
    }
    if (value("split.count") != nullptr && integer("split.count") > 1) {
      fail(errc::unsupported, "a model in one GGUF file", name + ", one of several");
    }
    ModelConfig config;
    config.n_layer = integer("gpt2.block_count");
    config.n_head = integer("gpt2.attention.head_count");
    config.n_embd = integer("gpt2.embedding_length");
    config.n_positions = integer("gpt2.context_length");
    config.n_inner = value("gpt2.feed_forward_length") ? integer("gpt2.feed_forward_length")
                                                       : 4 * std::min(config.n_embd, ModelLimits::n_embd);
    const GgufValue* epsilon = value("gpt2.attention.layer_norm_epsilon");
    const auto* number = epsilon ? std::get_if<double>(epsilon) : nullptr;
    if (number == nullptr) refuse("a number", "gpt2.attention.layer_norm_epsilon", epsilon);
    config.layer_norm_epsilon = static_cast<float>(*number);

    // The format has no key for it: the embedding table has a row for each token.
    const GgufEntry* embedding = find("wte.weight");
    if (embedding == nullptr || embedding->dims.size() != 2) {
      fail(errc::missing_tensor, "a matrix token_embd.weight in " + name, embedding ? "another shape" : "none");
    }
    config.vocab = static_cast<int>(std::min<std::int64_t>(embedding->dims[1], std::numeric_limits<int>::max()));
    if (value("tokenizer.ggml.bos_token_id") != nullptr) {
      const int bos = integer("tokenizer.ggml.bos_token_id");
      if (bos < config.vocab) config.bos_token_id = bos;
    }
    if (value("tokenizer.ggml.eos_token_id") != nullptr) {
      const int eos = integer("tokenizer.ggml.eos_token_id");
      if (eos < config.vocab) config.eos_token_ids = {eos};
    }
    check_model_config(config, name);
    return config;
  }

  GgufFile file_;
  ModelConfig config_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

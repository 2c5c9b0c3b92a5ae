// SPDX-License-Identifier: MIT
/// A GPT-2 as files or formulas give it: configuration and named tensors, checked before any weight is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/check_model_config.hpp>
#include <gpt2ie/io/gguf_model.hpp>
#include <gpt2ie/io/hugging_face_folder.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/io/tensor_source.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A complete GPT-2: every tensor that the configuration asks for is there, in the right shape and a type that converts
/// to float. Copies are cheap and share everything; immutable, so any number of threads may read it.
class Checkpoint {
 public:
  /// Checks everything that can be checked without reading weights. Values are not looked at: NaN and infinity pass.
  /// Keys that a GPT-2 does not have are ignored.
  ///
  /// The head: a `lm_head.weight` in the source is used, except that one equal to `wte.weight` to the bit, in a model
  /// that ties them, counts as absent (this saves its memory and is the only check that reads weights). Absent, the
  /// head is `wte.weight` in a model that ties them.
  ///
  /// Errors: `bad_config`, `unsupported`; `missing_tensor` with the first key that is missing, in layer order;
  /// `bad_shape` with both shapes.
  Checkpoint(const ModelConfig& config, std::shared_ptr<const TensorSource> source, std::string_view name,
             std::filesystem::path folder = {})
      : shared_(std::make_shared<const Shared>(config, std::move(source), name, std::move(folder))) {}

  [[nodiscard]] const ModelConfig& config() const noexcept { return shared_->config; }

  /// The folder of the file or files, where a tokenizer may be looked for; empty for a synthetic checkpoint.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return shared_->folder; }

  /// The model has a tensor of this key (without `transformer.`): one of for_each_weight, or `lm_head.weight` if
  /// has_own_head().
  [[nodiscard]] bool has(std::string_view key) const { return shared_->tensors.contains(key); }

  /// The tensor of this key. Each call maps, decodes or generates it anew, so keep it no longer than it is needed.
  /// Errors: `missing_tensor`.
  [[nodiscard]] Tensor tensor(std::string_view key) const {
    if (!has(key)) {
      fail(errc::missing_tensor, "the key of a tensor of this GPT-2", "\"" + std::string(key) + "\"");
    }
    return shared_->source->tensor(key);
  }

  /// The head is `lm_head.weight`; otherwise it is `wte.weight`.
  [[nodiscard]] bool has_own_head() const { return has("lm_head.weight"); }

  /// The precision of matrices that a backend packed ahead of time (write_packed_weights), such as "int8"; empty for a
  /// checkpoint of plain tensors. Such a matrix is a U8 tensor of bytes in that backend's layout.
  [[nodiscard]] const std::string& packed_precision() const noexcept { return shared_->packed; }

  /// Bytes of all tensors of the model as the files store them; of the floats for a synthetic checkpoint.
  [[nodiscard]] std::uint64_t tensor_bytes() const noexcept { return shared_->bytes; }

 private:
  struct Shared {
    ModelConfig config;
    std::shared_ptr<const TensorSource> source;
    std::filesystem::path folder;
    std::map<std::string, TensorInfo, std::less<>> tensors;
    std::uint64_t bytes = 0;
    std::string packed;

    Shared(const ModelConfig& model, std::shared_ptr<const TensorSource> from, std::string_view name,
           std::filesystem::path where)
        : config(model), source(std::move(from)), folder(std::move(where)) {
      check_model_config(config, name);
      packed = source->packed_precision();
      for_each_weight(config, [&](const std::string& key, const Shape& shape) { take(key, shape, name); });
      take_head(name);
      for (const auto& item : tensors) bytes += item.second.stored_bytes;
    }

    void take(const std::string& key, const Shape& shape, std::string_view name) {
      const std::string tensor = "tensor " + key + " " + shape_text(shape) + " in " + std::string(name);
      auto info = source->info(key);
      if (!info) fail(errc::missing_tensor, tensor, "no tensor of that key");
      if (!packed.empty() && shape.size() == 2) return take_packed(key, tensor, std::move(*info));
      if (info->shape != shape) fail(errc::bad_shape, tensor, "the shape " + shape_text(info->shape));
      if (!converts_to_float(info->dtype)) {
        fail(errc::unsupported, tensor + " as F32, F16 or BF16", std::string(dtype_name(info->dtype)));
      }
      tensors.emplace(key, std::move(*info));
    }

    /// The size is checked by the backend, whose layout it is.
    void take_packed(const std::string& key, const std::string& tensor, TensorInfo info) {
      if (info.dtype != DType::u8) {
        fail(errc::unsupported, tensor + " packed as U8", std::string(dtype_name(info.dtype)));
      }
      tensors.emplace(key, std::move(info));
    }

    void take_head(std::string_view name) {
      const std::string key = "lm_head.weight";
      if (source->info(key)) {
        take(key, {config.vocab, config.n_embd}, name);
        if (config.tie_word_embeddings && source->same(key, "wte.weight")) tensors.erase(key);
      } else if (!config.tie_word_embeddings) {
        fail(errc::missing_tensor,
             "tensor lm_head.weight in " + std::string(name) + ", as tie_word_embeddings is false",
             "no tensor of that key");
      }
    }
  };

  std::shared_ptr<const Shared> shared_;
};

/// Opens a checkpoint: a Hugging Face folder (config.json with model.safetensors or shards) or a GGUF file. Cost: reads
/// headers alone; weights are mapped and paged in when they are used. Errors: those of Checkpoint, and `bad_file`.
[[nodiscard]] inline Checkpoint load_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  if (path.extension() == ".gguf" || std::filesystem::is_regular_file(path, error)) {
    const auto source = std::make_shared<const detail::GgufModel>(path);
    const std::filesystem::path folder = path.parent_path();
    return {source->config(), source, path.string(), folder.empty() ? "." : folder};
  }
  const auto source = std::make_shared<const detail::HuggingFaceFolder>(path);
  return {source->config(), source, path.string(), path};
}

}  // namespace gpt2ie::inline GPT2IE_ABI

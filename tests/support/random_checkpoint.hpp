// SPDX-License-Identifier: MIT
/// Small models with random weights, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/philox.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/io/tensor_source.hpp>

namespace gpt2ie_test {

/// `count` values, uniform in [-scale, scale), another row of them for another seed.
inline std::vector<float> random_floats(std::size_t count, float scale, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float u = gpt2ie::uniform_float({.seed = seed, .position = static_cast<std::uint32_t>(i)});
    values[i] = (2 * u - 1) * scale;
  }
  return values;
}

/// Tensors by key.
class TensorMap final : public gpt2ie::TensorSource {
 public:
  explicit TensorMap(std::vector<gpt2ie::Tensor> tensors) {
    for (gpt2ie::Tensor& tensor : tensors) tensors_.emplace(tensor.name, std::move(tensor));
  }

  [[nodiscard]] std::optional<gpt2ie::TensorInfo> info(std::string_view key) const override {
    const auto found = tensors_.find(key);
    if (found == tensors_.end()) return std::nullopt;
    const gpt2ie::Tensor& tensor = found->second;
    return gpt2ie::TensorInfo{tensor.dtype, tensor.shape, tensor.bytes.size()};
  }
  [[nodiscard]] gpt2ie::Tensor tensor(std::string_view key) const override { return tensors_.find(key)->second; }

 private:
  std::map<std::string, gpt2ie::Tensor, std::less<>> tensors_;
};

/// All tensors of a model of this configuration, with attention and logits that are far from uniform: weights up to
/// `scale`, norms around 1.
inline std::vector<gpt2ie::Tensor> random_tensors(const gpt2ie::ModelConfig& config, float scale = 0.25f,
                                                  std::uint64_t seed = 1) {
  std::vector<gpt2ie::Tensor> tensors;
  gpt2ie::for_each_weight(config, [&](const std::string& key, const gpt2ie::Shape& shape) {
    std::size_t size = 1;
    for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
    std::vector<float> values = random_floats(size, scale, seed * 1000 + tensors.size());
    if (key.ends_with("ln_1.weight") || key.ends_with("ln_2.weight") || key.ends_with("ln_f.weight")) {
      for (float& value : values) value += 1.0f;
    }
    tensors.push_back(gpt2ie::float_tensor(key, shape, values));
  });
  return tensors;
}

inline gpt2ie::Checkpoint checkpoint_of(const gpt2ie::ModelConfig& config, std::vector<gpt2ie::Tensor> tensors) {
  return {config, std::make_shared<const TensorMap>(std::move(tensors)), "a checkpoint in memory"};
}

inline gpt2ie::Checkpoint random_checkpoint(const gpt2ie::ModelConfig& config) {
  return checkpoint_of(config, random_tensors(config));
}

/// A configuration of two layers that runs in a moment.
inline gpt2ie::ModelConfig small_config(int n_head, int head_dim, int n_positions) {
  gpt2ie::ModelConfig config;
  config.n_layer = 2;
  config.n_head = n_head;
  config.n_embd = n_head * head_dim;
  config.n_inner = 2 * config.n_embd + 3;
  config.n_positions = n_positions;
  config.vocab = 101;
  return config;
}

}  // namespace gpt2ie_test

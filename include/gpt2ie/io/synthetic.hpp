// SPDX-License-Identifier: MIT
/// Checkpoints made of formulas: real sizes for measuring and checking, without a download.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/io/tensor_source.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The sizes of OpenAI's four models: "124m", "355m", "774m" or "1558m". Errors: `bad_request` for another name.
[[nodiscard]] inline ModelConfig gpt2_preset(std::string_view name) {
  struct Sizes {
    std::string_view name;
    int n_layer, n_head, n_embd;
  };
  static constexpr std::array<Sizes, 4> presets = {{
      {"124m", 12, 12, 768},
      {"355m", 24, 16, 1024},
      {"774m", 36, 20, 1280},
      {"1558m", 48, 25, 1600},
  }};
  for (const Sizes& sizes : presets) {
    if (sizes.name != name) continue;
    ModelConfig config;
    config.n_layer = sizes.n_layer;
    config.n_head = sizes.n_head;
    config.n_embd = sizes.n_embd;
    config.n_inner = 4 * sizes.n_embd;
    config.bos_token_id = 50256;
    config.eos_token_ids = {50256};
    return config;
  }
  fail(errc::bad_request, "one of the presets 124m, 355m, 774m and 1558m",
       std::string(1, '"').append(name).append(1, '"'));
}

/// Writes elements [first, first + out.size()) of the synthetic tensor of this key. Element i is v scaled, with v in
/// [-1, 1) from the upper 24 bits of splitmix64's i-th output, seeded with the 64-bit FNV-1a hash of the key; norms'
/// weights are 1 + 0.1 v, biases 0.05 v, all others 0.035 v, each product and sum rounded once to float.
/// Sources: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; G.
/// Fowler, L. C. Noll, K.-P. Vo, "The FNV non-cryptographic hash algorithm". Cost: about 3 ns an element.
inline void synthetic_values(std::string_view key, std::size_t first, std::span<float> out) {
  std::uint64_t seed = 0xcbf29ce484222325u;
  for (const char c : key) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;

  const bool is_norm = key.ends_with("ln_1.weight") || key.ends_with("ln_2.weight") || key.ends_with("ln_f.weight");
  const float scale = is_norm ? 0.1f : key.ends_with("bias") ? 0.05f : 0.035f;
  std::uint64_t state = seed + first * 0x9e3779b97f4a7c15u;
  for (float& x : out) {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    // Both steps are exact: 24 bits times a power of two, minus one.
    const float v = static_cast<float>(static_cast<std::int32_t>(z >> 40)) * 0x1p-23f - 1.0f;
    x = v * scale;
  }
  // A loop of its own, so that no compiler joins the product and the sum into one operation with one rounding.
  if (is_norm) {
    for (float& x : out) x += 1.0f;
  }
}

namespace detail {

class SyntheticModel final : public TensorSource {
 public:
  explicit SyntheticModel(const ModelConfig& config) {
    for_each_weight(config, [&](std::string key, Shape shape) { shapes_.emplace(std::move(key), std::move(shape)); });
  }

  [[nodiscard]] std::optional<TensorInfo> info(std::string_view key) const override {
    const auto found = shapes_.find(key);
    if (found == shapes_.end()) return std::nullopt;
    return TensorInfo{DType::f32, found->second, tensor_size(DType::f32, found->second).value_or(0)};
  }

  [[nodiscard]] Tensor tensor(std::string_view key) const override {
    NewTensor made = new_float_tensor(std::string(key), shapes_.find(key)->second);
    synthetic_values(key, 0, {made.values, made.tensor.size()});
    return made.tensor;
  }

 private:
  std::map<std::string, Shape, std::less<>> shapes_;
};

}  // namespace detail

/// A checkpoint of this configuration whose weights synthetic_values gives, each tensor when it is asked for. The head
/// is `wte.weight`, so the configuration must tie them. Errors: those of check_model_config.
[[nodiscard]] inline Checkpoint synthetic_checkpoint(const ModelConfig& config) {
  constexpr std::string_view name = "a synthetic checkpoint";
  check_model_config(config, name);
  return {config, std::make_shared<const detail::SyntheticModel>(config), name};
}

}  // namespace gpt2ie::inline GPT2IE_ABI

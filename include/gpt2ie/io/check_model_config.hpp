// SPDX-License-Identifier: MIT
/// Refuses configurations that make no GPT-2 or whose sizes could overflow later arithmetic.
#pragma once

#include <string>
#include <string_view>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The largest sizes that are accepted. Within them every product of two sizes times three, and the bytes of every
/// tensor, fit in 64 bits, and 3 * n_embd fits in an int.
struct ModelLimits {
  static constexpr int n_layer = 4096;
  static constexpr int n_head = 4096;
  static constexpr int n_embd = 1 << 16;
  static constexpr int n_inner = 1 << 20;
  static constexpr int n_positions = 1 << 20;
  static constexpr int vocab = 1 << 24;
  static constexpr int head_dim = 256;
};

/// Checks the sizes of a configuration, however it was made. `name` says in messages where it comes from. Errors:
/// `bad_config`; `unsupported` for heads wider than 256.
inline void check_model_config(const ModelConfig& config, std::string_view name) {
  const std::string in = " in " + std::string(name);
  const auto size = [&](std::string_view key, int value, int largest) {
    if (value >= 1 && value <= largest) return;
    fail(errc::bad_config, std::string(key) + " from 1 to " + std::to_string(largest) + in, std::to_string(value));
  };
  size("n_layer", config.n_layer, ModelLimits::n_layer);
  size("n_head", config.n_head, ModelLimits::n_head);
  size("n_embd", config.n_embd, ModelLimits::n_embd);
  size("n_inner", config.n_inner, ModelLimits::n_inner);
  size("n_positions", config.n_positions, ModelLimits::n_positions);
  size("vocab_size", config.vocab, ModelLimits::vocab);
  const std::string heads = "n_embd " + std::to_string(config.n_embd) + " and n_head " + std::to_string(config.n_head);
  if (config.n_embd % config.n_head != 0) fail(errc::bad_config, "n_embd to be a multiple of n_head" + in, heads);
  if (config.head_dim() > ModelLimits::head_dim) {
    fail(errc::unsupported, "heads of at most " + std::to_string(ModelLimits::head_dim) + " elements" + in, heads);
  }
  if (config.activation == Activation::none) fail(errc::bad_config, "an activation function" + in, "none");
  // Written so that NaN is refused.
  if (!(config.layer_norm_epsilon > 0.0f && config.layer_norm_epsilon <= 1.0f)) {
    fail(errc::bad_config, "a layer_norm_epsilon above 0 and at most 1" + in,
         std::to_string(config.layer_norm_epsilon));
  }
  const auto token = [&](std::string_view key, Token id) {
    if (id >= 0 && id < config.vocab) return;
    fail(errc::bad_config, std::string(key) + " within the vocabulary of " + std::to_string(config.vocab) + in,
         std::to_string(id));
  };
  if (config.bos_token_id != -1) token("bos_token_id", config.bos_token_id);
  for (const Token id : config.eos_token_ids) token("eos_token_id", id);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

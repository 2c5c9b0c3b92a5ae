// SPDX-License-Identifier: MIT
/// The sizes and options of one GPT-2, all of them run-time values.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

using Token = std::int32_t;

/// The function between the two products of an MLP. Hugging Face's names map to these:
/// gelu_new, gelu_fast, gelu_pytorch_tanh -> gelu_tanh; gelu -> gelu; quick_gelu -> quick_gelu; relu; silu; tanh.
enum class Activation { none, gelu_tanh, gelu, quick_gelu, relu, silu, tanh };

/// One GPT-2. The defaults are those of Hugging Face's GPT2Config (gpt2, 124M).
struct ModelConfig {
  int n_layer = 12;
  int n_head = 12;
  int n_embd = 768;        ///< width of the residual stream; n_head divides it
  int n_inner = 3072;      ///< width of the MLP's middle
  int n_positions = 1024;  ///< longest context in tokens
  int vocab = 50257;       ///< rows of the embedding table, padding rows included
  Activation activation = Activation::gelu_tanh;
  float layer_norm_epsilon = 1e-5f;
  bool scale_attn_weights = true;                ///< divide scores by sqrt(head_dim)
  bool scale_attn_by_inverse_layer_idx = false;  ///< divide scores of layer i by i + 1
  bool tie_word_embeddings = true;               ///< the head is the embedding table, unless the checkpoint has its own
  Token bos_token_id = -1;                       ///< start of text; -1: none
  std::vector<Token> eos_token_ids;              ///< each ends a text

  [[nodiscard]] int head_dim() const { return n_embd / n_head; }

  /// What a score of this layer is multiplied with before softmax.
  [[nodiscard]] float attention_scale(int layer) const {
    float scale = scale_attn_weights ? 1.0f / std::sqrt(static_cast<float>(head_dim())) : 1.0f;
    if (scale_attn_by_inverse_layer_idx) scale /= static_cast<float>(layer + 1);
    return scale;
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI

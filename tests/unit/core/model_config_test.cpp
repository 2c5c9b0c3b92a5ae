// SPDX-License-Identifier: MIT
#include <cmath>

#include <doctest/doctest.h>

#include <gpt2ie/core/model_config.hpp>

TEST_CASE("the defaults are GPT-2 124M") {
  const gpt2ie::ModelConfig config;
  CHECK(config.head_dim() == 64);
  CHECK(config.n_inner == 4 * config.n_embd);
  CHECK(config.vocab == 50257);
}

TEST_CASE("attention scales follow both flags") {
  gpt2ie::ModelConfig config;
  CHECK(config.attention_scale(0) == 0.125f);
  CHECK(config.attention_scale(5) == 0.125f);
  config.scale_attn_by_inverse_layer_idx = true;
  CHECK(config.attention_scale(0) == 0.125f);
  CHECK(config.attention_scale(4) == 0.025f);
  config.scale_attn_weights = false;
  CHECK(config.attention_scale(1) == 0.5f);
  config.scale_attn_by_inverse_layer_idx = false;
  CHECK(config.attention_scale(7) == 1.0f);
}

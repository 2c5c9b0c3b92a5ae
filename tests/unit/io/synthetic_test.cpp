// SPDX-License-Identifier: MIT
/// Synthetic checkpoints against values computed elsewhere.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/synthetic.hpp>

#include "support/shared_data.hpp"
#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

TEST_CASE("synthetic weights equal the reference to the bit") {
  const auto path = shared_path("reference/synthetic-gpt2-124m.expected.safetensors");
  if (!path) return;
  const SafetensorsFile expected(*path);
  const auto check = [&](std::string_view probe, std::string_view key, std::size_t first) {
    CAPTURE(key);
    std::vector<float> values(8);
    synthetic_values(key, first, values);
    CHECK(values == values_of(expected.tensor(probe)));
  };
  check("probe.wte", "wte.weight", 0);
  check("probe.ln_f.weight", "ln_f.weight", 0);
  check("probe.h0.c_attn", "h.0.attn.c_attn.weight", 768 * 2304 - 8);
}

TEST_CASE("known values without a reference file") {
  std::vector<float> values(2);
  synthetic_values("wte.weight", 0, values);
  CHECK(values == std::vector<float>{-0.021386291831731796f, -0.034403663128614426f});
  synthetic_values("ln_f.weight", 0, values);
  CHECK(values == std::vector<float>{1.0839276313781738f, 0.9472195506095886f});
}

TEST_CASE("norms lie around one and biases around zero") {
  const Checkpoint checkpoint = synthetic_checkpoint(tiny_config());
  for (const float x : values_of(checkpoint.tensor("h.0.ln_1.weight"))) CHECK((x >= 0.9f && x <= 1.1f));
  for (const float x : values_of(checkpoint.tensor("h.0.ln_1.bias"))) CHECK((x >= -0.05f && x <= 0.05f));
  for (const float x : values_of(checkpoint.tensor("wte.weight"))) CHECK((x >= -0.035f && x <= 0.035f));
}

TEST_CASE("a part of a tensor has the values of the whole") {
  std::vector<float> whole(100), part(40);
  synthetic_values("h.1.mlp.c_fc.weight", 0, whole);
  synthetic_values("h.1.mlp.c_fc.weight", 60, part);
  CHECK(part == std::vector<float>(whole.begin() + 60, whole.end()));
}

TEST_CASE("a synthetic checkpoint is whole") {
  const ModelConfig config = gpt2_preset("124m");
  const Checkpoint checkpoint = synthetic_checkpoint(config);
  std::uint64_t elements = 0;
  for_each_weight(config, [&](const std::string& key, const Shape& shape) {
    CHECK(checkpoint.has(key));
    elements += tensor_size(DType::u8, shape).value();
  });
  CHECK(elements == 124'439'808);
  CHECK(checkpoint.tensor_bytes() == 4 * elements);
  CHECK(checkpoint.folder().empty());
  CHECK_FALSE(checkpoint.has_own_head());
  const Tensor tensor = checkpoint.tensor("h.11.attn.c_attn.bias");
  CHECK(tensor.name == "h.11.attn.c_attn.bias");
  CHECK(tensor.shape == Shape{2304});
  check_error(errc::missing_tensor, {"lm_head.weight"},
              [&] { static_cast<void>(checkpoint.tensor("lm_head.weight")); });
}

TEST_CASE("presets have OpenAI's sizes") {
  CHECK(gpt2_preset("124m").n_layer == 12);
  CHECK(gpt2_preset("355m").n_embd == 1024);
  CHECK(gpt2_preset("774m").n_head == 20);
  CHECK(gpt2_preset("1558m").n_inner == 6400);
  CHECK(gpt2_preset("1558m").eos_token_ids == std::vector<Token>{50256});
  check_error(errc::bad_request, {"124m, 355m, 774m and 1558m", "125m"},
              [] { static_cast<void>(gpt2_preset("125m")); });
}

TEST_CASE("a configuration that makes no synthetic model is refused") {
  ModelConfig config = tiny_config();
  config.n_head = 3;
  check_error(errc::bad_config, {"n_head"}, [&] { static_cast<void>(synthetic_checkpoint(config)); });
  config = tiny_config();
  config.tie_word_embeddings = false;
  check_error(errc::missing_tensor, {"lm_head.weight"}, [&] { static_cast<void>(synthetic_checkpoint(config)); });
}

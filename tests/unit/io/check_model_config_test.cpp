// SPDX-License-Identifier: MIT
/// Sizes that make a GPT-2, and sizes that do not.
#include <limits>

#include <doctest/doctest.h>

#include <gpt2ie/io/check_model_config.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

template <class Change>
void check_refused(errc code, std::initializer_list<std::string_view> parts, Change&& change) {
  ModelConfig config = tiny_config();
  change(config);
  check_error(code, parts, [&] { check_model_config(config, "a.json"); });
}

}  // namespace

TEST_CASE("the presets and the defaults pass") {
  check_model_config(ModelConfig{}, "defaults");
  for (const char* name : {"124m", "355m", "774m", "1558m"}) check_model_config(gpt2_preset(name), name);
  ModelConfig widest;
  widest.n_embd = ModelLimits::n_embd;
  widest.n_head = 256;
  widest.n_inner = ModelLimits::n_inner;
  check_model_config(widest, "the widest");
  CHECK(widest.head_dim() == 256);
}

TEST_CASE("every size has a least and a largest value") {
  for (int ModelConfig::*size : {&ModelConfig::n_layer, &ModelConfig::n_head, &ModelConfig::n_embd,
                                 &ModelConfig::n_inner, &ModelConfig::n_positions, &ModelConfig::vocab}) {
    for (const int value : {0, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
      check_refused(errc::bad_config, {"a.json", "from 1 to", std::to_string(value)},
                    [&](ModelConfig& config) { config.*size = value; });
    }
  }
}

TEST_CASE("C-10: n_head divides n_embd") {
  check_refused(errc::bad_config, {"multiple of n_head", "n_embd 8", "n_head 3"},
                [](ModelConfig& config) { config.n_head = 3; });
}

TEST_CASE("heads wider than 256 are named as unsupported") {
  check_refused(errc::unsupported, {"256", "n_embd 257", "n_head 1"}, [](ModelConfig& config) {
    config.n_embd = 257;
    config.n_head = 1;
  });
}

TEST_CASE("epsilon, activation and special tokens") {
  for (const float epsilon : {0.0f, -1e-5f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    check_refused(errc::bad_config, {"layer_norm_epsilon"},
                  [&](ModelConfig& config) { config.layer_norm_epsilon = epsilon; });
  }
  check_refused(errc::bad_config, {"activation"}, [](ModelConfig& config) { config.activation = Activation::none; });
  check_refused(errc::bad_config, {"bos_token_id", "vocabulary of 40", "40"},
                [](ModelConfig& config) { config.bos_token_id = 40; });
  check_refused(errc::bad_config, {"eos_token_id", "-1"}, [](ModelConfig& config) { config.eos_token_ids = {3, -1}; });
}

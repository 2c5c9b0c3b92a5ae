// SPDX-License-Identifier: MIT
/// Every key of a GPT-2's config.json, in every type that people put there.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/model_config_json.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

ModelConfig parse(std::string_view more) { return parse_model_config(tiny_json(more), "config.json"); }

void check_refused(errc code, std::string_view more, std::initializer_list<std::string_view> parts) {
  CAPTURE(more);
  check_error(code, parts, [&] { static_cast<void>(parse(more)); });
}

}  // namespace

TEST_CASE("sizes are read and options have Hugging Face's defaults") {
  const ModelConfig config = parse("");
  CHECK(config.n_layer == 2);
  CHECK(config.n_head == 2);
  CHECK(config.n_embd == 8);
  CHECK(config.n_positions == 16);
  CHECK(config.vocab == 40);
  CHECK(config.activation == Activation::gelu_tanh);
  CHECK(config.layer_norm_epsilon == 1e-5f);
  CHECK(config.scale_attn_weights);
  CHECK_FALSE(config.scale_attn_by_inverse_layer_idx);
  CHECK(config.tie_word_embeddings);
  CHECK(config.bos_token_id == -1);
  CHECK(config.eos_token_ids == std::vector<Token>{39});
}

TEST_CASE("options are read") {
  const ModelConfig config =
      parse(R"("layer_norm_epsilon": 1e-3, "scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true,
               "reorder_and_upcast_attn": true, "tie_word_embeddings": false, "bos_token_id": 3, "unknown": [{}])");
  CHECK(config.layer_norm_epsilon == 1e-3f);
  CHECK_FALSE(config.scale_attn_weights);
  CHECK(config.scale_attn_by_inverse_layer_idx);
  CHECK_FALSE(config.tie_word_embeddings);
  CHECK(config.bos_token_id == 3);
  CHECK(parse(R"("layer_norm_epsilon": 1)").layer_norm_epsilon == 1.0f);
}

TEST_CASE("C-5: names of activation functions") {
  CHECK(activation_from_name("gelu_new") == Activation::gelu_tanh);
  CHECK(activation_from_name("gelu_fast") == Activation::gelu_tanh);
  CHECK(activation_from_name("gelu_pytorch_tanh") == Activation::gelu_tanh);
  CHECK(activation_from_name("gelu") == Activation::gelu);
  CHECK(activation_from_name("quick_gelu") == Activation::quick_gelu);
  CHECK(activation_from_name("relu") == Activation::relu);
  CHECK(activation_from_name("silu") == Activation::silu);
  CHECK(activation_from_name("tanh") == Activation::tanh);
  CHECK(parse(R"("activation_function": "relu")").activation == Activation::relu);
  check_refused(errc::unsupported, R"("activation_function": "swiglu")",
                {"\"swiglu\"", "gelu_new", "activation_function in config.json"});
  check_refused(errc::unsupported, R"("activation_function": "GELU")", {"GELU"});
  check_refused(errc::bad_config, R"("activation_function": 3)", {"activation_function", "a text", "3"});
}

TEST_CASE("C-6: a Cerebras-GPT configuration") {
  const ModelConfig config = parse_model_config(
      R"({"model_type": "gpt2", "activation_function": "gelu", "n_embd": 1088, "n_head": 17, "n_inner": 4352,
          "n_layer": 14, "n_positions": 2048, "vocab_size": 50257, "scale_attn_weights": true,
          "reorder_and_upcast_attn": false, "bos_token_id": 50256, "eos_token_id": 50256})",
      "config.json");
  CHECK(config.head_dim() == 64);
  CHECK(config.n_head == 17);
  CHECK(config.n_positions == 2048);
  CHECK(config.activation == Activation::gelu);
  CHECK(config.n_inner == 4352);
}

TEST_CASE("C-7: n_inner null or absent is 4 * n_embd") {
  CHECK(parse("").n_inner == 32);
  CHECK(parse(R"("n_inner": null)").n_inner == 32);
  CHECK(parse(R"("n_inner": 20480)").n_inner == 20480);
  check_refused(errc::bad_config, R"("n_inner": 0)", {"n_inner", "0"});
  check_refused(errc::bad_config, R"("n_embd": 2147483647)", {"n_embd", "2147483647"});
}

TEST_CASE("C-9: sizes have no defaults") {
  check_error(errc::bad_config, {"n_layer", "config.json", "no such key"},
              [] { static_cast<void>(parse_model_config(R"({"model_type": "gpt2"})", "config.json")); });
  check_refused(errc::bad_config, R"("vocab_size": null)", {"vocab_size", "no such key"});
}

TEST_CASE("C-10: n_embd that n_head does not divide is refused") {
  check_refused(errc::bad_config, R"("n_head": 3)", {"multiple of n_head", "config.json", "n_embd 8 and n_head 3"});
}

TEST_CASE("n_ctx stands in for n_positions") {
  CHECK(parse(R"("n_positions": null, "n_ctx": 12)").n_positions == 12);
  CHECK(parse(R"("n_ctx": 12)").n_positions == 16);
}

TEST_CASE("other models are named") {
  check_refused(errc::unsupported, R"("model_type": "gptj")", {"model_type gpt2 in config.json", "gptj"});
  check_refused(errc::unsupported, R"("model_type": "\u0007")", {R"("\x07")"});
  check_refused(errc::unsupported, R"("add_cross_attention": true)", {"cross-attention"});
  CHECK(parse(R"("model_type": null)").n_layer == 2);
}

TEST_CASE("values of a wrong type are refused with key and value") {
  for (const char* value :
       {"true", "2.0", "\"2\"", "[2]", "{}", "4294967296", "9223372036854775808", "-9223372036854775808"}) {
    check_refused(errc::bad_config, R"("n_layer": )" + std::string(value), {"n_layer", "config.json", value});
  }
  check_refused(errc::bad_config, R"("n_layer": -2)", {"n_layer", "-2"});
  check_refused(errc::bad_file, R"("n_layer": 1e400)", {"malformed JSON", "1e400"});
  for (const char* key : {"scale_attn_weights", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings",
                          "reorder_and_upcast_attn", "add_cross_attention"}) {
    check_refused(errc::bad_config, "\"" + std::string(key) + "\": 1", {key, "true or false"});
  }
  check_refused(errc::bad_config, R"("layer_norm_epsilon": "1e-5")", {"layer_norm_epsilon", "a number"});
  check_refused(errc::bad_config, R"("layer_norm_epsilon": true)", {"layer_norm_epsilon", "a number"});
  check_refused(errc::bad_config, R"("layer_norm_epsilon": 1e-60)", {"layer_norm_epsilon"});
  check_refused(errc::bad_config, R"("layer_norm_epsilon": 1e300)", {"layer_norm_epsilon"});
  check_refused(errc::bad_config, R"("model_type": 2)", {"model_type"});
}

TEST_CASE("special tokens: a number, a list or null") {
  CHECK(parse(R"("eos_token_id": [3, 5, 3])").eos_token_ids == std::vector<Token>{3, 5});
  CHECK(parse(R"("eos_token_id": null)").eos_token_ids.empty());
  CHECK(parse(R"("eos_token_id": 50256)").eos_token_ids.empty());
  CHECK(parse(R"("bos_token_id": 50256)").bos_token_id == -1);
  CHECK(parse(R"("bos_token_id": null)").bos_token_id == -1);
  check_refused(errc::bad_config, R"("eos_token_id": true)", {"eos_token_id", "true"});
  check_refused(errc::bad_config, R"("eos_token_id": [3, "5"])", {"eos_token_id", "\"5\""});
  check_refused(errc::bad_config, R"("eos_token_id": -1)", {"eos_token_id", "-1"});
  check_refused(errc::bad_config, R"("eos_token_id": 3.5)", {"eos_token_id", "3.5"});
  check_refused(errc::bad_config, R"("bos_token_id": [3, 4])", {"bos_token_id", "several"});
  const ModelConfig absent = parse_model_config(
      R"({"n_layer": 1, "n_head": 1, "n_embd": 4, "n_positions": 8, "vocab_size": 50257})", "config.json");
  CHECK(absent.bos_token_id == 50256);
  CHECK(absent.eos_token_ids == std::vector<Token>{50256});
}

TEST_CASE("generation_config.json adds ends of text") {
  ModelConfig config = parse("");
  add_generation_config(config, R"({"eos_token_id": [7, 39, 50256], "top_k": "ignored"})", "generation_config.json");
  CHECK(config.eos_token_ids == std::vector<Token>{39, 7});
  add_generation_config(config, R"({"eos_token_id": null})", "generation_config.json");
  add_generation_config(config, R"({})", "generation_config.json");
  add_generation_config(config, R"({"eos_token_id": 8})", "generation_config.json");
  CHECK(config.eos_token_ids == std::vector<Token>{39, 7, 8});
  check_error(errc::bad_file, {"generation_config.json"},
              [&] { add_generation_config(config, "[]", "generation_config.json"); });
  check_error(errc::bad_config, {"generation_config.json", "eos_token_id", "\"x\""},
              [&] { add_generation_config(config, R"({"eos_token_id": "x"})", "generation_config.json"); });
}

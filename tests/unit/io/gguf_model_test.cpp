// SPDX-License-Identifier: MIT
/// A GPT-2 from a GGUF file is the same checkpoint as from a folder.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/gguf_model.hpp>

#include "unit/io/checkpoint_files.hpp"
#include "unit/io/gguf_writer.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

Checkpoint load(const GgufWriter& writer) {
  const TempFolder folder;
  write_text(folder / "model.gguf", writer.text());
  return load_checkpoint(folder / "model.gguf");
}

void check_refused(const GgufWriter& writer, errc code, std::initializer_list<std::string_view> parts) {
  check_error(code, parts, [&] { load(writer); });
}

/// n_embd 8 and 48 are no multiples of 32; n_inner is.
ModelConfig odd_config() {
  ModelConfig config = tiny_config();
  config.n_embd = 48;
  config.n_head = 4;
  config.n_inner = 64;
  return config;
}

/// The largest difference to the synthetic weights, over all tensors.
double largest_difference(const Checkpoint& checkpoint) {
  const Checkpoint expected = synthetic_checkpoint(checkpoint.config());
  double largest = 0;
  for_each_weight(checkpoint.config(), [&](const std::string& key, const Shape& shape) {
    CAPTURE(key);
    const Tensor tensor = checkpoint.tensor(key);
    CHECK(tensor.shape == shape);
    CHECK(tensor.name == key);
    const std::vector<float> a = values_of(tensor), b = values_of(expected.tensor(key));
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double{a[i]} - double{b[i]}));
  });
  return largest;
}

}  // namespace

TEST_CASE("names of tensors") {
  CHECK(detail::gguf_name("wte.weight") == "token_embd.weight");
  CHECK(detail::gguf_name("h.11.mlp.c_proj.bias") == "blk.11.ffn_down.bias");
  CHECK(detail::gguf_name("h.0.ln_2.weight") == "blk.0.ffn_norm.weight");
  for (const char* key : {"", "h.", "h.0", "h.0.", "h.0.x.weight", "h.0.ln_1", "x", "transformer.wte.weight"}) {
    CAPTURE(key);
    CHECK(detail::gguf_name(key).empty());
  }
}

TEST_CASE("C-15: F32, F16, BF16 and Q8_0 of one model agree within the error of the type") {
  CHECK(largest_difference(load(gguf_model(odd_config(), GgufType::f32))) == 0.0);
  // Weights are below 0.035: half a unit in the last place of f16 is 2^-16 below 2^-4, of bf16 2^-13.
  CHECK(largest_difference(load(gguf_model(odd_config(), GgufType::f16))) <= 0x1p-16);
  CHECK(largest_difference(load(gguf_model(odd_config(), GgufType::bf16))) <= 0x1p-13);
  // Half a step of 0.035 / 127, and the rounding of the scale to f16 (2^-11 of the value).
  const double q8 = largest_difference(load(gguf_model(odd_config(), GgufType::q8_0)));
  CHECK(q8 <= 0.5 * 0.035 / 127 + 0.035 * 0x1p-11);
  CHECK(q8 > 0x1p-16);
}

TEST_CASE("the configuration comes from the metadata") {
  const ModelConfig config = load(gguf_model(odd_config(), GgufType::f16)).config();
  CHECK(config.n_layer == 2);
  CHECK(config.n_head == 4);
  CHECK(config.n_embd == 48);
  CHECK(config.n_inner == 64);
  CHECK(config.n_positions == 16);
  CHECK(config.vocab == 40);
  CHECK(config.activation == Activation::gelu_tanh);
  CHECK(config.layer_norm_epsilon == 1e-5f);
  CHECK(config.bos_token_id == -1);  // 50256 is not in a vocabulary of 40
  CHECK(config.eos_token_ids == std::vector<Token>{39});
}

TEST_CASE("C-3: output.weight absent, equal and different") {
  const ModelConfig config = tiny_config();
  GgufWriter writer = gguf_model(config, GgufType::f16);
  const Checkpoint absent = load(writer);
  CHECK_FALSE(absent.has_own_head());

  GgufWriter equal = writer;
  equal.add("output.weight", {8, 40}, 1,
            gguf_encode(GgufType::f16, values_of(synthetic_checkpoint(config).tensor("wte.weight"))));
  CHECK_FALSE(load(equal).has_own_head());

  GgufWriter different = writer;
  different.add("output.weight", {8, 40}, 0, std::string(4 * 320, '\0'));
  const Checkpoint own = load(different);
  CHECK(own.has_own_head());
  CHECK(values_of(own.tensor("lm_head.weight")) == std::vector<float>(320));
  CHECK(own.tensor_bytes() == absent.tensor_bytes() + 4 * 320);

  GgufWriter wrong = writer;
  wrong.add("output.weight", {40, 8}, 0, std::string(4 * 320, '\0'));
  check_refused(wrong, errc::bad_shape, {"lm_head.weight [40, 8]", "[8, 40]"});
}

TEST_CASE("halves that need no transposition stay in the mapping") {
  const Checkpoint checkpoint = load(gguf_model(tiny_config(), GgufType::f16));
  CHECK(checkpoint.tensor("wte.weight").dtype == DType::f16);
  CHECK(checkpoint.tensor("wte.weight").bytes.data() == checkpoint.tensor("wte.weight").bytes.data());
  CHECK(checkpoint.tensor("h.0.attn.c_attn.weight").dtype == DType::f32);
}

TEST_CASE("C-7: feed_forward_length may be absent and agrees with the tensors") {
  GgufWriter writer = gguf_model(tiny_config(), GgufType::f32);
  std::erase_if(writer.values,
                [](const std::string& value) { return value.find("feed_forward") != std::string::npos; });
  CHECK(load(writer).config().n_inner == 32);
  writer.values.push_back(gguf_integer("gpt2.feed_forward_length", 64));
  check_refused(writer, errc::bad_shape, {"h.0.mlp.c_fc.weight [8, 64]", "[8, 32]"});
}

TEST_CASE("C-9: block_count and tensors agree") {
  ModelConfig config = tiny_config();
  GgufWriter writer = gguf_model(config, GgufType::f32);
  std::erase_if(writer.values, [](const std::string& value) { return value.find("block_count") != std::string::npos; });
  check_refused(writer, errc::bad_config, {"gpt2.block_count", "no such key"});
  writer.values.push_back(gguf_integer("gpt2.block_count", 12));
  check_refused(writer, errc::missing_tensor, {"h.2.ln_1.weight"});
}

TEST_CASE("metadata of a wrong type or model is refused") {
  const auto replaced = [](std::string_view key, const std::string& value) {
    GgufWriter writer = gguf_model(tiny_config(), GgufType::f32);
    const std::string start = gguf_text(key);
    std::erase_if(writer.values, [&](const std::string& old) { return old.starts_with(start); });
    if (!value.empty()) writer.values.push_back(value);
    return writer;
  };
  check_refused(replaced("general.architecture", gguf_value("general.architecture", 8, gguf_text("llama"))),
                errc::unsupported, {"general.architecture gpt2", "llama"});
  check_refused(replaced("general.architecture", ""), errc::bad_config, {"general.architecture", "no such key"});
  check_refused(replaced("gpt2.embedding_length", gguf_value("gpt2.embedding_length", 6, little_endian(8.0f))),
                errc::bad_config, {"gpt2.embedding_length", "another type"});
  check_refused(
      replaced("gpt2.embedding_length", gguf_value("gpt2.embedding_length", 11, little_endian(std::int64_t{-8}))),
      errc::bad_config, {"gpt2.embedding_length"});
  check_refused(replaced("gpt2.embedding_length", gguf_integer("gpt2.embedding_length", 0x7fffffff)), errc::bad_config,
                {"n_embd", "2147483647"});
  check_refused(replaced("gpt2.attention.head_count", gguf_integer("gpt2.attention.head_count", 0)), errc::bad_config,
                {"n_head", "0"});
  check_refused(replaced("gpt2.attention.layer_norm_epsilon", ""), errc::bad_config, {"layer_norm_epsilon"});
  check_refused(replaced("split.count", gguf_integer("split.count", 3)), errc::unsupported, {"one GGUF file"});
  CHECK(load(replaced("split.count", gguf_integer("split.count", 1))).config().n_layer == 2);
}

TEST_CASE("a file that is no GGUF says so, whatever its name") {
  const TempFolder folder;
  write_text(folder / "model.bin", "not a model");
  check_error(errc::bad_file, {"model.bin", "begins with GGUF"},
              [&] { static_cast<void>(load_checkpoint(folder / "model.bin")); });
  check_error(errc::bad_file, {"none.gguf", "No such file"},
              [&] { static_cast<void>(load_checkpoint(folder / "none.gguf")); });
  write_text(folder / "model.gguf", gguf_model(tiny_config(), GgufType::f32).text());
  CHECK(load_checkpoint(folder / "model.gguf").folder() == folder.path());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::filesystem::path bare = load_checkpoint("model.gguf").folder();
  std::filesystem::current_path(before);
  CHECK(bare == ".");  // a bare name lies in the current folder, where its tokenizer is looked for
}

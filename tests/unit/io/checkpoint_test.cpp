// SPDX-License-Identifier: MIT
/// What loading a Hugging Face folder decides, accepts and refuses.
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/checkpoint.hpp>

#include "support/shared_data.hpp"
#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;
namespace fs = std::filesystem;

namespace {

/// The tiny model in a folder, after a change to its tensors.
template <class Change>
Checkpoint load_changed(std::string_view config_json, Change&& change) {
  const TempFolder folder;
  std::vector<Tensor> tensors = model_tensors(tiny_config());
  change(tensors);
  write_model(folder.path(), config_json, tensors);
  return load_checkpoint(folder.path());
}

const auto unchanged = [](std::vector<Tensor>&) {};

/// The tiny model in two shards; "second" is the name of the second in the index.
void write_shards(const fs::path& folder, const std::string& second) {
  const std::vector<Tensor> tensors = model_tensors(tiny_config());
  const auto middle = static_cast<std::ptrdiff_t>(tensors.size() / 2);
  write_safetensors(folder / "one.safetensors", std::vector<Tensor>(tensors.begin(), tensors.begin() + middle));
  std::error_code ignored;
  fs::create_directories((folder / second).parent_path(), ignored);
  write_safetensors(folder / second, std::vector<Tensor>(tensors.begin() + middle, tensors.end()));
  nlohmann::json index;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    index["weight_map"][tensors[i].name] = i < tensors.size() / 2 ? std::string("one.safetensors") : second;
  }
  write_text(folder / "model.safetensors.index.json", index.dump());
  write_text(folder / "config.json", tiny_json());
}

/// The same values as the synthetic model has.
void check_whole(const Checkpoint& checkpoint) {
  const Checkpoint expected = synthetic_checkpoint(checkpoint.config());
  for_each_weight(checkpoint.config(), [&](const std::string& key, const Shape& shape) {
    CAPTURE(key);
    const Tensor tensor = checkpoint.tensor(key);
    CHECK(tensor.name == key);
    CHECK(tensor.shape == shape);
    CHECK(values_of(tensor) == values_of(expected.tensor(key)));
  });
}

}  // namespace

TEST_CASE("C-1: keys with and without transformer. give the same checkpoint") {
  const TempFolder folder;
  for (const char* prefix : {"transformer.", ""}) {
    write_model(folder.path(), tiny_json(), model_tensors(tiny_config(), prefix));
    const Checkpoint checkpoint = load_checkpoint(folder.path());
    check_whole(checkpoint);
    CHECK(checkpoint.folder() == folder.path());
    CHECK_FALSE(checkpoint.has("transformer.wte.weight"));
  }
}

TEST_CASE("C-1: a doubled prefix or both forms of a key are refused") {
  const TempFolder folder;
  write_model(folder.path(), tiny_json(), model_tensors(tiny_config(), "transformer.transformer."));
  check_error(errc::missing_tensor, {"wte.weight", folder.path().string()},
              [&] { static_cast<void>(load_checkpoint(folder.path())); });
  check_error(errc::bad_file, {"one tensor of the key wte.weight", "both", "transformer.wte.weight"}, [] {
    load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
      tensors.push_back(zero_tensor("wte.weight", DType::f32, {40, 8}));
    });
  });
}

TEST_CASE("C-3: which tensor is the head") {
  const auto add_head = [](DType dtype) {
    return [dtype](std::vector<Tensor>& tensors) { tensors.push_back(zero_tensor("lm_head.weight", dtype, {40, 8})); };
  };
  const auto add_equal_head = [](std::vector<Tensor>& tensors) {
    tensors.push_back(named(tensors, "transformer.wte.weight"));
    tensors.back().name = "lm_head.weight";
  };
  const std::string untied = tiny_json(R"("tie_word_embeddings": false)");

  const Checkpoint absent = load_changed(tiny_json(), unchanged);
  CHECK_FALSE(absent.has_own_head());
  CHECK_FALSE(absent.has("lm_head.weight"));

  const Checkpoint different = load_changed(tiny_json(), add_head(DType::f32));
  CHECK(different.has_own_head());
  CHECK(values_of(different.tensor("lm_head.weight")) == std::vector<float>(320));
  CHECK(different.tensor_bytes() == absent.tensor_bytes() + 4 * 320);
  CHECK(load_changed(tiny_json(), add_head(DType::f16)).has_own_head());

  const Checkpoint equal = load_changed(tiny_json(), add_equal_head);
  CHECK_FALSE(equal.has_own_head());
  CHECK_FALSE(equal.has("lm_head.weight"));
  CHECK(equal.tensor_bytes() == absent.tensor_bytes());
  CHECK(load_changed(untied, add_equal_head).has_own_head());
  CHECK(load_changed(untied, add_head(DType::f32)).has_own_head());

  check_error(errc::missing_tensor, {"lm_head.weight", "tie_word_embeddings is false"},
              [&] { load_changed(untied, unchanged); });
  check_error(errc::bad_shape, {"lm_head.weight [40, 8]", "[8, 40]"}, [] {
    load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
      tensors.push_back(zero_tensor("lm_head.weight", DType::f32, {8, 40}));
    });
  });
}

TEST_CASE("C-4: a weight in the other orientation is a shape error") {
  for (const auto& [key, shape] : std::vector<std::pair<std::string, Shape>>{
           {"attn.c_attn.weight", {24, 8}}, {"mlp.c_fc.weight", {32, 8}}, {"mlp.c_proj.weight", {8, 32}}}) {
    const std::string name = "h.1." + key;
    check_error(errc::bad_shape, {name, shape_text(shape), shape_text(Shape{shape[1], shape[0]})}, [&] {
      load_changed(tiny_json(), [&](std::vector<Tensor>& tensors) {
        named(tensors, "transformer." + name) = zero_tensor("transformer." + name, DType::f32, shape);
      });
    });
  }
}

TEST_CASE("C-6: 17 heads of 64 and 2,048 positions load") {
  const TempFolder folder;
  ModelConfig config;
  config.n_layer = 1;
  config.n_head = 17;
  config.n_embd = 1088;
  config.n_inner = 4352;
  config.n_positions = 2048;
  config.vocab = 10;
  std::vector<Tensor> tensors;
  for_each_weight(config, [&](const std::string& key, const Shape& shape) {
    tensors.push_back(zero_tensor("transformer." + key, DType::f16, shape));
  });
  write_model(folder.path(),
              R"({"model_type": "gpt2", "activation_function": "gelu", "n_layer": 1, "n_head": 17, "n_embd": 1088,
                  "n_inner": 4352, "n_positions": 2048, "vocab_size": 10})",
              tensors);
  const Checkpoint checkpoint = load_checkpoint(folder.path());
  CHECK(checkpoint.config().head_dim() == 64);
  float last = 1;
  read_floats(checkpoint.tensor("wpe.weight"), 2047 * 1088 + 1087, 1, &last);
  CHECK(last == 0.0f);
}

TEST_CASE("C-7: n_inner agrees with c_fc") {
  check_error(errc::bad_shape, {"h.0.mlp.c_fc.weight [8, 80]", "[8, 32]"},
              [] { load_changed(tiny_json(R"("n_inner": 80)"), unchanged); });
  CHECK(load_changed(tiny_json(R"("n_inner": 32)"), unchanged).config().n_inner == 32);
}

TEST_CASE("C-9: the number of layers comes from the configuration") {
  check_error(errc::missing_tensor, {"h.2.ln_1.weight", "no tensor"},
              [] { load_changed(tiny_json("", 4), unchanged); });
  CHECK(load_changed(tiny_json("", 1), unchanged).config().n_layer == 1);
  check_error(errc::missing_tensor, {"h.0.ln_2.bias"}, [] {
    load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
      named(tensors, "transformer.h.1.attn.c_proj.bias").name = "x";
      named(tensors, "transformer.h.0.ln_2.bias").name = "y";
    });
  });
}

TEST_CASE("C-12: a missing shard is named before anything is used") {
  const TempFolder folder;
  write_shards(folder.path(), "two.safetensors");
  check_whole(load_checkpoint(folder.path()));
  fs::remove(folder / "two.safetensors");
  check_error(errc::bad_file, {"two.safetensors", "No such file"},
              [&] { static_cast<void>(load_checkpoint(folder.path())); });
}

TEST_CASE("C-12: a shard without a tensor that the index places there is refused") {
  const TempFolder folder;
  write_shards(folder.path(), "two.safetensors");
  const std::string index = read_text(folder / "model.safetensors.index.json");
  write_text(folder / "model.safetensors.index.json",
             R"({"weight_map": {"transformer.h.9.ln_1.bias": "two.safetensors"}})");
  check_error(errc::bad_file, {"transformer.h.9.ln_1.bias", "two.safetensors"},
              [&] { static_cast<void>(load_checkpoint(folder.path())); });
  for (const char* bad :
       {"{}", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": {}}})"}) {
    write_text(folder / "model.safetensors.index.json", bad);
    check_error(errc::bad_file, {"model.safetensors.index.json"},
                [&] { static_cast<void>(load_checkpoint(folder.path())); });
  }
}

TEST_CASE("C-13: files that the index does not name are not read") {
  const TempFolder folder;
  write_shards(folder.path(), "two.safetensors");
  write_text(folder / "stray.safetensors", "no safetensors file at all");
  write_safetensors(folder / "adapter.safetensors",
                    std::vector<Tensor>{zero_tensor("transformer.wte.weight", DType::f32, {40, 8})});
  check_whole(load_checkpoint(folder.path()));
}

TEST_CASE("L-7: names in an index stay inside the folder") {
  const TempFolder outer;
  const fs::path folder = outer / "model";
  fs::create_directories(folder);
  write_shards(folder, "sub/two.safetensors");
  check_whole(load_checkpoint(folder));

  const std::string index = read_text(folder / "model.safetensors.index.json");
  fs::copy_file(folder / "sub/two.safetensors", outer / "two.safetensors");
  const auto load_named = [&](const std::string& name) {
    auto json = nlohmann::json::parse(index);
    for (auto& value : json["weight_map"]) {
      if (value == "sub/two.safetensors") value = name;
    }
    write_text(folder / "model.safetensors.index.json", json.dump());
    return load_checkpoint(folder);
  };
  for (const std::string& name :
       {std::string("../two.safetensors"), (outer / "two.safetensors").string(), std::string("/etc/passwd"),
        std::string("sub/../sub/two.safetensors"), std::string("sub/../../two.safetensors"), std::string(""),
        std::string("."), std::string("./sub/two.safetensors"), std::string("sub/two.safetensors/"),
        std::string("..\\two.safetensors"), std::string("sub/two.safetensors\0x", 21)}) {
    CAPTURE(name);
    check_error(errc::bad_file, {"stays inside"}, [&] { load_named(name); });
  }

  fs::create_symlink(outer / "two.safetensors", folder / "out.safetensors");
  check_error(errc::bad_file, {"stays inside", "out.safetensors", "a link to"}, [&] { load_named("out.safetensors"); });
  fs::create_directory_symlink(outer.path(), folder / "up");
  check_error(errc::bad_file, {"stays inside", "a link to"}, [&] { load_named("up/two.safetensors"); });
  fs::create_symlink("sub/two.safetensors", folder / "in.safetensors");
  check_whole(load_named("in.safetensors"));
  fs::create_symlink("loop.safetensors", folder / "loop.safetensors");
  check_error(errc::bad_file, {"loop.safetensors"}, [&] { load_named("loop.safetensors"); });
}

TEST_CASE("L-7: the hub's cache may link into its own blobs and nowhere else") {
  const TempFolder cache;
  const fs::path repository = cache / "models--a--b", folder = repository / "snapshots/0123abcd";
  fs::create_directories(folder);
  fs::create_directories(repository / "blobs");
  write_shards(folder, "two.safetensors");
  for (const char* name : {"config.json", "one.safetensors", "two.safetensors", "model.safetensors.index.json"}) {
    fs::rename(folder / name, repository / "blobs" / name);
    fs::create_symlink(fs::path("../../blobs") / name, folder / name);
  }
  check_whole(load_checkpoint(folder));

  fs::rename(repository / "blobs/two.safetensors", cache / "two.safetensors");
  fs::create_symlink(cache / "two.safetensors", repository / "blobs/two.safetensors");
  check_error(errc::bad_file, {"stays inside"}, [&] { static_cast<void>(load_checkpoint(folder)); });

  fs::rename(repository / "blobs", cache / "elsewhere");
  fs::create_directory_symlink(cache / "elsewhere", repository / "blobs");
  check_error(errc::bad_file, {"stays inside"}, [&] { static_cast<void>(load_checkpoint(folder)); });
}

TEST_CASE("a model.safetensors that the user linked is read") {
  const TempFolder folder, store;
  write_model(store.path(), tiny_json(), model_tensors(tiny_config()));
  for (const char* name : {"config.json", "model.safetensors"}) fs::create_symlink(store / name, folder / name);
  check_whole(load_checkpoint(folder.path()));
}

TEST_CASE("mask buffers and unknown tensors are passed over") {
  const Checkpoint checkpoint = load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
    tensors.push_back(zero_tensor("transformer.h.0.attn.bias", DType::boolean, {1, 1, 16, 16}));
    tensors.push_back(zero_tensor("transformer.h.1.attn.bias", DType::f32, {1, 1, 16, 16}));
    tensors.push_back(zero_tensor("transformer.h.0.attn.masked_bias", DType::f32, {}));
    tensors.push_back(zero_tensor("score.weight", DType::i64, {2, 8}));
  });
  check_whole(checkpoint);
  CHECK_FALSE(checkpoint.has("h.0.attn.bias"));
  CHECK_FALSE(checkpoint.has("score.weight"));
  check_error(errc::missing_tensor, {"h.0.attn.bias"}, [&] { static_cast<void>(checkpoint.tensor("h.0.attn.bias")); });
}

TEST_CASE("an element type that does not convert is named") {
  check_error(errc::unsupported, {"h.0.mlp.c_fc.bias", "F32, F16 or BF16", "F64"}, [] {
    load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
      named(tensors, "transformer.h.0.mlp.c_fc.bias") = zero_tensor("transformer.h.0.mlp.c_fc.bias", DType::f64, {32});
    });
  });
}

TEST_CASE("NaN and infinity in weights pass: values are not looked at") {
  const Checkpoint checkpoint = load_changed(tiny_json(), [](std::vector<Tensor>& tensors) {
    const std::vector<float> values(8, std::numeric_limits<float>::quiet_NaN());
    named(tensors, "transformer.ln_f.bias") = float_tensor("transformer.ln_f.bias", {8}, values);
  });
  CHECK(values_of(checkpoint.tensor("ln_f.bias"))[0] != values_of(checkpoint.tensor("ln_f.bias"))[0]);
}

TEST_CASE("a folder that lacks files says which") {
  const TempFolder folder;
  check_error(errc::bad_file, {"config.json", "No such file"},
              [&] { static_cast<void>(load_checkpoint(folder.path())); });
  write_text(folder / "config.json", tiny_json());
  check_error(errc::bad_file, {"model.safetensors or model.safetensors.index.json", "neither"},
              [&] { static_cast<void>(load_checkpoint(folder.path())); });
  write_text(folder / "pytorch_model.bin", "x");
  check_error(errc::bad_file, {"pytorch_model.bin"}, [&] { static_cast<void>(load_checkpoint(folder.path())); });
}

TEST_CASE("generation_config.json counts") {
  const TempFolder folder;
  write_model(folder.path(), tiny_json(), model_tensors(tiny_config()));
  write_text(folder / "generation_config.json", R"({"eos_token_id": [1, 2]})");
  CHECK(load_checkpoint(folder.path()).config().eos_token_ids == std::vector<Token>{39, 1, 2});
  write_text(folder / "generation_config.json", "{");
  check_error(errc::bad_file, {"generation_config.json"}, [&] { static_cast<void>(load_checkpoint(folder.path())); });
}

TEST_CASE("copies share, outlive the original and may be read by many threads") {
  const TempFolder folder;
  write_model(folder.path(), tiny_json(), model_tensors(tiny_config()));
  auto original = std::make_unique<Checkpoint>(load_checkpoint(folder.path()));
  const Checkpoint copy = *original;
  CHECK(copy.tensor("wte.weight").bytes.data() == original->tensor("wte.weight").bytes.data());
  original.reset();
  const std::vector<float> expected = values_of(copy.tensor("wte.weight"));
  std::vector<std::vector<float>> read(4);
  std::vector<std::thread> threads;
  for (auto& values : read) threads.emplace_back([&] { values = values_of(copy.tensor("wte.weight")); });
  for (auto& thread : threads) thread.join();
  for (const auto& values : read) CHECK(values == expected);
}

TEST_CASE("every variant of the reference loads") {
  const auto folder = shared_path("reference/variants");
  if (!folder) return;
  int variants = 0;
  for (const auto& item : fs::directory_iterator(*folder)) {
    CAPTURE(item.path().string());
    const Checkpoint checkpoint = load_checkpoint(item.path());
    ++variants;
    CHECK(checkpoint.has_own_head() == (item.path().filename() == "untied-head"));
    for_each_weight(checkpoint.config(), [&](const std::string& key, const Shape& shape) {
      CHECK(checkpoint.tensor(key).shape == shape);
      CHECK(values_of(checkpoint.tensor(key)).size() == checkpoint.tensor(key).size());
    });
  }
  CHECK(variants >= 16);
}

TEST_CASE("the bundled models load") {
  for (const char* name : {"fairytale-1m", "fairytale-6m"}) {
    const Checkpoint checkpoint = load_checkpoint(model_path(name));
    CHECK(checkpoint.config().vocab == 4096);
    CHECK(checkpoint.config().eos_token_ids == std::vector<Token>{4095});
    CHECK(checkpoint.tensor("wte.weight").dtype == DType::f16);
  }
}

TEST_CASE("L-13: no mutation of a configuration does more than fail") {
  const std::string valid = tiny_json(R"("layer_norm_epsilon": 1e-5, "tie_word_embeddings": true)");
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    try {
      const ModelConfig config = parse_model_config(mutated(valid, valid.size(), random), "config.json");
      if (config.n_embd % config.n_head != 0) FAIL("a configuration that was not checked");
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1'000);
}

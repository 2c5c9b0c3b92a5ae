// SPDX-License-Identifier: MIT
/// A Hugging Face folder as the loader sees it: keys, places, and names that must not lead out of it. What loading
/// makes of it is tested with the checkpoint.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/hugging_face_folder.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;
using gpt2ie::detail::confined_file;
using gpt2ie::detail::HuggingFaceFolder;
using gpt2ie::detail::plain_key;
namespace fs = std::filesystem;

TEST_CASE("C-1: one transformer. is taken off a key, and only from its front") {
  CHECK(plain_key("transformer.h.0.ln_1.bias") == "h.0.ln_1.bias");
  CHECK(plain_key("h.0.ln_1.bias") == "h.0.ln_1.bias");
  CHECK(plain_key("transformer.transformer.wte.weight") == "transformer.wte.weight");
  CHECK(plain_key("my.transformer.wte.weight") == "my.transformer.wte.weight");
  CHECK(plain_key("transformer") == "transformer");
  CHECK(plain_key("").empty());
}

TEST_CASE("tensors are found by plain keys, whatever the file calls them") {
  for (const char* prefix : {"transformer.", ""}) {
    const TempFolder folder;
    write_model(folder.path(), tiny_json(), model_tensors(tiny_config(), prefix));
    const HuggingFaceFolder model(folder.path());
    CHECK(model.config().n_layer == 2);
    const auto info = model.info("wte.weight");
    REQUIRE(info.has_value());
    CHECK(info->dtype == DType::f32);
    CHECK(info->shape == Shape{40, 8});
    CHECK(info->stored_bytes == 40 * 8 * 4);
    const Tensor tensor = model.tensor("wte.weight");
    CHECK(tensor.name == "wte.weight");
    CHECK(values_of(tensor) == values_of(synthetic_checkpoint(tiny_config()).tensor("wte.weight")));
    CHECK_FALSE(model.info("transformer.wte.weight").has_value());
    CHECK_FALSE(model.info("lm_head.weight").has_value());
  }
}

TEST_CASE("C-12: shards lie where the index places their tensors, a single file comes first") {
  const TempFolder folder;
  write_text(folder / "config.json", tiny_json());
  write_safetensors(folder / "a.safetensors", std::vector<Tensor>{zero_tensor("transformer.x", DType::f16, {3})});
  write_safetensors(folder / "b.safetensors", std::vector<Tensor>{zero_tensor("y", DType::f32, {2, 2})});
  write_text(folder / "model.safetensors.index.json",
             R"({"metadata": {}, "weight_map": {"transformer.x": "a.safetensors", "y": "b.safetensors"}})");
  const HuggingFaceFolder sharded(folder.path());
  CHECK(sharded.info("x")->shape == Shape{3});
  CHECK(sharded.info("y")->shape == Shape{2, 2});

  write_safetensors(folder / "model.safetensors", std::vector<Tensor>{zero_tensor("z", DType::f32, {1})});
  const HuggingFaceFolder single(folder.path());
  CHECK(single.info("z").has_value());
  CHECK_FALSE(single.info("x").has_value());
}

TEST_CASE("C-1: both forms of a key in two shards are refused") {
  const TempFolder folder;
  write_text(folder / "config.json", tiny_json());
  write_safetensors(folder / "a.safetensors", std::vector<Tensor>{zero_tensor("transformer.x", DType::f16, {3})});
  write_safetensors(folder / "b.safetensors", std::vector<Tensor>{zero_tensor("x", DType::f16, {3})});
  write_text(folder / "model.safetensors.index.json",
             R"({"weight_map": {"transformer.x": "a.safetensors", "x": "b.safetensors"}})");
  check_error(errc::bad_file, {"one tensor of the key x", "both", "transformer.x", "index.json"},
              [&] { const HuggingFaceFolder refused(folder.path()); });
}

TEST_CASE("L-7: a name in an index is a plain path to a file inside the folder") {
  const TempFolder folder;
  fs::create_directories(folder / "sub");
  write_text(folder / "a", "a");
  write_text(folder / "sub/b", "b");
  CHECK(confined_file(folder.path(), "a") == fs::canonical(folder / "a"));
  CHECK(confined_file(folder.path(), "sub/b") == fs::canonical(folder / "sub/b"));
  for (const std::string_view name :
       {"", ".", "..", "./a", "sub/../a", "../a", "/etc/passwd", "a/", "sub//../a", "\\a"}) {
    CAPTURE(name);
    check_error(errc::bad_file, {"stays inside " + folder.path().string()},
                [&] { static_cast<void>(confined_file(folder.path(), std::string(name))); });
  }
  check_error(errc::bad_file, {"the file", "absent", "that the index names"},
              [&] { static_cast<void>(confined_file(folder.path(), "absent")); });
  check_error(errc::bad_file, {R"("a\x00\xff")"},
              [&] { static_cast<void>(confined_file(folder.path(), std::string("a\0\xff", 3))); });
  check_error(errc::bad_file, {"(5000 bytes)"},
              [&] { static_cast<void>(confined_file(folder.path(), std::string(4999, 'a') + "\\")); });
}

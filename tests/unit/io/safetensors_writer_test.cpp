// SPDX-License-Identifier: MIT
/// What the writer writes, and what it refuses.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/safetensors_writer.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

TEST_CASE("what is written reads back") {
  const TempFolder folder;
  std::vector<Tensor> tensors = {zero_tensor("mask", DType::u8, {3}),
                                 float_tensor("zwölf \"quoted\"\n", {2, 2}, std::vector<float>{1, 2, 3, 4}),
                                 zero_tensor("half", DType::bf16, {3}), zero_tensor("empty", DType::f32, {0}),
                                 zero_tensor("wide", DType::i64, {1})};
  write_safetensors(folder / "a", tensors, {{"source", "test \\ 1"}});
  const SafetensorsFile file(folder / "a");
  CHECK(file.metadata().at("source") == "test \\ 1");
  CHECK(file.tensors().size() == tensors.size());
  for (const Tensor& tensor : tensors) {
    const Tensor read = file.tensor(tensor.name);
    CHECK(read.dtype == tensor.dtype);
    CHECK(read.shape == tensor.shape);
    CHECK(std::equal(read.bytes.begin(), read.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
    CHECK(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % (dtype_bits(read.dtype) / 8) == 0);
  }
}

TEST_CASE("what can't be written is refused before a file is touched") {
  const TempFolder folder;
  const Tensor a = zero_tensor("a", DType::f32, {2});
  const auto write = [&](std::vector<Tensor> tensors) { write_safetensors(folder / "a", tensors); };
  check_error(errc::bad_request, {"a again"}, [&] { write({a, a}); });
  Tensor wrong = a;
  wrong.shape = {3};
  check_error(errc::bad_request, {"[3]", "8 bytes"}, [&] { write({wrong}); });
  wrong = a;
  wrong.name = "__metadata__";
  check_error(errc::bad_request, {"__metadata__"}, [&] { write({wrong}); });
  wrong.name = "\xff";
  check_error(errc::bad_request, {"UTF-8"}, [&] { write({wrong}); });
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
  check_error(errc::bad_file, {"none/a", "opened"},
              [&] { write_safetensors(folder / "none/a", std::vector<Tensor>{a}); });
}

TEST_CASE("a write that fails leaves what was there, and a write that succeeds leaves nothing beside it") {
  const TempFolder folder;
  const std::vector<Tensor> tensors = {zero_tensor("a", DType::f32, {100'000})};
  // A device that is always full, where there is one: a link to it is refused, and both are there as before.
  if (std::filesystem::exists("/dev/full")) {
    std::filesystem::create_symlink("/dev/full", folder / "full");
    check_error(errc::bad_file, {"full", "take them all"}, [&] { write_safetensors(folder / "full", tensors); });
    CHECK(std::filesystem::is_symlink(folder / "full"));
    CHECK(std::filesystem::is_character_file("/dev/full"));
  }
  // A folder can't be replaced by a file: nothing is lost, and no part of a file stays behind.
  std::filesystem::create_directory(folder / "taken");
  check_error(errc::bad_file, {"taken"}, [&] { write_safetensors(folder / "taken", tensors); });
  CHECK(std::filesystem::is_directory(folder / "taken"));

  write_safetensors(folder / "a", tensors);
  std::filesystem::create_symlink(folder / "a", folder / "link");
  write_safetensors(folder / "link", std::vector<Tensor>{zero_tensor("b", DType::f32, {1})});
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(SafetensorsFile(folder / "a").has("b"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename().string().find("partial") == std::string::npos);
  }
}

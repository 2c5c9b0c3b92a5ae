// SPDX-License-Identifier: MIT
/// What the writer writes, and what it refuses.
#include <algorithm>
#include <cstdint>
#include <filesystem>
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

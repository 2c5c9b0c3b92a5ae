// SPDX-License-Identifier: MIT
/// The GGUF reader against every lie that a file can tell.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/gguf.hpp>

#include "unit/io/allocation_meter.hpp"
#include "unit/io/checkpoint_files.hpp"
#include "unit/io/gguf_writer.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

GgufFile open_text(const std::string& text) {
  const TempFolder folder;
  write_text(folder / "a.gguf", text);
  return GgufFile(folder / "a.gguf");
}

void check_refused(const std::string& text, std::initializer_list<std::string_view> parts, errc code = errc::bad_file) {
  CAPTURE(text.size());
  check_error(code, parts, [&] { open_text(text); });
}

/// One F32 tensor of four values.
GgufWriter small_file() {
  GgufWriter writer;
  writer.values = {gguf_value("general.architecture", 8, gguf_text("gpt2")), gguf_integer("answer", 42)};
  writer.add("token_embd.weight", {2, 2}, 0, gguf_encode(GgufType::f32, {1, 2, 3, 4}));
  return writer;
}

/// A header that announces these numbers, and 19 bytes behind it: 43 in all.
std::string announced(std::uint64_t tensors, std::uint64_t values) {
  return "GGUF" + little_endian(std::uint32_t{3}) + little_endian(tensors) + little_endian(values) +
         std::string(19, '\1');
}

}  // namespace

TEST_CASE("a small file gives metadata and tensors, in both versions") {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufWriter writer = small_file();
    writer.version = version;
    const TempFolder folder;
    write_text(folder / "a.gguf", writer.text());
    const GgufFile file(folder / "a.gguf");
    CHECK(std::get<std::uint64_t>(file.metadata().at("answer")) == 42);
    CHECK(std::get<std::string_view>(file.metadata().at("general.architecture")) == "gpt2");
    const GgufEntry& entry = file.tensors().at("token_embd.weight");
    CHECK(entry.dims == Shape{2, 2});
    std::vector<float> values(4);
    read_gguf_floats(entry, 0, 4, values.data());
    CHECK(values == std::vector<float>{1, 2, 3, 4});
  }
}

TEST_CASE("every scalar type of the metadata is read") {
  GgufWriter writer;
  writer.values = {gguf_value("u8", 0, little_endian(std::uint8_t{200})),
                   gguf_value("i8", 1, little_endian(std::int8_t{-2})),
                   gguf_value("u16", 2, little_endian(std::uint16_t{60000})),
                   gguf_value("i16", 3, little_endian(std::int16_t{-3})),
                   gguf_value("i32", 5, little_endian(std::int32_t{-4})),
                   gguf_value("f32", 6, little_endian(0.5f)),
                   gguf_value("bool", 7, little_endian(std::uint8_t{1})),
                   gguf_value("u64", 10, little_endian(~std::uint64_t{0})),
                   gguf_value("i64", 11, little_endian(std::int64_t{-5})),
                   gguf_value("f64", 12, little_endian(0.25))};
  const TempFolder folder;
  write_text(folder / "a.gguf", writer.text());
  const GgufFile file(folder / "a.gguf");
  const auto& values = file.metadata();
  CHECK(values.at("u8") == GgufValue(std::uint64_t{200}));
  CHECK(values.at("i8") == GgufValue(std::int64_t{-2}));
  CHECK(values.at("u16") == GgufValue(std::uint64_t{60000}));
  CHECK(values.at("i16") == GgufValue(std::int64_t{-3}));
  CHECK(values.at("i32") == GgufValue(std::int64_t{-4}));
  CHECK(values.at("f32") == GgufValue(0.5));
  CHECK(values.at("bool") == GgufValue(true));
  CHECK(values.at("u64") == GgufValue(~std::uint64_t{0}));
  CHECK(values.at("i64") == GgufValue(std::int64_t{-5}));
  CHECK(values.at("f64") == GgufValue(0.25));
  writer.values = {gguf_value("bool", 7, little_endian(std::uint8_t{2}))};
  check_refused(writer.text(), {"0 or 1", "bool", "2"});
  writer.values = {gguf_value("x", 13, std::string(8, '\0'))};
  check_refused(writer.text(), {"known type", "x", "type number 13"});
}

TEST_CASE("other formats and versions are named") {
  check_refused("", {"begins with GGUF"});
  check_refused("GGU", {"begins with GGUF"});
  check_refused("PK\3\4", {"begins with GGUF"});
  for (const std::uint32_t version : {0u, 1u, 4u, 0x03000000u}) {
    GgufWriter writer = small_file();
    writer.version = version;
    check_refused(writer.text(), {"version 2 or 3", "version " + std::to_string(version)});
  }
}

TEST_CASE("L-9: counts and lengths are bounded by the file") {
  const std::uint64_t huge[] = {1000, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  const TempFolder folder;
  std::vector<std::string> files;
  for (const std::uint64_t n : huge) {
    files.push_back(announced(n, 0));
    files.push_back(announced(0, n));
    files.push_back(announced(n, n));
    GgufWriter writer;
    writer.values = {gguf_value("text", 8, little_endian(n) + "abc")};
    files.push_back(writer.text());
    writer.values = {little_endian(n) + "key" + little_endian(std::uint32_t{4})};
    files.push_back(writer.text());
    for (const std::uint32_t type : {0u, 8u, 12u}) {
      writer.values = {gguf_value("list", 9, little_endian(type) + little_endian(n) + std::string(16, '\0'))};
      files.push_back(writer.text());
    }
  }
  CHECK(files.size() == 32);
  CHECK(files.front().size() == 43);
  for (const std::string& text : files) {
    write_text(folder / "a.gguf", text);
    const std::size_t before = allocated_bytes;
    check_error(errc::bad_file, {}, [&] { GgufFile file(folder / "a.gguf"); });
    CHECK(allocated_bytes - before < 100'000);
  }
}

TEST_CASE("L-10: a tensor has 1 to 4 dimensions") {
  for (const std::uint32_t rank : {0u, 5u, 9u, ~0u}) {
    GgufWriter writer;
    std::string info = gguf_text("t") + little_endian(rank);
    for (int i = 0; i < 9; ++i) info += little_endian(std::uint64_t{1});
    writer.infos = {info + little_endian(std::uint32_t{0}) + little_endian(std::uint64_t{0})};
    writer.data = std::string(64, '\0');
    check_refused(writer.text(), {"1 to 4 dimensions", "tensor t", std::to_string(rank)});
  }
}

TEST_CASE("L-12: lists of lists and lists of unknown elements are refused") {
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += little_endian(std::uint32_t{9}) + little_endian(std::uint64_t{1});
  GgufWriter writer;
  writer.values = {gguf_value("deep", 9, nested)};
  check_refused(writer.text(), {"deep", "a list of lists"});
  for (const std::uint32_t type : {13u, 100u, ~0u}) {
    writer.values = {gguf_value("odd", 9, little_endian(type) + little_endian(std::uint64_t{1}) + "12345678")};
    check_refused(writer.text(), {"odd", "type number " + std::to_string(type)});
  }
}

TEST_CASE("L-13: shapes and offsets stay inside the file") {
  const auto with_tensor = [](std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    GgufWriter writer;
    writer.add("t", dims, type, std::string(64, '\0'));
    writer.infos[0].replace(writer.infos[0].size() - 8, 8, little_endian(offset));
    return writer.text();
  };
  CHECK(open_text(with_tensor({16}, 0, 0)).tensors().size() == 1);
  check_refused(with_tensor({17}, 0, 0), {"68 bytes", "64 bytes of data"});
  check_refused(with_tensor({16}, 0, 32), {"byte 32"});
  check_refused(with_tensor({1}, 0, 1), {"multiples of 32", "byte 1"});
  check_refused(with_tensor({1}, 0, ~std::uint64_t{31}), {"18446744073709551584"});
  check_refused(with_tensor({0}, 0, 0), {"from 1 to", "0"});
  check_refused(with_tensor({std::uint64_t{1} << 63}, 0, 0), {"9223372036854775808"});
  check_refused(with_tensor({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0), {"64 bits"});
  check_refused(with_tensor({std::uint64_t{1} << 40, std::uint64_t{1} << 20}, 8, 0), {"64 bits"});
  check_refused(with_tensor({48}, 8, 0), {"blocks of 32", "[48]"});
  CHECK(open_text(with_tensor({32}, 8, 0)).tensors().at("t").bytes.size() == 34);
}

TEST_CASE("names come once and alignment is a power of two") {
  GgufWriter writer = small_file();
  writer.values.push_back(writer.values[1]);
  check_refused(writer.text(), {"answer again"});
  writer = small_file();
  writer.add("token_embd.weight", {1}, 0, std::string(4, '\0'));
  check_refused(writer.text(), {"token_embd.weight again"});
  for (const std::uint32_t alignment : {0u, 24u, 1u << 21}) {
    writer = small_file();
    writer.values.push_back(gguf_integer("general.alignment", alignment));
    check_refused(writer.text(), {"general.alignment", std::to_string(alignment)});
  }
  writer = small_file();
  writer.alignment = 64;
  writer.values.push_back(gguf_integer("general.alignment", 64));
  CHECK(open_text(writer.text()).tensors().size() == 1);
  writer.values.back() = gguf_value("general.alignment", 8, gguf_text("64"));
  check_refused(writer.text(), {"general.alignment", "another type"});
}

TEST_CASE("C-15: an element type that is not read is named") {
  for (const auto& [type, name] : std::vector<std::pair<std::uint32_t, std::string>>{
           {2, "Q4_0"}, {12, "Q4_K"}, {14, "Q6_K"}, {99, "type number 99"}}) {
    GgufWriter writer;
    writer.add("t", {256}, type, std::string(512, '\0'));
    check_refused(writer.text(), {"tensor t", "F32, F16, BF16 or Q8_0", name}, errc::unsupported);
  }
}

TEST_CASE("L-13: no mutation of a valid file reads outside it") {
  ModelConfig config = tiny_config();
  config.n_layer = 1;
  const GgufWriter writer = gguf_model(config, GgufType::q8_0);
  const std::string valid = writer.text();
  const TempFolder folder;
  write_text(folder / "a.gguf", valid);
  CHECK(load_checkpoint(folder / "a.gguf").config().n_layer == 1);
  std::mt19937 random(20240301);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    write_text(folder / "a.gguf", mutated(valid, writer.front().size(), random));
    try {
      const Checkpoint checkpoint = load_checkpoint(folder / "a.gguf");
      ++accepted;
      for_each_weight(checkpoint.config(), [&](const std::string& key, const Shape&) {
        static_cast<void>(values_of(checkpoint.tensor(key)));
      });
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(accepted > 100);
  CHECK(refused > 5'000);
}

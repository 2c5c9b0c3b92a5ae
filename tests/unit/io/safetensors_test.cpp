// SPDX-License-Identifier: MIT
/// The reader against every lie that a header can tell.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/safetensors_writer.hpp>

#include "support/shared_data.hpp"
#include "unit/io/allocation_meter.hpp"
#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

/// Opens a file with these contents.
SafetensorsFile open_text(const std::string& text) {
  const TempFolder folder;
  write_text(folder / "a.safetensors", text);
  return SafetensorsFile(folder / "a.safetensors");
}

void check_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  CAPTURE(text.substr(0, 200));
  check_error(errc::bad_file, parts, [&] { open_text(text); });
}

void check_header_refused(std::string_view header, std::size_t data, std::initializer_list<std::string_view> parts) {
  check_refused(safetensors_text(header, data), parts);
}

}  // namespace

TEST_CASE("a small file gives names, types, shapes, bytes and metadata") {
  const SafetensorsFile file = open_text(
      safetensors_text(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                       R"("b":{"shape":[],"data_offsets":[8,10],"dtype":"BF16"}}  )",
                       10));
  CHECK(file.tensors().size() == 2);
  CHECK(file.metadata().at("format") == "pt");
  const Tensor a = file.tensor("a");
  CHECK(a.dtype == DType::f32);
  CHECK(a.shape == Shape{2, 1});
  CHECK(a.size() == 2);
  CHECK(file.tensor("b").bytes.size() == 2);
  CHECK_FALSE(file.has("c"));
  check_error(errc::missing_tensor, {"tensor c", "a.safetensors"}, [&] { static_cast<void>(file.tensor("c")); });
}

TEST_CASE("a tensor outlives its file object") {
  const Tensor tensor =
      open_text(safetensors_text(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4)).tensor("a");
  CHECK(values_of(tensor) == std::vector<float>{0.0f});
}

TEST_CASE("L-1: a header length is never trusted") {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::uint64_t file_size = 8 + header.size() + 4;
  const TempFolder folder;
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, file_size, file_size - 7, std::uint64_t{1} << 63, ~std::uint64_t{0},
        ~std::uint64_t{0} - 7, std::uint64_t{100'000'001}}) {
    CAPTURE(length);
    write_text(folder / "a", little_endian(length) + header + std::string(4, '\0'));
    const std::size_t before = allocated_bytes;
    check_error(errc::bad_file, {}, [&] { SafetensorsFile file(folder / "a"); });
    CHECK(allocated_bytes - before < 1'000'000);
  }
  check_refused("", {"8 bytes", "0 bytes"});
  check_refused("1234567", {"7 bytes"});
}

TEST_CASE("L-1: a header over 100 MB is refused however long the file is") {
  const TempFolder folder;
  write_text(folder / "a", little_endian(std::uint64_t{100'000'001}) + "{}");
  std::filesystem::resize_file(folder / "a", 200'000'000);  // sparse: takes no room
  check_error(errc::bad_file, {"100000000", "100000001"}, [&] { SafetensorsFile file(folder / "a"); });
}

TEST_CASE("L-3: span and shape agree") {
  check_header_refused(R"({"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4,
                       {"4000000 bytes", "tensor a", "found 4 bytes"});
  check_header_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
                       {"tensor a", "64 bits"});
  check_header_refused(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, {"whole number"});
  check_header_refused(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
                       {"18446744073709551615"});
  check_header_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, {"within the 4 bytes"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[18446744073709551612,4]}})", 4, {"tensor a"});
  const SafetensorsFile empty = open_text(safetensors_text(
      R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)"
      R"("y":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]}})",
      4));
  CHECK(empty.tensor("z").bytes.empty());
  CHECK(values_of(empty.tensor("y")).empty());
  CHECK(open_text(safetensors_text("{}", 0)).tensors().empty());
}

TEST_CASE("L-4: no overlap, no hole, no tail; any order") {
  check_header_refused(R"({"A":{"dtype":"U8","shape":[100],"data_offsets":[0,100]},)"
                       R"("B":{"dtype":"U8","shape":[100],"data_offsets":[50,150]}})",
                       150, {"tensor B", "begin at byte 100", "[50, 150)"});
  check_header_refused(R"({"A":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("B":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                       9, {"tensor B", "byte 4"});
  check_header_refused(R"({"A":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5, {"tensor A", "byte 0"});
  check_header_refused(R"({"A":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, {"byte 4", "5 bytes"});
  check_header_refused(R"({"A":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3, {"within the 3 bytes"});
  const SafetensorsFile file = open_text(safetensors_text(
      R"({"A":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"B":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      6));
  CHECK(file.tensor("A").bytes.data() - file.tensor("B").bytes.data() == 4);
}

TEST_CASE("L-6: an unknown element type is refused by name") {
  check_header_refused(R"({"a":{"dtype":"F999","shape":[1],"data_offsets":[0,4]}})", 4, {"F999", "tensor a"});
}

TEST_CASE("headers of another form than the format's are refused") {
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                       1, {"key a twice"});
  check_header_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, {"__metadata__ twice"});
  check_header_refused(R"({"__metadata__":{"a":"1","a":"2"}})", 0, {"metadata key a twice"});
  for (const char* value : {"1", "null", "true", "[]", "{\"a\":\"b\"}", "-1", "1.5"}) {
    check_header_refused(std::string(R"({"__metadata__":{"format":)") + value + "}}", 0, {"safetensors header"});
  }
  check_header_refused(R"({"__metadata__":"pt"})", 0, {"unexpected place"});
  check_header_refused(R"({"a":[]})", 0, {"unexpected place"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1]}})", 1, {"incomplete entry for tensor a"});
  check_header_refused(R"({"a":{"dtype":"U8","dtype":"U8"}})", 1, {"field dtype of tensor a twice"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, {"unknown field x"});
  check_header_refused(R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1, {"number 8"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, {"number 1"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, {"a list at"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, {"1.0", "no integer"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, {"negative number -1"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, {"1 data offsets"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})", 1, {"unexpected place"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})"
                       "x",
                       1, {"malformed JSON"});
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1e400]}})", 1, {"malformed JSON"});
  check_header_refused(R"( {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, {"JSON object"});
  check_header_refused("[]", 0, {"JSON object"});
  check_header_refused("", 0, {"JSON object"});
  std::string shape = "1";
  for (int i = 0; i < 70; ++i) shape += ",1";
  check_header_refused(R"({"a":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})", 1, {"65 sizes"});
}

TEST_CASE("deep nesting ends at once") {
  const std::size_t before = allocated_bytes;
  check_header_refused(R"({"a":)" + std::string(1'000'000, '['), 0, {"unexpected place"});
  check_header_refused(R"({"a":{"shape":)" + std::string(1'000'000, '['), 0, {"unexpected place"});
  CHECK(allocated_bytes - before < 20'000'000);  // the texts of this test itself
}

TEST_CASE("L-13: no mutation of a valid file reads outside it") {
  const TempFolder folder;
  std::vector<Tensor> tensors = {float_tensor("wte.weight", {2, 3}, std::vector<float>(6, 1.0f)),
                                 zero_tensor("h.0.attn.bias", DType::boolean, {1, 1, 4, 4}),
                                 zero_tensor("half", DType::f16, {5})};
  write_safetensors(folder / "valid", tensors, {{"format", "pt"}});
  const std::string valid = read_text(folder / "valid");
  std::mt19937 random(20240229);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    write_text(folder / "a", mutated(valid, valid.size() - 50, random));
    try {
      const SafetensorsFile file(folder / "a");
      for (const auto& [name, entry] : file.tensors()) {
        const Tensor tensor = file.tensor(name);
        unsigned sum = 0;
        for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
        accepted += sum < 1u << 20;
        if (converts_to_float(tensor.dtype)) static_cast<void>(values_of(tensor));
      }
    } catch (const Error& error) {
      ++refused;
      if (error.code() != errc::bad_file) FAIL("code of: " << error.what());
    }
  }
  CHECK(accepted > 0);
  CHECK(refused > 10'000);
}

TEST_CASE("every reference file opens") {
  const auto folder = shared_path("reference");
  if (!folder) return;
  int files = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(*folder)) {
    if (item.path().extension() != ".safetensors") continue;
    ++files;
    CHECK_FALSE(SafetensorsFile(item.path()).tensors().empty());
  }
  CHECK(files > 20);
}

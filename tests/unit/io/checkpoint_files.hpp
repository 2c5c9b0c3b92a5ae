// SPDX-License-Identifier: MIT
/// Small checkpoints for the tests of io/: a temporary folder, files with any header, a tiny GPT-2, mutations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/safetensors_writer.hpp>
#include <gpt2ie/io/synthetic.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie_test {

/// A new folder that is removed with this object.
class TempFolder {
 public:
  TempFolder() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("gpt2ie_io_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Writes a new file. One that is there is removed first: some file systems wait for the disk when a file is truncated
/// and written again.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  REQUIRE(file.good());
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The bytes of a number, least first.
template <class T>
std::string little_endian(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// A safetensors file with this header, whatever it says, and `data` zero bytes behind it.
inline std::string safetensors_text(std::string_view header, std::size_t data) {
  return little_endian<std::uint64_t>(header.size()) + std::string(header) + std::string(data, '\0');
}

/// `call` throws an Error with this code whose text holds all of `parts`.
template <class Call>
void check_error(gpt2ie::errc code, std::initializer_list<std::string_view> parts, Call&& call) {
  bool thrown = false;
  try {
    call();
  } catch (const gpt2ie::Error& error) {
    thrown = true;
    const std::string what = error.what();
    CAPTURE(what);
    CHECK(static_cast<int>(error.code()) == static_cast<int>(code));
    for (const std::string_view part : parts) {
      CAPTURE(part);
      CHECK(what.find(part) != std::string::npos);
    }
  }
  CHECK(thrown);
}

/// The text of config.json of a tiny GPT-2 of `tiny_config()`; `more` is added, such as R"("n_inner": 80)", and wins
/// over the same key.
inline std::string tiny_json(std::string_view more = "", int n_layer = 2) {
  std::string text = R"({"model_type": "gpt2", "n_layer": )" + std::to_string(n_layer) +
                     R"(, "n_head": 2, "n_embd": 8, "n_positions": 16, "vocab_size": 40, "eos_token_id": 39)";
  if (!more.empty()) text += ", " + std::string(more);
  return text + "}";
}

inline gpt2ie::ModelConfig tiny_config() {
  gpt2ie::ModelConfig config;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 8;
  config.n_inner = 32;
  config.n_positions = 16;
  config.vocab = 40;
  config.eos_token_ids = {39};
  return config;
}

/// All tensors of a GPT-2 with synthetic values, keys behind `prefix`.
inline std::vector<gpt2ie::Tensor> model_tensors(const gpt2ie::ModelConfig& config,
                                                 std::string_view prefix = "transformer.") {
  const gpt2ie::Checkpoint checkpoint = gpt2ie::synthetic_checkpoint(config);
  std::vector<gpt2ie::Tensor> tensors;
  gpt2ie::for_each_weight(config, [&](const std::string& key, const gpt2ie::Shape&) {
    tensors.push_back(checkpoint.tensor(key));
    tensors.back().name = std::string(prefix) + key;
  });
  return tensors;
}

/// The tensor of this name among `tensors`.
inline gpt2ie::Tensor& named(std::vector<gpt2ie::Tensor>& tensors, std::string_view name) {
  for (gpt2ie::Tensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return tensors.front();
}

/// A tensor of zero bytes in any type.
inline gpt2ie::Tensor zero_tensor(std::string name, gpt2ie::DType dtype, gpt2ie::Shape shape) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(gpt2ie::tensor_size(dtype, shape).value());
  return {std::move(name), dtype, std::move(shape), {bytes->data(), bytes->size()}, bytes};
}

/// The values of a whole tensor.
inline std::vector<float> values_of(const gpt2ie::Tensor& tensor) {
  std::vector<float> values(tensor.size());
  gpt2ie::read_floats(tensor, 0, values.size(), values.data());
  return values;
}

/// Writes config.json and model.safetensors into `folder`.
inline void write_model(const std::filesystem::path& folder, std::string_view config_json,
                        const std::vector<gpt2ie::Tensor>& tensors) {
  write_text(folder / "config.json", config_json);
  gpt2ie::write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

/// Changes a valid file at random: bytes, 64-bit numbers near a place, cuts, growth, copied stretches. Most changes
/// fall into the first `front` bytes, where everything but weights lies.
inline std::string mutated(std::string text, std::size_t front, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  static constexpr std::uint64_t numbers[] = {0,          1,          31,          32,         0x7fffffff,
                                              0x80000000, 0xffffffff, 1ull << 32,  1ull << 62, 1ull << 63,
                                              ~0ull,      ~0ull - 7,  100'000'000, 100'000'001};
  for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(below(8) ? std::min(front, text.size()) : text.size());
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 2:
        text[at] = "0123456789[]{},:\"-.e\\"[below(21)];
        break;
      case 3: {
        const std::string number = little_endian(numbers[below(std::size(numbers))]);
        text.replace(at, std::min(number.size(), text.size() - at), number);
        break;
      }
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, text, below(text.size()), 1 + below(16));
        break;
      default:
        text.erase(at, 1 + below(16));
        break;
    }
  }
  return text;
}

}  // namespace gpt2ie_test

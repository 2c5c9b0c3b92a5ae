// SPDX-License-Identifier: MIT
/// The tensors of a Hugging Face folder: config.json and one safetensors file, or shards and their index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/core/json.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/mapped_file.hpp>
#include <gpt2ie/io/model_config_json.hpp>
#include <gpt2ie/io/safetensors.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/io/tensor_source.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A file that an index names, resolved. The name must be relative without "." or ".." parts; the file that it leads
/// to, links followed, must lie in the folder. One exception: a folder .../snapshots/REVISION of the hub's cache may
/// link to a file directly in .../blobs, which is where that cache keeps every file. Errors: `bad_file`.
inline std::filesystem::path confined_file(const std::filesystem::path& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const std::string expected = "a file name that stays inside " + folder.string();
  const std::string shown = excerpt(name, 200);
  const fs::path relative(name);
  bool plain = !name.empty() && !relative.is_absolute() && name.find('\0') == std::string::npos &&
               name.find('\\') == std::string::npos;
  for (const fs::path& part : relative) plain = plain && !part.empty() && part != "." && part != "..";
  if (!plain) fail(errc::bad_file, expected, shown);

  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path file = error ? fs::path() : fs::canonical(folder / relative, error);
  if (error) {
    fail(errc::bad_file, "the file " + (folder / relative).string() + " that the index names", error.message());
  }
  const fs::path within = file.lexically_relative(root);
  const bool in_folder = !within.empty() && *within.begin() != "..";
  const fs::path snapshots = root.parent_path();
  // The folder of the blobs is not resolved on its own, so it cannot itself be a link that leads elsewhere.
  const bool in_hub_cache =
      snapshots.filename() == "snapshots" && file.parent_path() == snapshots.parent_path() / "blobs";
  if (!in_folder && !in_hub_cache) fail(errc::bad_file, expected, shown + ", a link to " + file.string());
  return file;
}

/// What the metadata of a file of packed weights says.
inline constexpr std::string_view packed_layout_key = "gpt2ie.layout", packed_precision_key = "gpt2ie.precision",
                                  packed_layout = "panels of 16, version 1";

/// A key without the `transformer.` that models saved with their head have.
inline std::string_view plain_key(std::string_view key) {
  constexpr std::string_view prefix = "transformer.";
  if (key.starts_with(prefix)) key.remove_prefix(prefix.size());
  return key;
}

class HuggingFaceFolder final : public TensorSource {
 public:
  explicit HuggingFaceFolder(const std::filesystem::path& folder) : folder_(folder) {
    const MappedFile config(folder / "config.json");
    config_ = parse_model_config(config.text(), config.path().string());
    if (exists("generation_config.json")) {
      const MappedFile generation(folder / "generation_config.json");
      add_generation_config(config_, generation.text(), generation.path().string());
    }
    if (exists("model.safetensors")) {
      read_single();
    } else if (exists("model.safetensors.index.json")) {
      read_shards();
    } else {
      fail(errc::bad_file, "model.safetensors or model.safetensors.index.json in " + folder.string(),
           exists("pytorch_model.bin") ? "only pytorch_model.bin, which has to be converted first" : "neither");
    }
  }

  [[nodiscard]] const ModelConfig& config() const noexcept { return config_; }

  [[nodiscard]] std::optional<TensorInfo> info(std::string_view key) const override {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    const SafetensorsEntry& entry = found->second.file->tensors().find(found->second.name)->second;
    return TensorInfo{entry.dtype, entry.shape, entry.end - entry.begin};
  }

  [[nodiscard]] Tensor tensor(std::string_view key) const override {
    const Place& place = places_.find(key)->second;
    Tensor tensor = place.file->tensor(place.name);
    tensor.name = key;
    return tensor;
  }

  [[nodiscard]] std::string packed_precision() const override { return packed_; }

 private:
  /// Where a tensor lies: a file, and the key there.
  struct Place {
    std::shared_ptr<const SafetensorsFile> file;
    std::string name;
  };

  [[nodiscard]] bool exists(const char* name) const {
    std::error_code error;
    return std::filesystem::exists(folder_ / name, error);
  }

  void add(const std::string& name, const std::shared_ptr<const SafetensorsFile>& file, const std::string& where) {
    const auto [place, added] = places_.emplace(plain_key(name), Place{file, name});
    if (!added) {
      fail(errc::bad_file, "one tensor of the key " + place->first + " in " + where,
           "both " + place->second.name + " and " + name);
    }
  }

  void read_single() {
    const auto file = std::make_shared<const SafetensorsFile>(folder_ / "model.safetensors");
    for (const auto& item : file->tensors()) add(item.first, file, file->path().string());
    read_packing(*file);
  }

  /// Packed weights say in their metadata which layout they have, and in which precision.
  void read_packing(const SafetensorsFile& file) {
    const auto layout = file.metadata().find(packed_layout_key);
    if (layout == file.metadata().end()) return;
    if (layout->second != packed_layout) {
      fail(errc::unsupported, "weights packed as " + std::string(packed_layout) + " in " + file.path().string(),
           excerpt(layout->second, 80));
    }
    const auto precision = file.metadata().find(packed_precision_key);
    const bool known = precision != file.metadata().end() &&
                       (precision->second == weight_name<float> || precision->second == weight_name<bf16> ||
                        precision->second == weight_name<f16> || precision->second == weight_name<int8> ||
                        precision->second == weight_name<int4>);
    if (!known) {
      fail(errc::unsupported, "weights packed in float, bf16, f16, int8 or int4 in " + file.path().string(),
           precision == file.metadata().end() ? "no precision in its metadata" : excerpt(precision->second, 80));
    }
    packed_ = precision->second;
  }

  void read_shards() {
    const MappedFile index(folder_ / "model.safetensors.index.json");
    const std::string where = index.path().string();
    const auto json = parse_json_object(index.text(), where);
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object()) {
      fail(errc::bad_file, "an object weight_map in " + where, map == json.end() ? "none" : json_text(*map));
    }
    std::map<std::string, std::shared_ptr<const SafetensorsFile>> shards;
    for (const auto& [name, value] : map->items()) {
      if (!value.is_string()) {
        fail(errc::bad_file, "a file name for tensor " + name + " in " + where, json_text(value));
      }
      const auto shard_name = value.get<std::string>();
      auto& shard = shards[shard_name];
      if (!shard) shard = std::make_shared<const SafetensorsFile>(confined_file(folder_, shard_name));
      if (!shard->has(name)) {
        fail(errc::bad_file, "tensor " + name + " in " + shard_name + ", where " + where + " places it",
             "no tensor of that key");
      }
      add(name, shard, where);
    }
  }

  std::filesystem::path folder_;
  ModelConfig config_;
  std::string packed_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

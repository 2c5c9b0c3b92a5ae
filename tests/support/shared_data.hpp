// SPDX-License-Identifier: MIT
/// Where tests find their data: the shared reference folder, which lies beside the repository, and the bundled models.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>

#if !defined(GPT2IE_SHARED_DIR)
#define GPT2IE_SHARED_DIR "../shared"
#endif
#if !defined(GPT2IE_MODELS_DIR)
#define GPT2IE_MODELS_DIR "examples/models"
#endif

namespace gpt2ie_test {

/// The path of `relative` inside the folder that the environment variable GPT2IE_SHARED names, else inside
/// GPT2IE_SHARED_DIR. Nothing, and one line that says so, where the file or folder is absent: a clone without the
/// reference data still passes, and a person sees what it could not compare.
inline std::optional<std::filesystem::path> shared_path(std::string_view relative) {
  const char* variable = std::getenv("GPT2IE_SHARED");
  const std::filesystem::path root =
      variable != nullptr && *variable != '\0' ? std::filesystem::path(variable) : GPT2IE_SHARED_DIR;
  std::filesystem::path path = root / relative;
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  MESSAGE("skipped: ", path.string(), " not found");
  return std::nullopt;
}

/// The folder of a bundled model, for example `model_path("fairytale-6m")`.
inline std::filesystem::path model_path(std::string_view name) {
  return std::filesystem::path(GPT2IE_MODELS_DIR) / name;
}

}  // namespace gpt2ie_test

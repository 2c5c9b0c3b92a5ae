// SPDX-License-Identifier: MIT
/// The options that choose a model and what runs it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

namespace gpt2ie_example {

inline constexpr const char* bundled_model = GPT2IE_MODELS_DIR "/fairytale-6m";

/// GPT2IE_MODEL in the environment stands in for the bundled model.
inline CLI::Option* add_model_option(CLI::App& app, std::string& model) {
  const char* chosen = std::getenv("GPT2IE_MODEL");
  model = chosen && *chosen ? chosen : bundled_model;
  return app.add_option("--model", model, "a model's folder; the environment's GPT2IE_MODEL sets the default")
      ->type_name("DIR")
      ->capture_default_str();
}

inline CLI::Option* add_threads_option(CLI::App& app, int& threads) {
  return app.add_option("--threads", threads, "threads; 0: one for each processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

inline CLI::Option* add_backend_option(CLI::App& app, std::string& backend) {
  return app
      .add_option("--backend", backend,
                  "simd: packed weights and own kernels; eigen: everything through Eigen, the readable reference")
      ->check(CLI::IsMember({"simd", "eigen"}))
      ->type_name("NAME")
      ->capture_default_str();
}

/// The folder, once it is known to be there.
inline std::filesystem::path checked_model_path(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::exists(model, ignored)) {
    throw std::runtime_error(model == bundled_model
                                 ? "the bundled model " + model + " isn't there any more: name one with --model DIR"
                                 : "no such model: " + model);
  }
  return model;
}

}  // namespace gpt2ie_example

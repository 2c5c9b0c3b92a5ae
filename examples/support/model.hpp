// SPDX-License-Identifier: MIT
/// The options that choose a model and what runs it, and the loading of that model.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie_example {

inline constexpr const char* bundled_model = GPT2IE_MODELS_DIR "/fairytale-6m";

inline CLI::Option* add_model_option(CLI::App& app, std::string& model) {
  model = bundled_model;
  return app.add_option("--model", model, "folder of a model in Hugging Face's layout, or a GGUF file")
      ->envname("GPT2IE_MODEL")
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

/// Returns run(backend) for the backend of that name; 0 threads: one for each processor.
template <class Run>
int with_backend(const std::string& name, int threads, const Run& run) {
  if (name == "eigen") return run(gpt2ie::backend::EigenCpu<float>(threads));
  return run(gpt2ie::backend::SimdCpu<float>(threads));
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

/// Reads and packs the weights. A model that takes a while to load says how far it is, if stderr is a terminal.
template <class Backend>
std::shared_ptr<const gpt2ie::Weights<Backend>> load_weights(Backend& backend, const gpt2ie::Checkpoint& checkpoint) {
  constexpr std::uint64_t large = 100'000'000;
  gpt2ie::LoadProgress progress;
  if (checkpoint.tensor_bytes() >= large && isatty(STDERR_FILENO)) {
    progress = [](std::uint64_t done, std::uint64_t total) {
      std::fprintf(stderr, "\rloading %3.0f %% of %.0f MB",
                   100.0 * static_cast<double>(done) / static_cast<double>(total), static_cast<double>(total) / 1e6);
      if (done == total) std::fputs("\r\033[K", stderr);
    };
  }
  return std::make_shared<const gpt2ie::Weights<Backend>>(backend, checkpoint, progress);
}

}  // namespace gpt2ie_example

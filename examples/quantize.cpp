// SPDX-License-Identifier: MIT
/// gpt2ie-quantize: packs a model's weights ahead of time, so that programs map them and start at once.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/packed_weights.hpp>

#include "support/model.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

struct Settings {
  std::string model, precision = "int8", output;
  int threads = 0;
};

void add_options(CLI::App& app, Settings& settings) {
  add_model_option(app, settings.model);
  add_precision_option(app, settings.precision);
  app.add_option("--output", settings.output, "a folder for the new model; it is made if it isn't there")
      ->required()
      ->type_name("DIR");
  add_threads_option(app, settings.threads);
}

/// Everything of a model's folder but its weights.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const char* name : {"config.json", "generation_config.json", "vocab.json", "merges.txt", "tokenizer.json",
                           "tokenizer_config.json", "special_tokens_map.json"}) {
    if (!std::filesystem::exists(from / name)) continue;
    std::filesystem::copy_file(from / name, to / name, std::filesystem::copy_options::overwrite_existing);
  }
}

template <class Backend>
int quantize(const Settings& settings, Backend backend) {
  const std::filesystem::path from = checked_model_path(settings.model), to = settings.output;
  if (!std::filesystem::exists(from / "config.json")) {
    throw std::runtime_error("--model takes a folder with config.json, " + from.string() + " has none");
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(from, to, ignored)) {
    throw std::runtime_error("--output must be another folder than the model's own");
  }
  const Checkpoint checkpoint = load_checkpoint(from);
  const auto weights = load_weights(backend, checkpoint);
  std::filesystem::create_directories(to);
  const std::filesystem::path file = to / "model.safetensors";
  write_packed_weights(file, *weights);
  copy_companions(from, to);
  std::printf("%s: %.1f MB in %s, from %.1f MB\n", file.c_str(),
              static_cast<double>(std::filesystem::file_size(file)) / 1e6, std::string(Backend::packed_name).c_str(),
              static_cast<double>(checkpoint.tensor_bytes()) / 1e6);
  write_out("");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Packs a model's weights in a precision ahead of time: programs map them and start at once.",
               "gpt2ie-quantize");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] {
    return with_precision(settings.precision, settings.threads,
                          [&](auto backend) { return quantize(settings, std::move(backend)); });
  });
}

// SPDX-License-Identifier: MIT
/// The options that choose a model and what runs it, and how options read numbers.
#pragma once

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

namespace gpt2ie_example {

inline constexpr const char* bundled_model = GPT2IE_MODELS_DIR "/fairytale-6m";

/// Decimal digits, with `-` before them if Int has a sign; to be given to transform(), as CLI11 would read 010 as octal
/// and take what is too large as the largest.
template <class Int>
CLI::Validator whole_number(Int least, Int most = std::numeric_limits<Int>::max()) {
  const auto read = [least, most](std::string& text) -> std::string {
    const char* const end = text.data() + text.size();
    Int value = 0;
    const auto [after, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || after != end || value < least || value > most) {
      return "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", found \"" +
             text + "\"";
    }
    text = std::to_string(value);
    return {};
  };
  const bool bounded = most != std::numeric_limits<Int>::max();
  return {read, std::to_string(least) + (bounded ? " to " + std::to_string(most) : " or more")};
}

/// A number that is `within` what `range` says in words.
inline CLI::Validator number(const std::string& range, const std::function<bool(double)>& within) {
  const auto check = [range, within](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && within(value)) return {};
    return "expected a number, " + range + ", found \"" + text + "\"";
  };
  return {check, range};
}

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
      ->transform(whole_number(0, 1024))
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

inline CLI::Option* add_precision_option(CLI::App& app, std::string& precision) {
  return app
      .add_option("--precision", precision,
                  "how weights are kept: float, bf16, f16, int8, int4" +
                      std::string(precision.empty() ? "; default: as the model's folder was packed, else float" : ""))
      ->check(CLI::IsMember({"float", "bf16", "f16", "int8", "int4"}))
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
  const std::filesystem::path path = model;
  if (path.extension() == ".safetensors" && !std::filesystem::is_directory(path, ignored)) {
    throw std::runtime_error("--model takes the folder of " + model + ", with its config.json and tokenizer");
  }
  return path;
}

}  // namespace gpt2ie_example

// SPDX-License-Identifier: MIT
/// From the names in the options to a backend and loaded weights.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <unistd.h>

#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie_example {

/// Returns run(backend) for SimdCpu with weights of that precision.
template <class Run>
int with_precision(const std::string& precision, int threads, const Run& run) {
  if (precision == "bf16") return run(gpt2ie::backend::SimdCpu<gpt2ie::bf16>(threads));
  if (precision == "f16") return run(gpt2ie::backend::SimdCpu<gpt2ie::f16>(threads));
  if (precision == "int8") return run(gpt2ie::backend::SimdCpu<gpt2ie::int8>(threads));
  if (precision == "int4") return run(gpt2ie::backend::SimdCpu<gpt2ie::int4>(threads));
  return run(gpt2ie::backend::SimdCpu<float>(threads));
}

/// The precision asked for; none: that of a folder that was packed ahead of time, else float.
inline std::string chosen_precision(const std::string& asked, const gpt2ie::Checkpoint& checkpoint) {
  if (!asked.empty()) return asked;
  return checkpoint.packed_precision().empty() ? "float" : checkpoint.packed_precision();
}

/// Returns run(backend) for the backend of that name; 0 threads: one for each processor.
template <class Run>
int with_backend(const std::string& name, const std::string& precision, int threads, const Run& run) {
  if (name != "eigen") return with_precision(precision, threads, run);
  if (precision != "float") {
    gpt2ie::fail(gpt2ie::errc::bad_request, "weights in float for --backend eigen", precision);
  }
  return run(gpt2ie::backend::EigenCpu<float>(threads));
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

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
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie_example {

/// Returns run(backend) for the backend of that name; 0 threads: one for each processor.
template <class Run>
int with_backend(const std::string& name, int threads, const Run& run) {
  if (name == "eigen") return run(gpt2ie::backend::EigenCpu<float>(threads));
  return run(gpt2ie::backend::SimdCpu<float>(threads));
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

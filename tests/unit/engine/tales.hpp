// SPDX-License-Identifier: MIT
/// A small model that writes text, loaded once for all tests of a program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>

#include "support/shared_data.hpp"
#include "unit/core/error_code.hpp"

namespace gpt2ie_test {

using Tales = gpt2ie::Generator<>;

inline const std::shared_ptr<const gpt2ie::Tokenizer>& tales_tokenizer() {
  static const auto tokenizer =
      std::make_shared<const gpt2ie::Tokenizer>(gpt2ie::load_tokenizer(model_path("fairytale-1m")));
  return tokenizer;
}

inline const std::shared_ptr<const Tales::weights_type>& tales_weights() {
  static const auto weights = [] {
    gpt2ie::backend::SimdCpu<float> backend(1);
    return std::make_shared<const Tales::weights_type>(backend, gpt2ie::load_checkpoint(model_path("fairytale-1m")));
  }();
  return weights;
}

/// A generator of one thread on fairytale-1m.
inline Tales make_tales(const gpt2ie::Limits& limits = gpt2ie::generator_limits) {
  return Tales(tales_weights(), tales_tokenizer(), gpt2ie::backend::SimdCpu<float>(1), limits);
}

inline constexpr const char* opening = "Once upon a time there was a king who had";

/// The reference of most tests: `count` greedy tokens after the opening, the end of the text ignored.
inline gpt2ie::GenerateOptions greedy(int count) {
  return {.max_new_tokens = count, .temperature = 0, .ignore_eos = true};
}

/// Units of the cache that nobody holds.
template <class Generator>
int free_units(const Generator& generator) {
  return generator.executor().book().capacity().free_units;
}

/// Every unit of the cache is free.
template <class Generator>
bool holds_nothing(const Generator& generator) {
  return free_units(generator) == generator.executor().book().capacity().total_units;
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// Checked engines on fairytale-1m.
#pragma once

#include <gpt2ie/engine/engine.hpp>

#include "support/checked_engine.hpp"
#include "unit/engine/tales.hpp"

namespace gpt2ie_test {

/// With weights and tokenizer that all tests of a program share, and one thread unless said.
template <class Engine>
class TalesEngine : public CheckedEngine<Engine> {
 public:
  explicit TalesEngine(const gpt2ie::EngineOptions& options = {}, int threads = 1)
      : CheckedEngine<Engine>(options, gpt2ie::backend::SimdCpu<float>(threads), tales_weights(), tales_tokenizer()) {}
};

}  // namespace gpt2ie_test

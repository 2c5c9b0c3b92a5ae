// SPDX-License-Identifier: MIT
/// What gpt2ie-compare is asked, and what all its variants share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gpt2ie/gpt2ie.hpp>

namespace gpt2ie_example {

using Cpu = gpt2ie::backend::SimdCpu<float>;
using Flash = gpt2ie::attention::Flash<64, 64>;

struct Settings {
  std::string model, synthetic, prompt = "Once upon a time";
  int context = 0, new_tokens = 100, runs = 3, threads = 0;
  bool json = false, batching = false, prefix = false;

  /// Of the model, for people.
  [[nodiscard]] std::string model_name() const { return synthetic.empty() ? model : "synthetic " + synthetic; }
};

struct Task {
  std::shared_ptr<const gpt2ie::Weights<Cpu>> weights;
  std::shared_ptr<const gpt2ie::Tokenizer> tokenizer;  ///< null for made-up weights
  std::vector<gpt2ie::Token> prompt;
  int new_tokens, threads;
};

/// Loads the model and packs its weights once, for all variants.
Task prepare(const Settings& settings);

/// Tokens that spell nothing; other ones for each `which`.
std::vector<gpt2ie::Token> made_up_tokens(int count, int vocab, std::uint32_t which = 0);

double median(std::vector<double> values);

/// The three comparisons. Each prints its tables or one JSON object and returns the exit code.
int compare_caches(const Settings& settings);
int compare_batching(const Settings& settings);
int compare_prefix(const Settings& settings);

}  // namespace gpt2ie_example

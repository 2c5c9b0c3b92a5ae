// SPDX-License-Identifier: MIT
// Helpers of the sampling tests: errors with their words, and rows of logits.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>

namespace gpt2ie_test {

// `call` must throw Error with this code, and its text must hold each of `words`.
template <class Call>
void check_error(gpt2ie::errc code, const std::vector<std::string>& words, Call&& call) {
  try {
    call();
    FAIL_CHECK("no error where one was due");
  } catch (const gpt2ie::Error& error) {
    CHECK(error.code() == code);
    for (const std::string& word : words) {
      CHECK_MESSAGE(std::string(error.what()).find(word) != std::string::npos, error.what(), " lacks ", word);
    }
  }
}

inline std::vector<float> random_logits(std::size_t vocab, float spread, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(vocab);
  for (float& x : logits) x = normal(bits);
  return logits;
}

// The tokens that a request may get next.
template <class Order = gpt2ie::sampling::HuggingFaceOrder>
std::vector<gpt2ie::Token> kept(const std::vector<float>& logits, const gpt2ie::GenerateOptions& options,
                                const std::vector<gpt2ie::Token>& tokens = {}) {
  gpt2ie::SamplerChain<Order> chain(options, static_cast<int>(logits.size()), {});
  std::vector<gpt2ie::Token> ids;
  for (const auto& candidate : chain.distribution(logits, tokens, tokens.size())) ids.push_back(candidate.token);
  return ids;
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
// The slow way: every rule written as it is defined, sorting everything. Scores are floats, since what ties is decided
// by them; probabilities are doubles. What the library must agree with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/options.hpp>

namespace gpt2ie_test {

class SamplingOracle {
 public:
  using Token = gpt2ie::Token;

  SamplingOracle(const gpt2ie::GenerateOptions& options, std::span<const float> logits, std::span<const Token> tokens,
                 std::size_t prompt_length, std::span<const Token> end_ids)
      : options_(options),
        scores_(logits.begin(), logits.end()),
        tokens_(tokens.begin(), tokens.end()),
        prompt_length_(prompt_length),
        end_ids_(end_ids.begin(), end_ids.end()) {}

  // Probabilities of all tokens, 0 for those that can't be picked.
  std::vector<double> hugging_face() {
    penalise();
    temperature();
    top_k();
    top_p();
    min_p();
    typical();
    return probabilities();
  }

  std::vector<double> llama_cpp() {
    penalise();
    top_k();
    typical();
    top_p();
    min_p();
    temperature();
    return probabilities();
  }

  std::vector<double> probabilities() const {
    const float best = *std::max_element(scores_.begin(), scores_.end());
    std::vector<double> result;
    for (const float score : scores_)
      result.push_back(std::exp(static_cast<double>(score) - static_cast<double>(best)));
    const double sum = std::accumulate(result.begin(), result.end(), 0.0);
    for (double& p : result) p /= sum;
    return result;
  }

 private:
  static constexpr float banned = -std::numeric_limits<float>::infinity();

  float& score(Token token) { return scores_[static_cast<std::size_t>(token)]; }

  void penalise() {
    for (const auto& [token, bias] : options_.logit_bias) score(token) += bias;
    std::map<Token, int> seen, generated;
    for (const Token token : tokens_) ++seen[token];
    for (std::size_t i = prompt_length_; i < tokens_.size(); ++i) ++generated[tokens_[i]];
    const float r = options_.repetition_penalty;
    for (const auto& [token, times] : seen) score(token) = score(token) < 0 ? score(token) * r : score(token) / r;

    const auto n = static_cast<std::size_t>(options_.no_repeat_ngram_size);
    for (std::size_t first = 0; n > 0 && first + n <= tokens_.size(); ++first) {
      std::vector<Token> ngram(tokens_.begin() + static_cast<std::ptrdiff_t>(first),
                               tokens_.begin() + static_cast<std::ptrdiff_t>(first + n));
      const Token next = ngram.back();
      ngram.pop_back();
      if (std::equal(ngram.rbegin(), ngram.rend(), tokens_.rbegin())) score(next) = banned;
    }
    if (tokens_.size() - prompt_length_ < static_cast<std::size_t>(options_.min_new_tokens)) {
      for (const Token token : end_ids_) score(token) = banned;
    }
    for (const auto& [token, times] : generated) {
      score(token) -= options_.presence_penalty + options_.frequency_penalty * static_cast<float>(times);
    }
  }

  void temperature() {
    for (float& s : scores_) s /= options_.temperature;
  }

  void top_k() {
    if (options_.top_k <= 0) return;
    std::vector<float> sorted = scores_;
    std::sort(sorted.rbegin(), sorted.rend());
    const float kth = sorted[std::min(static_cast<std::size_t>(options_.top_k), sorted.size()) - 1];
    for (float& s : scores_) s = s < kth ? banned : s;
  }

  // Ascending, of equal ones the higher ids first: dropped while the sum of what is dropped is 1 - p at most.
  void top_p() {
    if (options_.top_p >= 1) return;
    const std::vector<double> p = probabilities();
    std::vector<std::size_t> order = ids();
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return scores_[a] != scores_[b] ? scores_[a] < scores_[b] : a > b; });
    double sum = 0;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      sum += p[order[i]];
      if (sum <= 1 - static_cast<double>(options_.top_p)) scores_[order[i]] = banned;
    }
  }

  void min_p() {
    if (options_.min_p <= 0) return;
    const std::vector<double> p = probabilities();
    const double least = static_cast<double>(options_.min_p) * *std::max_element(p.begin(), p.end());
    for (std::size_t i = 0; i < p.size(); ++i) scores_[i] = p[i] < least * (1 - 1e-7) ? banned : scores_[i];
  }

  void typical() {
    if (options_.typical_p >= 1) return;
    const std::vector<double> p = probabilities();
    double entropy = 0;
    for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
    std::vector<double> distance;
    for (const double x : p) distance.push_back(std::abs(-std::log(x) - entropy));
    std::vector<std::size_t> order = ids();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return distance[a] < distance[b]; });
    double sum = 0, farthest = 0;
    for (const std::size_t id : order) {
      if (sum >= static_cast<double>(options_.typical_p)) break;
      sum += p[id];
      farthest = distance[id];
    }
    for (std::size_t i = 0; i < p.size(); ++i) scores_[i] = distance[i] > farthest * (1 + 1e-9) ? banned : scores_[i];
  }

  std::vector<std::size_t> ids() const {
    std::vector<std::size_t> result(scores_.size());
    std::iota(result.begin(), result.end(), std::size_t{0});
    return result;
  }

  const gpt2ie::GenerateOptions& options_;
  std::vector<float> scores_;
  std::vector<Token> tokens_;
  std::size_t prompt_length_;
  std::vector<Token> end_ids_;
};

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// Some forty requests to fairytale-1m, each with what it is answered when nobody else is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/answer.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "golden/fairytale_continuations.hpp"
#include "unit/engine/tales.hpp"

namespace gpt2ie_test {

using TalesOrder = gpt2ie::sampling::HuggingFaceOrder;

/// One answer.
struct KnownChoice {
  std::vector<gpt2ie::Token> tokens;
  std::vector<float> logprobs;
  gpt2ie::FinishReason finish_reason;

  friend bool operator==(const KnownChoice&, const KnownChoice&) = default;
};

inline KnownChoice known_choice(const gpt2ie::GenerateResult& result) {
  return {result.tokens, result.token_logprobs, result.finish_reason};
}

struct KnownRequest {
  std::vector<gpt2ie::Token> prompt;
  gpt2ie::GenerateOptions options;          // with a seed
  std::vector<KnownChoice> choices = {};    // 1 to 3
  std::vector<float> prompt_logprobs = {};  // of all tokens but the first
};

inline constexpr int longest_known = 48;  // tokens of prompt and answer

/// Answers one choice alone, in an executor that shares nothing with others.
template <class Executor>
KnownChoice answer_alone(Executor& executor, const KnownRequest& request, std::uint32_t choice) {
  gpt2ie::Answer<TalesOrder> answer(executor.config(), nullptr, request.options, request.prompt.size(),
                                    executor.limits().max_length, nullptr, choice);
  const gpt2ie::OpenSequence sequence(executor.book(), {});
  std::vector<gpt2ie::Token> tokens = request.prompt;
  gpt2ie::Step step;
  while (!answer.ended()) {
    gpt2ie::run_tokens(
        executor, sequence, tokens, executor.limits().max_rows, false, step,
        [&](int /*position*/, std::span<const float> logits) { tokens.push_back(answer.draw(logits, tokens)); });
  }
  return known_choice(answer.result());
}

/// Beginnings of six texts, so that many share a prefix: of one token, within a page, one page, one token more, two.
/// Greedy and drawn, with penalties and without. Element: what K and V are held as.
template <class Element>
std::vector<KnownRequest> make_known_requests() {
  using Alone = gpt2ie::Generator<gpt2ie::KVCache<gpt2ie::kv::Paged<Element, 16>>>;
  std::vector<KnownRequest> requests;
  for (const Continuation& text : fairytale_1m_continuations) {
    for (const std::size_t length : {1u, 4u, 11u, 16u, 17u, 32u, 39u}) {
      const auto i = requests.size();
      gpt2ie::GenerateOptions options{.max_new_tokens = 1 + static_cast<int>(i * 5 % 9), .seed = 1000 + i};
      if (i % 5 == 1) options.temperature = 0;
      if (i % 5 == 2) options.top_k = 40;
      if (i % 5 == 3) options.top_p = 0.9f, options.presence_penalty = 1.5f;
      if (i % 5 == 4) options.temperature = 0, options.repetition_penalty = 1.3f;
      requests.push_back({.prompt = {text.tokens.begin(), text.tokens.begin() + static_cast<std::ptrdiff_t>(length)},
                          .options = options,
                          .choices = std::vector<KnownChoice>(i % 4 == 0 ? 3 : 1),
                          .prompt_logprobs = {}});
    }
  }
  for (KnownRequest& request : requests) {
    Alone alone(tales_weights(), tales_tokenizer(), gpt2ie::backend::SimdCpu<float>(1),
                {.max_rows = 64, .max_logit_rows = 64, .max_length = longest_known});
    request.prompt_logprobs = gpt2ie::score(alone.executor(), request.prompt);
    for (std::size_t i = 0; i < request.choices.size(); ++i) {
      request.choices[i] = answer_alone(alone.executor(), request, static_cast<std::uint32_t>(i));
    }
  }
  return requests;
}

template <class Element = float>
const std::vector<KnownRequest>& known_requests() {
  static const std::vector<KnownRequest> requests = make_known_requests<Element>();
  return requests;
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// Known requests as an engine takes them, and how its answers are compared with the known ones.
#pragma once

#include <cstddef>
#include <vector>

#include <gpt2ie/engine/request.hpp>

#include "contract/known_requests.hpp"

namespace gpt2ie_test {

/// A known request as an engine takes it.
inline gpt2ie::Request request_of(const KnownRequest& known) {
  return {.prompt = known.prompt, .options = known.options, .n = static_cast<int>(known.choices.size())};
}

/// Whether every choice, and the prompt if it was scored, is to the bit what it is alone.
inline bool is_known(const gpt2ie::Completion& completion, const KnownRequest& known) {
  if (completion.choices.size() != known.choices.size()) return false;
  for (std::size_t i = 0; i < known.choices.size(); ++i) {
    if (!(known_choice(completion.choices[i]) == known.choices[i])) return false;
  }
  if (completion.prompt.empty()) return true;
  if (completion.prompt.size() != known.prompt.size() || completion.prompt[0].logprob) return false;
  for (std::size_t i = 0; i < known.prompt.size(); ++i) {
    if (completion.prompt[i].token != known.prompt[i]) return false;
    if (i > 0 && completion.prompt[i].logprob != known.prompt_logprobs[i - 1]) return false;
  }
  return true;
}

}  // namespace gpt2ie_test

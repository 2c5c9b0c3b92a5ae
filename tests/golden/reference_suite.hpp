// SPDX-License-Identifier: MIT
/// The bundled models and the variants against the reference values, for every attention over every storage. A source
/// file of its own includes this for each backend and defines `reference_combinations`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/mapped_file.hpp>
#include <gpt2ie/sampling/log_probs.hpp>

#include "golden/fairytale_continuations.hpp"
#include "support/any_executor.hpp"
#include "support/reference_file.hpp"
#include "support/shared_data.hpp"
#include "support/steps.hpp"
#include "support/tolerance.hpp"

namespace gpt2ie_test {

/// Every combination on the backend of this program.
std::vector<Combination> reference_combinations(const gpt2ie::Checkpoint& checkpoint);

/// Collects the worst error of a program's element type, and reports it.
class WorstError {
 public:
  explicit WorstError(std::string what) : what_(std::move(what)) {}
  ~WorstError() { MESSAGE(what_, ": largest error ", largest_[0], " in float, ", largest_[1], " in fewer bits"); }

  /// Checks values against the reference: float storages by the reference's tolerance, others by their own.
  void check(const Combination& combination, std::span<const float> found, std::span<const float> expected) {
    const bool exact = combination.element == "float";
    const double rounding = combination.element == "int8" ? int8_tolerance : half_tolerance;
    const Difference error = exact ? difference(found, expected, reference_tolerance, reference_tolerance)
                                   : difference(found, expected, rounding * largest_of(expected), 0);
    CHECK_MESSAGE(error.worst <= 1, what_, ", ", combination.name(), ": off by ", error.largest);
    largest_[exact ? 0 : 1] = std::max(largest_[exact ? 0 : 1], error.largest);
  }

 private:
  std::string what_;
  double largest_[2] = {};
};

inline const std::vector<Continuation>& continuations(const std::string& model) {
  return model == "fairytale-1m" ? fairytale_1m_continuations : fairytale_6m_continuations;
}

/// Logits of all tokens in one run.
inline Logits run_whole(const Combination& combination, const Tokens& tokens) {
  const auto executor = combination.make(limits_for(1, static_cast<int>(tokens.size())), 1);
  return advance(*executor, open(*executor), tokens);
}

/// Hidden states after `layers` layers, [T, E]; after ln_f too once all have run.
inline std::vector<float> hidden_after(AnyExecutor& executor, const Tokens& tokens, int layers) {
  const bool all = layers == executor.config().n_layer;
  const gpt2ie::SeqId seq = open(executor);
  gpt2ie::Step step = plan(executor, {{seq, tokens}});
  step.layer_end = layers;
  if (!all) step.logit_rows.clear();
  REQUIRE(executor.reserve(step));
  static_cast<void>(executor.run(step));
  executor.rollback();
  executor.close(seq);
  const float* from = all ? executor.normed() : executor.hidden();
  return {from, from + tokens.size() * static_cast<std::size_t>(executor.config().n_embd)};
}

/// The log-probability of each token after those before it, 256 rows at a time where the cache retains.
inline std::vector<float> passage_logprobs(const Combination& combination, const Tokens& tokens) {
  const std::size_t chunk = combination.retains ? 256 : tokens.size();
  const auto executor = combination.make(limits_for(1, static_cast<int>(chunk)), 2);
  const auto vocab = static_cast<std::size_t>(executor->config().vocab);
  const gpt2ie::SeqId seq = open(*executor);
  std::vector<float> logprobs;
  for (std::size_t first = 0; first < tokens.size(); first += chunk) {
    const std::size_t count = std::min(chunk, tokens.size() - first);
    const Logits logits = advance(*executor, seq, std::span(tokens).subspan(first, count));
    for (std::size_t i = 0; i < count && first + i + 1 < tokens.size(); ++i) {
      logprobs.push_back(gpt2ie::token_logprob(rows(logits, i, 1, vocab), tokens[first + i + 1]));
    }
  }
  return logprobs;
}

TEST_CASE("greedy continuations of the bundled models are the reference's") {
  for (const std::string model : {"fairytale-1m", "fairytale-6m"}) {
    for (const Combination& combination : reference_combinations(gpt2ie::load_checkpoint(model_path(model)))) {
      const auto executor = combination.make(limits_for(1, 96), 1);
      for (const Continuation& expected : continuations(model)) {
        INFO(model, ", ", combination.name(), ": ", expected.text);
        const Tokens prompt(expected.tokens.begin(), expected.tokens.begin() + expected.prompt);
        const Tokens found = greedy(*executor, prompt, static_cast<int>(expected.tokens.size() - prompt.size()));
        CHECK(found.size() == expected.tokens.size());
        // Half-precision caches may choose otherwise where two tokens are nearly alike.
        if (combination.element == "float") CHECK(found == expected.tokens);
      }
    }
  }
}

TEST_CASE("logits of the bundled models are the reference's") {
  for (const std::string model : {"fairytale-1m", "fairytale-6m"}) {
    const auto path = shared_path("reference/" + model + ".expected.safetensors");
    if (!path) continue;
    const ReferenceFile reference(*path);
    WorstError error(model + " logits");
    for (const Combination& combination : reference_combinations(gpt2ie::load_checkpoint(model_path(model)))) {
      for (int i = 0; i < 6; ++i) {
        const std::string prompt = "prompt" + std::to_string(i);
        const Tokens tokens = reference.tokens(prompt + ".input_ids");
        const Logits logits = run_whole(combination, tokens);
        const std::vector<float> last = reference.floats(prompt + ".last_logits");
        error.check(combination, std::span<const float>(logits).last(last.size()), last);
        if (i == 0) error.check(combination, logits, reference.floats(prompt + ".logits"));
      }
    }
  }
}

TEST_CASE("hidden states of the bundled models are the reference's") {
  for (const std::string model : {"fairytale-1m", "fairytale-6m"}) {
    const auto path = shared_path("reference/" + model + ".expected.safetensors");
    if (!path) continue;
    const ReferenceFile reference(*path);
    const Tokens tokens = reference.tokens("prompt0.input_ids");
    WorstError error(model + " hidden states");
    for (const Combination& combination : reference_combinations(gpt2ie::load_checkpoint(model_path(model)))) {
      const auto executor = combination.make(limits_for(1, 16), 1);
      for (int layers = 0; layers <= executor->config().n_layer; ++layers) {
        error.check(combination, hidden_after(*executor, tokens, layers),
                    reference.floats("prompt0.hidden" + std::to_string(layers)));
      }
    }
  }
}

TEST_CASE("a passage is as likely as the reference says") {
  for (const std::string model : {"fairytale-1m", "fairytale-6m"}) {
    const auto path = shared_path("reference/" + model + ".expected.safetensors");
    const auto summary = shared_path("reference/" + model + ".expected.json");
    if (!path || !summary) continue;
    const ReferenceFile reference(*path);
    const auto expected_perplexity =
        nlohmann::json::parse(gpt2ie::MappedFile(*summary).text()).at("passage_perplexity").get<double>();
    const Tokens tokens = reference.tokens("passage.input_ids");
    const std::vector<float> expected = reference.floats("passage.token_logprobs");
    double largest = 0;
    for (const Combination& combination : reference_combinations(gpt2ie::load_checkpoint(model_path(model)))) {
      if (combination.element != "float") continue;
      // One storage for each attention in the larger model: a thousand tokens take a while.
      if (model == "fairytale-6m" && !combination.storage.starts_with("kv::Paged")) continue;
      const std::vector<float> logprobs = passage_logprobs(combination, tokens);
      const Difference error =
          difference(std::span<const float>(logprobs), std::span<const float>(expected), logprob_tolerance, 0);
      CHECK_MESSAGE(error.worst <= 1, model, ", ", combination.name(), ": off by ", error.largest);
      CHECK(gpt2ie::perplexity(logprobs) == doctest::Approx(expected_perplexity).epsilon(1e-4));
      largest = std::max(largest, error.largest);
    }
    MESSAGE(model, " log-probabilities: largest error ", largest);
  }
}

TEST_CASE("C-1, C-3, C-4: every variant of configuration and storage gives the reference's logits") {
  const auto folder = shared_path("reference/variants");
  if (!folder) return;
  std::vector<std::filesystem::path> variants;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) variants.push_back(entry.path());
  std::sort(variants.begin(), variants.end());
  REQUIRE(variants.size() >= 16);
  for (const std::filesystem::path& variant : variants) {
    const ReferenceFile reference(variant / "expected.safetensors");
    const Tokens tokens = reference.tokens("input_ids");
    const std::vector<float> expected = reference.floats("logits");
    WorstError error("variant " + variant.filename().string());
    for (const Combination& combination : reference_combinations(gpt2ie::load_checkpoint(variant))) {
      error.check(combination, run_whole(combination, tokens), expected);
    }
  }
}

}  // namespace gpt2ie_test

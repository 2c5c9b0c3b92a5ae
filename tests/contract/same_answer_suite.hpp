// SPDX-License-Identifier: MIT
/// A row's logits are the same whether it runs whole or in chunks, alone or in a batch, in any storage, on any number
/// of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "contract/suite.hpp"

namespace gpt2ie_test {

TEST_CASE("logits are finite and differ from row to row") {
  for_each_combination([](const Combination& combination) {
    const Logits logits = alone(combination, some_tokens(40));
    CHECK(std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }));
    CHECK_FALSE(within(rows_of(logits, 38, 1), rows_of(logits, 39, 1), 1e-2));
  });
}

TEST_CASE("chunks of 1, 7 and 64 give what one run gives") {
  for_each_combination([](const Combination& combination) {
    if (!combination.retains) return;
    const Tokens tokens = some_tokens(150);
    const Logits expected = alone(combination, tokens);
    for (const std::size_t chunk : {1u, 7u, 64u}) {
      const auto executor = combination.make(limits_for(1, static_cast<int>(chunk)), 1);
      const gpt2ie::SeqId seq = open(*executor);
      Logits found;
      for (std::size_t first = 0; first < tokens.size(); first += chunk) {
        const std::size_t count = std::min(chunk, tokens.size() - first);
        const Logits part = advance(*executor, seq, std::span(tokens).subspan(first, count));
        found.insert(found.end(), part.begin(), part.end());
      }
      CAPTURE(chunk);
      check_same(combination, found, expected);
    }
  });
}

TEST_CASE("B-6: a ragged batch of lengths 1, 5 and 9 gives what each gives alone") {
  for_each_combination([](const Combination& combination) {
    if (!combination.retains) return;
    const std::vector<Tokens> texts = {some_tokens(31, 1), some_tokens(35, 2), some_tokens(39, 3)};
    std::vector<Logits> expected;
    for (const Tokens& text : texts) expected.push_back(alone(combination, text));
    const auto executor = combination.make(limits_for(3, 64), 1);
    std::vector<gpt2ie::SeqId> seqs;
    for (int i = 0; i < 3; ++i) seqs.push_back(open(*executor));
    // The prompts of 1, 5 and 9; a token each; then a chunk of one beside decoding of the others.
    const std::vector<std::vector<std::size_t>> counts = {{1, 5, 9}, {1, 1, 1}, {20, 1, 1}, {1, 20, 3}, {1, 1, 17}};
    std::vector<std::size_t> done(3, 0);
    for (const std::vector<std::size_t>& count : counts) {
      std::vector<Part> parts;
      for (std::size_t i = 0; i < 3; ++i) parts.push_back({seqs[i], std::span(texts[i]).subspan(done[i], count[i])});
      const Logits found = advance(*executor, parts);
      std::size_t row = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        check_same(combination, rows_of(found, row, count[i]), rows_of(expected[i], done[i], count[i]));
        row += count[i];
        done[i] += count[i];
      }
    }
  });
}

TEST_CASE("two threads give what one gives") {
  for_each_combination([](const Combination& combination) {
    const Tokens tokens = some_tokens(150);
    const Logits expected = alone(combination, tokens);
    const auto executor = combination.make(limits_for(2, 150), 2);
    check_same(combination, advance(*executor, open(*executor), tokens), expected);
    if (!combination.retains) return;
    const gpt2ie::SeqId seq = open(*executor);
    check_same(combination, advance(*executor, seq, std::span(tokens).first(149)), rows_of(expected, 0, 149));
    check_same(combination, advance(*executor, seq, std::span(tokens).last(1)), rows_of(expected, 149, 1));
  });
}

TEST_CASE("storages of one element give the same, and so does no cache at all") {
  for (const gpt2ie::ModelConfig& config : contract_models()) {
    std::map<std::pair<std::string, std::string>, Logits> first;
    for (const Combination& combination : contract_combinations(random_checkpoint(config))) {
      INFO(combination.name(), ", heads of ", config.head_dim());
      const Logits logits = alone(combination, some_tokens(100));
      const auto [other, is_first] = first.emplace(std::pair(combination.attention, combination.element), logits);
      CHECK(std::isfinite(logits.back()));
      if (!is_first) check_same(combination, logits, other->second);
    }
  }
}

TEST_CASE("attention policies and elements agree within what they round") {
  for (const gpt2ie::ModelConfig& config : contract_models()) {
    Logits first;
    for (const Combination& combination : contract_combinations(random_checkpoint(config))) {
      INFO(combination.name(), ", heads of ", config.head_dim());
      const Logits logits = alone(combination, some_tokens(100));
      if (first.empty()) first = logits;
      const bool four_bits = combination.element.ends_with("int4");
      const double rounding = combination.element == "float" ? 1e-4 : four_bits ? 0.5 : 5e-2;
      CHECK(within(std::span<const float>(logits), std::span<const float>(first), rounding));
    }
  }
}

TEST_CASE("a token that is decoded without a cache gives what the whole run gives") {
  for_each_combination([](const Combination& combination) {
    if (combination.retains) return;
    const Tokens tokens = some_tokens(30);
    const Logits expected = alone(combination, tokens);
    const auto executor = combination.make(limits_for(1, 64), 1);
    const gpt2ie::SeqId seq = open(*executor);
    for (std::size_t length = 1; length <= tokens.size(); ++length) {
      check_same(combination, advance(*executor, seq, std::span(tokens).first(length)), rows_of(expected, 0, length));
      CHECK(executor->length(seq) == 0);
    }
  });
}

}  // namespace gpt2ie_test

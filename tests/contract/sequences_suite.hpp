// SPDX-License-Identifier: MIT
/// Sequences come, fork, lose drafts, are cut short and go, and none of it shows in anyone's logits.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "contract/suite.hpp"

namespace gpt2ie_test {

/// A sequence and the tokens that it holds.
struct Told {
  gpt2ie::SeqId seq;
  Tokens tokens;
};

/// Gives every sequence `count` tokens of its own, in one step, and checks all of their logits against solo runs.
inline void tell(const Combination& combination, AnyExecutor& executor, std::vector<Told>& sequences, int count,
                 int salt) {
  std::vector<Tokens> news;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < sequences.size(); ++i) news.push_back(some_tokens(count, salt + static_cast<int>(i)));
  for (std::size_t i = 0; i < sequences.size(); ++i) parts.push_back({sequences[i].seq, news[i]});
  const Logits found = advance(executor, parts);
  const auto rows = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::size_t before = sequences[i].tokens.size();
    sequences[i].tokens = joined(std::move(sequences[i].tokens), news[i]);
    check_same(combination, rows_of(found, i * rows, rows),
               rows_of(alone(combination, sequences[i].tokens), before, rows));
    CHECK(executor.length(sequences[i].seq) == static_cast<int>(sequences[i].tokens.size()));
  }
}

inline void close_all(AnyExecutor& executor, const std::vector<Told>& sequences) {
  for (const Told& told : sequences) executor.close(told.seq);
  CHECK(executor.capacity().free_units == executor.capacity().total_units);
}

TEST_CASE("K-9: four forks that diverge inside a page, at its border and in mid-text equal solo runs") {
  for_each_retaining([](const Combination& combination) {
    for (const int shared : {0, 10, 16, 37}) {
      CAPTURE(shared);
      const auto executor = combination.make(limits_for(5, 64), 1);
      std::vector<Told> sequences = {{open(*executor), some_tokens(shared, 1)}};
      if (shared > 0) advance(*executor, sequences[0].seq, sequences[0].tokens);
      for (int i = 0; i < 4; ++i) {
        sequences.push_back({fork(*executor, sequences[0].seq), sequences[0].tokens});
      }
      tell(combination, *executor, sequences, 1, 10);
      tell(combination, *executor, sequences, 8, 20);
      close_all(*executor, sequences);
    }
  });
}

TEST_CASE("K-9: forks go on one at a time, and fork again") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(4, 64), 1);
    std::vector<Told> parent = {{open(*executor), {}}};
    tell(combination, *executor, parent, 10, 1);
    std::vector<Told> child = {{fork(*executor, parent[0].seq), parent[0].tokens}};
    tell(combination, *executor, child, 3, 2);
    tell(combination, *executor, parent, 5, 3);
    std::vector<Told> grandchild = {{fork(*executor, child[0].seq), child[0].tokens}};
    tell(combination, *executor, child, 4, 4);
    tell(combination, *executor, grandchild, 20, 5);
    tell(combination, *executor, parent, 1, 6);
    executor->close(parent[0].seq);
    tell(combination, *executor, child, 9, 7);
    close_all(*executor, {child[0], grandchild[0]});
  });
}

TEST_CASE("K-9: a fork of a fork keeps its past when those between are cut or closed before anything runs") {
  for_each_retaining([](const Combination& combination) {
    for (const bool close : {true, false}) {
      const auto executor = combination.make(limits_for(4, 64), 1);
      std::vector<Told> first = {{open(*executor), {}}};
      tell(combination, *executor, first, 21, 1);
      const gpt2ie::SeqId between = fork(*executor, first[0].seq);
      std::vector<Told> last = {{fork(*executor, between), first[0].tokens}};
      close ? executor->close(between) : executor->truncate(between, 2);
      tell(combination, *executor, last, 3, 2);
      if (!close) executor->close(between);
      close_all(*executor, {first[0], last[0]});
    }
  });
}

TEST_CASE("K-9: a fork keeps its past when its parent closes and another sequence opens before anything runs") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(4, 64), 1);
    std::vector<Told> sequences = {{open(*executor), {}}};
    tell(combination, *executor, sequences, 21, 1);
    std::vector<Told> forked = {{fork(*executor, sequences[0].seq), sequences[0].tokens}};
    executor->close(sequences[0].seq);
    forked.push_back({open(*executor), {}});
    tell(combination, *executor, forked, 3, 2);
    close_all(*executor, forked);
  });
}

TEST_CASE("drafts that are rejected leave no trace") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(1, 64), 1);
    std::vector<Told> told = {{open(*executor), {}}};
    tell(combination, *executor, told, 14, 1);
    for (const std::size_t accepted : {0u, 1u, 3u, 5u}) {
      CAPTURE(accepted);
      const Tokens drafts = some_tokens(5, 30 + static_cast<int>(accepted));
      gpt2ie::Step step = plan(*executor, {{told[0].seq, drafts}});
      REQUIRE(executor->reserve(step));
      static_cast<void>(executor->run(step));
      step.runs[0].count = static_cast<int>(accepted);
      executor->commit(step);
      told[0].tokens = joined(std::move(told[0].tokens), std::span(drafts).first(accepted));
      CHECK(executor->length(told[0].seq) == static_cast<int>(told[0].tokens.size()));
      tell(combination, *executor, told, 2, 40);
    }
    close_all(*executor, told);
  });
}

TEST_CASE("drafts in a fork that are rejected leave the parent alone") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(2, 64), 1);
    std::vector<Told> sequences = {{open(*executor), {}}};
    tell(combination, *executor, sequences, 14, 1);
    sequences.push_back({fork(*executor, sequences[0].seq), sequences[0].tokens});
    gpt2ie::Step step = plan(*executor, {{sequences[1].seq, some_tokens(5, 2)}});
    REQUIRE(executor->reserve(step));
    static_cast<void>(executor->run(step));
    step.runs[0].count = 0;
    executor->commit(step);
    tell(combination, *executor, sequences, 4, 3);
    close_all(*executor, sequences);
  });
}

TEST_CASE("a sequence that is cut short goes on as if the rest had never been") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(1, 64), 1);
    std::vector<Told> told = {{open(*executor), {}}};
    tell(combination, *executor, told, 40, 1);
    for (const int kept : {39, 32, 17, 3, 0}) {
      CAPTURE(kept);
      executor->truncate(told[0].seq, kept);
      CHECK(executor->length(told[0].seq) == kept);
      told[0].tokens.resize(static_cast<std::size_t>(kept));
      tell(combination, *executor, told, 6, 50 + kept);
    }
    close_all(*executor, told);
  });
}

TEST_CASE("sequences take turns, close and reopen") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(2, 64), 1);
    std::vector<Told> a = {{open(*executor), {}}}, b = {{open(*executor), {}}};
    tell(combination, *executor, a, 20, 1);
    tell(combination, *executor, b, 5, 2);
    tell(combination, *executor, a, 1, 3);
    CHECK_FALSE(executor->open().has_value());
    executor->close(a[0].seq);
    a = {{open(*executor), {}}};
    CHECK(executor->length(a[0].seq) == 0);
    tell(combination, *executor, b, 12, 4);
    tell(combination, *executor, a, 30, 5);
    std::vector<Told> both = {a[0], b[0]};
    tell(combination, *executor, both, 3, 6);
    close_all(*executor, both);
  });
}

TEST_CASE("a step that was reserved and did not run leaves everything as it was") {
  for_each_retaining([](const Combination& combination) {
    const auto executor = combination.make(limits_for(2, 64), 1);
    std::vector<Told> sequences = {{open(*executor), {}}};
    tell(combination, *executor, sequences, 10, 1);
    sequences.push_back({fork(*executor, sequences[0].seq), sequences[0].tokens});
    const int free = executor->capacity().free_units;
    const Tokens more = some_tokens(30, 2);
    REQUIRE(executor->reserve(plan(*executor, {{sequences[0].seq, more}, {sequences[1].seq, more}})));
    executor->rollback();
    CHECK(executor->capacity().free_units == free);
    for (const Told& told : sequences) CHECK(executor->length(told.seq) == 10);
    tell(combination, *executor, sequences, 9, 3);
    close_all(*executor, sequences);
  });
}

TEST_CASE("a cache too small for a step says so and changes nothing") {
  for_each_retaining([](const Combination& combination) {
    gpt2ie::Limits limits = limits_for(2, 64);
    limits.max_length = 30;
    limits.cache_units = 2;
    const auto executor = combination.make(limits, 1);
    std::vector<Told> a = {{open(*executor), {}}}, b = {{open(*executor), {}}};
    tell(combination, *executor, a, 14, 1);
    const int free = executor->capacity().free_units;
    // Two slots of 30 tokens, or two pages of 16: 31 tokens fit in neither, with a second sequence or without.
    const Tokens much = some_tokens(17, 2);
    CHECK_FALSE(executor->reserve(plan(*executor, {{a[0].seq, much}})));
    CHECK_FALSE(executor->reserve(plan(*executor, {{b[0].seq, some_tokens(5, 3)}, {a[0].seq, much}})));
    CHECK(executor->capacity().free_units == free);
    CHECK(executor->length(a[0].seq) == 14);
    CHECK(executor->length(b[0].seq) == 0);
    tell(combination, *executor, a, 2, 4);
    tell(combination, *executor, b, 13, 5);
    close_all(*executor, {a[0], b[0]});
  });
}

TEST_CASE("a cache with every unit taken gives no room for one token more") {
  for_each_retaining([](const Combination& combination) {
    gpt2ie::Limits limits = limits_for(1, 64);
    limits.max_length = 32;
    const auto executor = combination.make(limits, 1);
    std::vector<Told> told = {{open(*executor), {}}};
    tell(combination, *executor, told, 32, 1);
    CHECK_FALSE(executor->reserve(plan(*executor, {{told[0].seq, some_tokens(1)}})));
    CHECK_FALSE(executor->open().has_value());
    executor->truncate(told[0].seq, 31);
    told[0].tokens.resize(31);
    tell(combination, *executor, told, 1, 2);
    close_all(*executor, told);
  });
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// Every attention policy over every storage against attention in float64. Included by one source file for each
/// backend.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

#include "support/attention_oracle.hpp"
#include "support/tolerance.hpp"
#include "support/type_name.hpp"

namespace gpt2ie_test {

/// A policy over a storage.
struct Solver {
  std::string name, element;
  bool retains;
  std::function<std::vector<float>(const AttentionProblem&, int threads)> solve;
};

/// Every combination on the backend of this program.
const std::vector<Solver>& solvers();

template <class B, class... Policies, class... Storages>
std::vector<Solver> make_solvers(gpt2ie::type_list<Policies...> /*policies*/, gpt2ie::type_list<Storages...> storages) {
  std::vector<Solver> solvers;
  const auto add = [&]<class Policy, class Storage>(std::type_identity<std::pair<Policy, Storage>> /*types*/) {
    if constexpr (gpt2ie::Reads<Policy, typename Storage::element>) {
      solvers.push_back({type_name<Policy>() + " over " + type_name<Storage>(), type_name<typename Storage::element>(),
                         Storage::retains, solve_attention<B, Policy, Storage>});
    }
  };
  const auto with = [&]<class Policy, class... Ss>(std::type_identity<Policy> /*policy*/, gpt2ie::type_list<Ss...>) {
    (add(std::type_identity<std::pair<Policy, Ss>>{}), ...);
  };
  (with(std::type_identity<Policies>{}, storages), ...);
  return solvers;
}

inline AttentionProblem as_stored(const std::string& element, const AttentionProblem& problem) {
  if (element == "bf16") return as_stored<gpt2ie::bf16>(problem);
  if (element == "f16") return as_stored<gpt2ie::f16>(problem);
  if (element == "int8") return as_stored<gpt2ie::int8>(problem);
  return problem;
}

/// Holds every solver against the oracle on what its cache keeps, to float's tolerance, and on the problem itself, to
/// the tolerance of its element. A storage that does not retain is given only problems that begin at 0.
inline void check_attention(const AttentionProblem& problem) {
  bool chunked = false;
  for (const AttentionProblem::Run& run : problem.runs) chunked = chunked || run.first > 0;
  const std::vector<double> exact = attention_oracle(problem);
  for (const std::string kind : {"float", "bf16", "f16", "int8"}) {
    const std::vector<double> stored = kind == "float" ? exact : attention_oracle(as_stored(kind, problem));
    for (const Solver& solver : solvers()) {
      if (solver.element != kind || (chunked && !solver.retains)) continue;
      INFO(solver.name);
      const std::vector<float> found = solver.solve(problem, 1);
      CHECK(within(std::span<const float>(found), std::span<const double>(stored), attention_tolerance("float")));
      CHECK(within(std::span<const float>(found), std::span<const double>(exact), attention_tolerance(kind)));
    }
  }
}

TEST_CASE("attention equals float64 for prompts of many lengths and heads of many sizes") {
  for (const int head_dim : {1, 20, 64, 80, 128, 256}) {
    for (const int length : {1, 63, 64, 65, 127}) {
      CAPTURE(head_dim);
      CAPTURE(length);
      check_attention(random_attention(2, head_dim, {{0, length}}, static_cast<std::uint64_t>(head_dim + length)));
    }
  }
}

TEST_CASE("attention equals float64 for a prompt of 500 tokens") {
  for (const int head_dim : {1, 20, 64, 80, 128, 256}) {
    CAPTURE(head_dim);
    check_attention(random_attention(1, head_dim, {{0, 500}}, 7));
  }
}

TEST_CASE("attention equals float64 for ragged runs, whole, in chunks and one token long") {
  for (const int head_dim : {1, 20, 64, 80, 128, 256}) {
    CAPTURE(head_dim);
    check_attention(random_attention(3, head_dim, {{0, 1}, {0, 65}, {0, 5}, {0, 130}}, 11));
    check_attention(random_attention(3, head_dim, {{0, 1}, {37, 5}, {63, 1}, {64, 64}, {100, 1}, {0, 9}}, 13));
    check_attention(random_attention(2, head_dim, {{60, 70}}, 17));
  }
}

TEST_CASE("attention has the same bits on two threads") {
  const AttentionProblem problem = random_attention(3, 64, {{0, 1}, {0, 165}, {0, 5}}, 19);
  for (const Solver& solver : solvers()) {
    INFO(solver.name);
    CHECK(same_bits(solver.solve(problem, 2), solver.solve(problem, 1)));
  }
}

TEST_CASE("N-1: no finite score stands for a masked key") {
  AttentionProblem problem{.n_head = 1, .head_dim = 1};
  problem.q = {-20000, 0};
  problem.runs.push_back({0, 2, {1, 0}, {1, 100}});
  for (const Solver& solver : solvers()) {
    INFO(solver.name);
    const std::vector<float> out = solver.solve(problem, 1);
    CHECK(out[0] == 1.0f);
    CHECK(out[1] == doctest::Approx(50.5).epsilon(1e-6));
  }
}

TEST_CASE("N-3: rows whose scores are all near -300 are softmax like any other") {
  for (const int head_dim : {64, 80}) {
    // 88 rows that end a context of 448. q is 1 in every element and k a multiple of 1/64 near -300 / head_dim, so that
    // the scores are exact in float: near -300 its steps are 3e-5, which would hide what is looked for.
    AttentionProblem problem = random_attention(1, head_dim, {{360, 88}}, 23);
    problem.scale = 1;
    for (float& q : problem.q) q = 1;
    for (float& k : problem.runs[0].k) k = std::round((k * 0.2f - 300.0f / static_cast<float>(head_dim)) * 64) / 64;
    CAPTURE(head_dim);
    const std::vector<double> exact = attention_oracle(problem);
    for (const Solver& solver : solvers()) {
      if (solver.element != "float" || !solver.retains) continue;
      INFO(solver.name);
      CHECK(within(std::span<const float>(solver.solve(problem, 1)), std::span<const double>(exact), 1e-5));
    }
  }
}

TEST_CASE("N-4: keys that a row does not see weigh nothing, however large they are") {
  // Row r of a run sees r + 1 keys; all keys from the 40th on would win every softmax by far.
  AttentionProblem problem = random_attention(2, 64, {{0, 100}}, 29);
  const auto embd = static_cast<std::size_t>(problem.embd());
  for (std::size_t i = 40 * embd; i < problem.runs[0].k.size(); ++i) {
    problem.runs[0].k[i] = 1e4f;
    problem.runs[0].v[i] = 1e4f;
  }
  for (float& q : problem.q) q = std::abs(q);
  AttentionProblem seen = problem;
  seen.runs[0].count = 40;
  seen.runs[0].k.resize(40 * embd);
  seen.runs[0].v.resize(40 * embd);
  seen.q.resize(40 * embd);
  const std::vector<double> exact = attention_oracle(seen);
  for (const Solver& solver : solvers()) {
    INFO(solver.name);
    const std::vector<float> found = solver.solve(problem, 1);
    CHECK(
        within(std::span(found).first(40 * embd), std::span<const double>(exact), attention_tolerance(solver.element)));
  }
}

}  // namespace gpt2ie_test

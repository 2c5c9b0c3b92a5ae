// SPDX-License-Identifier: MIT
/// The same answer over pages: alone, among others, in chunks, preempted, and from shared prefixes.
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/element.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "contract/schedule_trials.hpp"
#include "support/test_seed.hpp"

namespace gpt2ie_test {
namespace {

namespace kv = gpt2ie::kv;

struct ConstantHash {
  gpt2ie::Hash128 operator()(const gpt2ie::PageKey& /*key*/) const { return {3, 4}; }
};

using Executor = ScheduleTrial<kv::Paged<float, 16>>::Executor;
using Tokens = std::vector<gpt2ie::Token>;

/// The logits of a sequence's next token, over what the book holds of it.
std::vector<float> run_last(Executor& executor, gpt2ie::SeqId seq, const Tokens& tokens) {
  const int first = executor.book().length(seq), count = static_cast<int>(tokens.size()) - first;
  gpt2ie::Step step;
  step.runs.push_back({.seq = seq, .first = first, .count = count});
  for (int i = 0; i < count; ++i) {
    step.tokens.push_back(tokens[static_cast<std::size_t>(first + i)]);
    step.positions.push_back(first + i);
  }
  step.logit_rows = {count - 1};
  REQUIRE(executor.book().reserve(step.runs));
  const std::span<const float> logits = executor.run(step);
  std::vector<float> copy(logits.begin(), logits.end());
  executor.book().commit(step.runs, step.tokens);
  return copy;
}

/// The same with nothing cached.
std::vector<float> run_anew(const Tokens& tokens) {
  static Executor executor(gpt2ie::backend::SimdCpu<float>(1), tales_weights(), {.max_rows = 64, .max_length = 64});
  const gpt2ie::SeqId seq = executor.book().open({}, 0)->seq;
  std::vector<float> logits = run_last(executor, seq, tokens);
  executor.book().close(seq);
  return logits;
}

}  // namespace

TEST_CASE("known requests are answered alone as a generator answers them") {
  Tales tales = make_tales();
  for (const KnownRequest& request : known_requests()) {
    CHECK(known_choice(tales.generate(request.prompt, request.options)) == request.choices[0]);
  }
}

TEST_CASE("over pages each request gets the tokens and log-probabilities that it gets alone") {
  const unsigned seed = test_seed();
  const ScheduleSeen one = try_schedules<kv::Paged<float, 16>>(seed, 1, 400);
  CHECK(one.answers > 5000);
  CHECK(one.preemptions > 500);
  CHECK(one.prefix_hits > 5000);
  CHECK(one.forks > 500);
  CHECK(one.scored > 1000);
  const ScheduleSeen two = try_schedules<kv::Paged<float, 16>>(seed + 1, 2, 60);
  CHECK(two.preemptions > 100);
}

TEST_CASE_TEMPLATE("over pages of half the bytes and of a quarter too", T, gpt2ie::bf16, gpt2ie::f16, gpt2ie::int8) {
  REQUIRE_FALSE(known_requests<T>()[3].choices == known_requests<float>()[3].choices);
  const unsigned seed = test_seed();
  const ScheduleSeen one = try_schedules<kv::Paged<T, 16>>(seed, 1, 100);
  CHECK(one.answers > 1000);
  CHECK(one.preemptions > 100);
  CHECK(one.prefix_hits > 1000);
  CHECK(one.forks > 100);
  CHECK(one.scored > 200);
  CHECK(try_schedules<kv::Paged<T, 16>>(seed + 1, 2, 20).answers > 200);
}

TEST_CASE("K-3: with all hashes equal each request still gets what it gets alone, from shared pages") {
  const ScheduleSeen seen = try_schedules<kv::Paged<float, 16, ConstantHash>>(test_seed(), 1, 40);
  CHECK(seen.prefix_hits > 500);
  CHECK(seen.answers > 500);
}

TEST_CASE("K-13: four beams that fork and end as a search reorders them have the logits of sequences run anew") {
  Executor executor(gpt2ie::backend::SimdCpu<float>(1), tales_weights(),
                    {.max_sequences = 8, .max_rows = 64, .cache_units = 24, .max_length = 64});
  std::mt19937 random(test_seed());
  struct Beam {
    gpt2ie::SeqId seq;
    Tokens tokens;
  };
  const Tokens& text = fairytale_1m_continuations[3].tokens;
  std::vector<Beam> beams = {{executor.book().open({}, 0)->seq, {text.begin(), text.begin() + 11}}};
  REQUIRE(run_last(executor, beams[0].seq, beams[0].tokens) == run_anew(beams[0].tokens));
  for (int i = 1; i < 4; ++i) beams.push_back({*executor.book().fork(beams[0].seq), beams[0].tokens});
  for (int step = 0; step < 24; ++step) {
    // Each of the next beams goes on from any of these; what nobody goes on from ends.
    std::vector<Beam> next;
    for (int i = 0; i < 4; ++i) {
      const Beam& parent = beams[random() % beams.size()];
      next.push_back({*executor.book().fork(parent.seq), parent.tokens});
      next.back().tokens.push_back(static_cast<gpt2ie::Token>(random() % 4096));
    }
    for (const Beam& beam : beams) executor.book().close(beam.seq);
    beams = std::move(next);
    for (const Beam& beam : beams) REQUIRE(run_last(executor, beam.seq, beam.tokens) == run_anew(beam.tokens));
  }
  for (const Beam& beam : beams) executor.book().close(beam.seq);
  CHECK(executor.book().capacity().free_units == 24);
}

}  // namespace gpt2ie_test

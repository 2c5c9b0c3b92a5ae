// SPDX-License-Identifier: MIT
/// Known requests to engines of many settings, submitted while others run, end and are cancelled: the answers are, to
/// the bit, those that each gets alone.
#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/engine.hpp>

#include "contract/known_answers.hpp"
#include "support/test_seed.hpp"
#include "unit/engine/tales_engine.hpp"

namespace gpt2ie_test {
namespace {

using Engine = gpt2ie::Engine<gpt2ie::Scheduler<gpt2ie::slots::Continuous<17>>>;

class EngineTrial {
 public:
  explicit EngineTrial(unsigned seed) : random_(seed) {}

  /// Submits `requests` known requests; what the engine counted.
  gpt2ie::EngineStats run(int chunk, int units, int threads, int requests) {
    TalesEngine<Engine> engine({.limits = {.max_rows = 96,
                                           .max_logit_rows = 32,
                                           .cache_units = units,
                                           .max_length = longest_known,
                                           .tokens_per_step = chunk + (draw(2) == 0 ? 0 : 17)},
                                .max_preemptions = draw(4),
                                .stall_factor = draw(2) == 0 ? 0.0 : 2.0},
                               threads);
    for (int i = 0; i < requests; ++i) {
      submit(engine);
      if (draw(6) == 0) running_[static_cast<std::size_t>(draw(static_cast<int>(running_.size())))].handle.cancel();
      // A few at a time, or all at once.
      if (draw(8) == 0) settle(static_cast<std::size_t>(draw(20)));
    }
    settle(0);
    return engine->stats();
  }

 private:
  struct Running {
    gpt2ie::Handle handle;
    const KnownRequest* known;
  };

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void submit(TalesEngine<Engine>& engine) {
    const auto& all = known_requests();
    const KnownRequest& known = all[static_cast<std::size_t>(draw(static_cast<int>(all.size())))];
    gpt2ie::Request request = request_of(known);
    request.prompt_logprobs = draw(4) == 0;
    request.priority = draw(4) == 0 ? draw(3) - 1 : 0;
    if (draw(5) == 0) request.cache_salt = "another";
    running_.push_back({engine.submit(std::move(request)), &known});
  }

  /// Reads the ends of all but so many.
  void settle(std::size_t left) {
    while (running_.size() > left) {
      Running running = std::move(running_.front());
      running_.erase(running_.begin());
      const gpt2ie::Completion completion = running.handle.result();
      bool cancelled = false;
      for (std::size_t i = 0; i < completion.choices.size(); ++i) {
        const gpt2ie::GenerateResult& choice = completion.choices[i];
        if (choice.finish_reason != gpt2ie::FinishReason::cancelled) continue;
        cancelled = true;
        // As far as it came.
        const std::vector<gpt2ie::Token>& whole = running.known->choices[i].tokens;
        REQUIRE(choice.tokens.size() <= whole.size());
        REQUIRE(std::equal(choice.tokens.begin(), choice.tokens.end(), whole.begin()));
      }
      if (!cancelled) REQUIRE(is_known(completion, *running.known));
    }
  }

  std::mt19937 random_;
  std::vector<Running> running_;
};

}  // namespace

TEST_CASE("an engine answers each request as if it were alone") {
  unsigned seed = test_seed();
  gpt2ie::EngineStats sum;
  for (const int chunk : {1, 7, 64}) {
    for (const int units : {3, 5, 8, 60}) {
      for (const int threads : {1, 2}) {
        CAPTURE(chunk);
        CAPTURE(units);
        CAPTURE(threads);
        CAPTURE(seed);
        const gpt2ie::EngineStats stats = EngineTrial(seed++).run(chunk, units, threads, threads == 1 ? 300 : 50);
        sum.finished += stats.finished;
        sum.cancelled += stats.cancelled;
        sum.scheduler.preemptions += stats.scheduler.preemptions;
        sum.scheduler.prefix_hits += stats.scheduler.prefix_hits;
        sum.scheduler.forks += stats.scheduler.forks;
        CHECK(stats.failed == 0);
        CHECK(stats.scheduler.prefix_hits > 0);
      }
    }
  }
  MESSAGE(sum.finished, " finished, ", sum.cancelled, " cancelled, ", sum.scheduler.preemptions, " preemptions, ",
          sum.scheduler.prefix_hits, " tokens found in the cache, ", sum.scheduler.forks, " forks");
  CHECK(sum.finished > 3000);
  CHECK(sum.scheduler.preemptions > 50);
  CHECK(sum.scheduler.forks > 100);
}

}  // namespace gpt2ie_test

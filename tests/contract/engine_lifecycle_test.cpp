// SPDX-License-Identifier: MIT
/// What engines of others got wrong about shared prompts, batches, seeds and the ends of requests.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/engine.hpp>

#include "contract/known_answers.hpp"
#include "support/test_seed.hpp"
#include "unit/core/error_code.hpp"
#include "unit/engine/tales_engine.hpp"

namespace gpt2ie_test {
namespace {

using gpt2ie::Completion;
using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::GenerateOptions;
using gpt2ie::Handle;
using gpt2ie::Token;
using Tokens = std::vector<Token>;
using Engine = gpt2ie::Engine<>;
using Checked = TalesEngine<Engine>;

gpt2ie::Limits small_pool(int units, int max_length = 64) {
  return {.max_rows = 64, .max_logit_rows = 32, .cache_units = units, .max_length = max_length};
}

/// `count` tokens of a text; another text for another number.
Tokens text(int count, std::size_t which = 0) {
  const Tokens& tokens = fairytale_1m_continuations[which].tokens;
  REQUIRE(count <= static_cast<int>(tokens.size()));
  return {tokens.begin(), tokens.begin() + count};
}
Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// What a generator, which answers one request at a time, says to it.
KnownChoice alone(const Tokens& prompt, const GenerateOptions& options) {
  return known_choice(make_tales().generate(prompt, options));
}
KnownChoice answer(const Completion& completion, std::size_t choice = 0) {
  return known_choice(completion.choices.at(choice));
}

/// Requests that end by themselves, and requests that are cancelled after so many pieces, or before the first.
class Churn {
 public:
  explicit Churn(unsigned seed) : random_(seed), engine_({.limits = small_pool(14, longest_known)}) {}

  void run(std::uint64_t each) {
    while (engine_->stats().finished < each || engine_->stats().cancelled < each) {
      const gpt2ie::EngineStats stats = engine_->stats();
      submit(stats.cancelled < each && (stats.finished >= each || draw(2) == 0));
      while (running_.size() > 24) read();
    }
    while (!running_.empty()) read();
    CHECK(engine_->stats().failed == 0);
    CHECK(engine_->stats().scheduler.preemptions > 0);
  }

 private:
  struct Running {
    Handle handle;
    const KnownRequest* known;
    int pieces;  // to read before it is cancelled; below 0: it is not
  };

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void submit(bool cancel) {
    const auto& all = known_requests();
    const KnownRequest& known = all[static_cast<std::size_t>(draw(static_cast<int>(all.size())))];
    running_.push_back({engine_.submit(request_of(known)), &known, cancel ? draw(6) : -1});
    if (running_.back().pieces == 0) running_.back().handle.cancel();
  }

  void read() {
    const auto i = static_cast<std::ptrdiff_t>(draw(static_cast<int>(running_.size())));
    Running running = std::move(running_[static_cast<std::size_t>(i)]);
    running_.erase(running_.begin() + i);
    for (int pieces = 0; running.handle.next();) {
      if (++pieces == running.pieces) running.handle.cancel();
    }
    const Completion completion = running.handle.result();
    const bool cancelled = std::any_of(completion.choices.begin(), completion.choices.end(), [](const auto& choice) {
      return choice.finish_reason == FinishReason::cancelled;
    });
    if (!cancelled) REQUIRE(is_known(completion, *running.known));
    if (running.pieces < 0) REQUIRE_FALSE(cancelled);
  }

  std::mt19937 random_;
  Checked engine_;
  std::deque<Running> running_;
};

}  // namespace

TEST_CASE("K-1: two thousand requests that are cancelled and two thousand that end leave every unit free") {
  Churn(test_seed()).run(2000);
}

TEST_CASE("K-4: the same page after two different pages is not shared; chunks change no key") {
  for (const int chunk : {64, 7}) {
    CAPTURE(chunk);
    gpt2ie::Limits limits = small_pool(0);
    limits.tokens_per_step = chunk;
    Checked engine({.limits = limits});
    const Tokens first = text(16, 1) + text(16, 3) + Tokens{5}, second = text(16, 2) + text(16, 3) + Tokens{5};
    const Completion a = engine.ask({.prompt = first, .options = greedy(4)});
    const Completion b = engine.ask({.prompt = second, .options = greedy(4)});
    const Completion c = engine.ask({.prompt = first, .options = greedy(4)});
    CHECK(a.usage.cached_tokens == 0);
    CHECK(b.usage.cached_tokens == 0);
    CHECK(c.usage.cached_tokens == 32);
    CHECK(answer(a) == alone(first, greedy(4)));
    CHECK(answer(b) == alone(second, greedy(4)));
    CHECK(answer(c) == answer(a));
  }
}

TEST_CASE("K-6, K-7: of a prompt that is cached whole, one token is computed again, in its own place") {
  for (const int length : {16, 32}) {
    CAPTURE(length);
    Checked engine({.limits = small_pool(0)});
    const Completion first = engine.ask({.prompt = text(length), .options = greedy(6)});
    const auto prefilled = engine->stats().scheduler.prefilled;
    CHECK(prefilled == static_cast<std::uint64_t>(length));
    const Completion again = engine.ask({.prompt = text(length), .options = greedy(6)});
    CHECK(engine->stats().scheduler.prefilled == prefilled + 1);
    CHECK(again.usage.cached_tokens == static_cast<std::size_t>(length) - 1);
    CHECK(answer(first) == alone(text(length), greedy(6)));
    CHECK(answer(again) == answer(first));
    // What came after the prompt is in the cache too.
    const Tokens longer = text(length) + first.choices[0].tokens;
    CHECK(answer(engine.ask({.prompt = longer, .options = greedy(6)})) == alone(longer, greedy(6)));
  }
}

TEST_CASE("K-9: requests that part in mid-page, and choices that part after the prompt, keep out of each other") {
  Checked engine({.limits = small_pool(0)});
  const Tokens a = text(26) + text(9, 1), b = text(26) + text(9, 2);
  Gate gate(*engine);
  Handle first = engine.submit({.prompt = a, .options = greedy(12)});
  Handle second = engine.submit({.prompt = b, .options = greedy(12)});
  const GenerateOptions drawn{.max_new_tokens = 12, .seed = 9};
  Handle four = engine.submit({.prompt = text(10), .options = drawn, .n = 4});
  gate.open();
  const Completion choices = four.result();
  CHECK(answer(first.result()) == alone(a, greedy(12)));
  CHECK(answer(second.result()) == alone(b, greedy(12)));
  CHECK(engine->stats().scheduler.forks == 3);
  Tales tales = make_tales();
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(answer(choices, i) == answer_alone(tales.executor(), {.prompt = text(10), .options = drawn}, i));
  }
  CHECK(choices.usage.completion_tokens == 48);
}

TEST_CASE("K-10: cached pages that a prompt takes up are not given away as free ones") {
  // Three pages are all there are: two are cached and taken up, the third is needed.
  Checked engine({.limits = small_pool(3)});
  const KnownChoice expected = alone(text(33), greedy(10));
  for (int i = 0; i < 4; ++i) CHECK(answer(engine.ask({.prompt = text(33), .options = greedy(10)})) == expected);
  CHECK(engine->stats().scheduler.prefix_hits == 3 * 32);
  // With another that needs them at the same time one of the two waits.
  const KnownChoice other = alone(text(20, 1), greedy(20));
  Gate gate(*engine);
  Handle a = engine.submit({.prompt = text(20, 1), .options = greedy(20)});
  Handle b = engine.submit({.prompt = text(33), .options = greedy(10)});
  gate.open();
  CHECK(answer(a.result()) == other);
  CHECK(answer(b.result()) == expected);
}

TEST_CASE("K-12: one prompt twice in one batch") {
  Checked engine({.limits = small_pool(0)});
  const GenerateOptions options{.max_new_tokens = 8, .seed = 3};
  Gate gate(*engine);
  Handle a = engine.submit({.prompt = text(35), .options = options});
  Handle b = engine.submit({.prompt = text(35), .options = options});
  gate.open();
  CHECK(answer(a.result()) == alone(text(35), options));
  CHECK(answer(b.result()) == alone(text(35), options));
}

TEST_CASE("K-15: only requests of one salt share") {
  Checked engine({.limits = small_pool(0)});
  const auto cached = [&](const std::string& salt) {
    const Completion completion = engine.ask({.prompt = text(35), .options = greedy(2), .cache_salt = salt});
    CHECK(answer(completion) == alone(text(35), greedy(2)));
    return completion.usage.cached_tokens;
  };
  CHECK(cached("a") == 0);
  CHECK(cached("b") == 0);
  CHECK(cached("") == 0);
  CHECK(cached("a") == 32);
  CHECK(cached("") == 32);
}

TEST_CASE("B-1: in a pool for one request and a half, eight requests get each of their tokens once") {
  std::vector<Tokens> prompts;
  std::vector<KnownChoice> expected;
  for (std::size_t i = 0; i < 8; ++i) {
    prompts.push_back(text(10 + static_cast<int>(i), i % 6));
    expected.push_back(alone(prompts[i], greedy(30)));
  }
  Checked engine({.limits = small_pool(5)});
  Gate gate(*engine);
  std::vector<Handle> handles;
  for (const Tokens& prompt : prompts) handles.push_back(engine.submit({.prompt = prompt, .options = greedy(30)}));
  gate.open();
  for (std::size_t i = 0; i < 8; ++i) {
    Tokens sent;
    std::vector<float> logprobs;
    for (const gpt2ie::Piece& piece : handles[i]) {
      for (const gpt2ie::ScoredToken& token : piece.tokens) {
        sent.push_back(token.token);
        logprobs.push_back(token.logprob.value());
      }
    }
    CHECK(sent == expected[i].tokens);
    CHECK(logprobs == expected[i].logprobs);
    CHECK(answer(handles[i].result()) == expected[i]);
  }
  CHECK(engine->stats().scheduler.preemptions > 0);
}

TEST_CASE("B-4: a request that can never fit is refused with both numbers, and the queue goes on") {
  Checked engine({.limits = small_pool(3)});
  const auto ask = [&] { engine->submit({.prompt = text(30), .options = {.max_new_tokens = 19}}); };
  CHECK(error_code(ask) == errc::no_fit);
  CHECK(error_text(ask).find("48 tokens of prompt and answer") != std::string::npos);
  CHECK(error_text(ask).find("49, 30 of them the prompt") != std::string::npos);
  CHECK(engine->stats().submitted == 0);
  CHECK(engine.ask({.prompt = text(30), .options = greedy(18)}).choices[0].tokens.size() == 18);
}

TEST_CASE("B-6: prompts of 1, 5 and 9 tokens in one batch") {
  Checked engine;
  Gate gate(*engine);
  std::vector<Handle> handles;
  for (const int length : {1, 5, 9}) handles.push_back(engine.submit({.prompt = text(length), .options = greedy(10)}));
  gate.open();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(answer(handles[i].result()) == alone(text(1 + 4 * static_cast<int>(i)), greedy(10)));
  }
}

TEST_CASE("B-7, B-9: a text ends with the context of 1024 tokens; nothing is shifted, and a longer prompt is refused") {
  Checked engine;
  Tokens prompt;
  for (int i = 0; i < 1025; ++i) prompt.push_back(i * 31 % 4096);
  CHECK(error_code([&] { engine->submit({.prompt = prompt, .options = greedy(1)}); }) == errc::no_fit);
  prompt.pop_back();
  const Completion full = engine.ask({.prompt = prompt, .options = greedy(1)});
  CHECK(full.choices[0].tokens.empty());
  CHECK(full.choices[0].finish_reason == FinishReason::length);
  prompt.resize(1020);
  const Completion four = engine.ask({.prompt = prompt, .options = greedy(10)});
  CHECK(four.choices[0].tokens.size() == 4);
  CHECK(four.choices[0].finish_reason == FinishReason::length);
  CHECK(answer(four) == alone(prompt, greedy(10)));
}

TEST_CASE("B-10: an empty text begins a new one, no tokens are refused, and the engine goes on") {
  Checked engine;
  const Completion empty = engine.ask({.prompt = "", .options = greedy(5)});
  CHECK(empty.usage.prompt_tokens == 1);
  CHECK(answer(empty) == alone({4095}, greedy(5)));
  CHECK(error_code([&] { engine->submit({.prompt = Tokens{}, .options = greedy(5)}); }) == errc::bad_request);
  CHECK(answer(engine.ask({.prompt = text(3), .options = greedy(5)})) == alone(text(3), greedy(5)));
}

TEST_CASE("B-12: no new tokens with the prompt scored, without, and one new token") {
  Checked engine;
  const std::vector<float> scores = known_requests()[6].prompt_logprobs;
  const Tokens prompt = known_requests()[6].prompt;
  REQUIRE(prompt.size() == 39);
  for (const int n : {1, 3}) {
    for (const int length : {39, 2, 1}) {
      for (const int count : {0, 1}) {
        for (const bool scored : {true, false}) {
          CAPTURE(n);
          CAPTURE(length);
          CAPTURE(count);
          CAPTURE(scored);
          Handle handle = engine.submit({.prompt = Tokens(prompt.begin(), prompt.begin() + length),
                                         .options = greedy(count),
                                         .n = n,
                                         .prompt_logprobs = scored});
          std::vector<int> ends(static_cast<std::size_t>(n));
          for (const gpt2ie::Piece& piece : handle) {
            ends[static_cast<std::size_t>(piece.choice)] += piece.finish_reason == FinishReason::length;
          }
          CHECK(ends == std::vector<int>(static_cast<std::size_t>(n), 1));
          const Completion completion = handle.result();
          REQUIRE(completion.choices.size() == static_cast<std::size_t>(n));
          for (const gpt2ie::GenerateResult& choice : completion.choices) {
            CHECK(choice.tokens.size() == static_cast<std::size_t>(count));
            CHECK(choice.finish_reason == FinishReason::length);
          }
          REQUIRE(completion.prompt.size() == (scored ? static_cast<std::size_t>(length) : 0u));
          for (std::size_t i = 1; i < completion.prompt.size(); ++i) {
            CHECK(completion.prompt[i].logprob == scores[i - 1]);
          }
        }
      }
    }
  }
}

TEST_CASE("P-10: a seeded request draws the same alone, beside others, after waiting and after giving way") {
  const GenerateOptions options{.max_new_tokens = 24, .seed = 42, .ignore_eos = true};
  const KnownChoice expected = alone(text(12), options);
  Checked roomy({.limits = small_pool(0)});
  CHECK(answer(roomy.ask({.prompt = text(12), .options = options})) == expected);
  // The last in order of more than there are slots, in a pool for two.
  Checked tight({.limits = small_pool(6)});
  for (Checked* engine : {&roomy, &tight}) {
    Gate gate(**engine);
    std::vector<Handle> others;
    for (std::size_t i = 0; i < 12; ++i) {
      GenerateOptions other{.max_new_tokens = 24, .ignore_eos = true};
      if (i % 2 == 0) other.seed = i;
      others.push_back(engine->submit({.prompt = text(9, i % 6), .options = other}));
    }
    Handle last = engine->submit({.prompt = text(12), .options = options, .priority = -1});
    gate.open();
    CHECK(answer(last.result()) == expected);
    for (Handle& other : others) CHECK(other.result().choices[0].tokens.size() == 24);
  }
  CHECK(tight->stats().scheduler.preemptions > 0);
}

TEST_CASE("P-12: two requests without a seed say different things, and tell their seeds") {
  Checked engine;
  const GenerateOptions options{.max_new_tokens = 24, .ignore_eos = true};
  Handle a = engine.submit({.prompt = text(4), .options = options}),
         b = engine.submit({.prompt = text(4), .options = options});
  const Completion first = a.result(), second = b.result();
  CHECK(first.choices[0].tokens != second.choices[0].tokens);
  GenerateOptions again = options;
  again.seed = first.choices[0].seed;
  CHECK(answer(engine.ask({.prompt = text(4), .options = again})) == answer(first));
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// What an engine promises to who asks: the ways to read an answer, what is refused, and how requests and engines end.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/engine.hpp>
#include <gpt2ie/kv_cache/no_cache.hpp>

#include "unit/core/error_code.hpp"
#include "unit/engine/tales_engine.hpp"

namespace {

using namespace std::chrono_literals;
using gpt2ie::Completion;
using gpt2ie::EngineOptions;
using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::Handle;
using gpt2ie::Piece;
using gpt2ie::Request;
using gpt2ie::Token;
using gpt2ie_test::error_code;
using gpt2ie_test::error_text;
using gpt2ie_test::Gate;
using gpt2ie_test::greedy;
using gpt2ie_test::make_tales;
using gpt2ie_test::opening;
using gpt2ie_test::submit;
using Tokens = std::vector<Token>;
using Engine = gpt2ie::Engine<>;
using Checked = gpt2ie_test::TalesEngine<Engine>;

std::unique_ptr<Engine> make_engine(const EngineOptions& options = {}) {
  return std::make_unique<Engine>(gpt2ie_test::tales_weights(), gpt2ie_test::tales_tokenizer(), options,
                                  gpt2ie::backend::SimdCpu<float>(1));
}

/// What some reader of pieces has put together.
struct Read {
  std::string text;
  Tokens tokens;
  std::vector<float> logprobs;
  FinishReason finish_reason = FinishReason::none;

  void add(const Piece& piece) {
    text += piece.text;
    for (const gpt2ie::ScoredToken& token : piece.tokens) {
      tokens.push_back(token.token);
      logprobs.push_back(token.logprob.value());
    }
    finish_reason = piece.finish_reason;
  }
  friend bool operator==(const Read&, const Read&) = default;
};

/// Its own handle for a callback, which may be called before submit has returned.
class OwnHandle {
 public:
  void set(const Handle& handle) { handle_.set_value(handle); }
  Handle get() const { return future_.get(); }

 private:
  std::promise<Handle> handle_;
  std::shared_future<Handle> future_ = handle_.get_future().share();
};

}  // namespace

TEST_CASE("next, poll, notify, a range, a callback and the result tell the same") {
  Checked engine;
  const Request request{.prompt = opening,
                        .options = {.max_new_tokens = 25, .seed = 5, .stop = {"tower"}, .top_logprobs = 3}};
  const gpt2ie::GenerateResult alone = make_tales().generate(opening, request.options);
  const Read expected{alone.text, alone.tokens, alone.token_logprobs, alone.finish_reason};

  Read by_next, by_range, by_poll, by_notify, by_callback;
  Handle handle = engine.submit(request);
  while (const std::optional<Piece> piece = handle.next()) by_next.add(*piece);
  CHECK(by_next == expected);

  for (const Piece& piece : engine.submit(request)) by_range.add(piece);
  CHECK(by_range == expected);

  Handle polled = engine.submit(request);
  Piece piece;
  for (auto state = polled.poll(piece); state != Handle::Poll::over; state = polled.poll(piece)) {
    if (state == Handle::Poll::ready) by_poll.add(piece);
  }
  CHECK(by_poll == expected);

  Handle told = engine.submit(request);
  std::promise<void> over;
  std::function<void()> pump = [&] {
    Piece some;
    auto state = told.poll(some);
    for (; state == Handle::Poll::ready; state = told.poll(some)) by_notify.add(some);
    state == Handle::Poll::over ? over.set_value() : told.notify(pump);
  };
  told.notify(pump);
  over.get_future().wait();
  CHECK(by_notify == expected);

  Request with_callback = request;
  with_callback.on_piece = [&](const Piece& some) { by_callback.add(some); };
  const Completion completion = engine.ask(with_callback);
  CHECK(by_callback == expected);
  REQUIRE(completion.choices.size() == 1);
  CHECK(completion.choices[0].text == alone.text);
  CHECK(completion.choices[0].tokens == alone.tokens);
  CHECK(completion.choices[0].stop == alone.stop);
  CHECK(completion.choices[0].seed == 5);
  REQUIRE(completion.choices[0].top_logprobs.size() == alone.top_logprobs.size());
  CHECK(completion.choices[0].top_logprobs[2][1].logprob == alone.top_logprobs[2][1].logprob);
  CHECK(completion.usage.prompt_tokens == alone.prompt_tokens);
  CHECK(completion.usage.completion_tokens == alone.tokens.size());
}

TEST_CASE("a stop string across pieces never shows, and what was held back comes at the end") {
  Checked engine;
  const std::string whole = make_tales().generate(opening, greedy(20)).text;
  const std::string stop = whole.substr(whole.size() / 2, 9);
  gpt2ie::GenerateOptions options = greedy(20);
  options.stop = {stop};
  Read read;
  for (const Piece& piece : engine.submit({.prompt = opening, .options = options})) {
    read.add(piece);
    CHECK(read.text.find(stop) == std::string::npos);
    CHECK(whole.starts_with(read.text));
  }
  CHECK(read.text == whole.substr(0, whole.find(stop)));
  CHECK(read.finish_reason == FinishReason::stop);
}

TEST_CASE("the prompt is told with its log-probabilities and alternatives") {
  Checked engine;
  gpt2ie::GenerateOptions options = greedy(1);
  options.top_logprobs = 2;
  const Completion completion = engine.ask({.prompt = opening, .options = options, .prompt_logprobs = true});
  const Tokens prompt = gpt2ie_test::tales_tokenizer()->encode(opening);
  REQUIRE(completion.prompt.size() == prompt.size());
  CHECK_FALSE(completion.prompt[0].logprob.has_value());
  for (std::size_t i = 1; i < prompt.size(); ++i) {
    CHECK(completion.prompt[i].token == prompt[i]);
    REQUIRE(completion.prompt[i].top.size() == 2);
    CHECK(completion.prompt[i].top[0].logprob >= completion.prompt[i].logprob);
  }
}

TEST_CASE("statistics add up") {
  Checked engine;
  CHECK(engine->stats().slots == 8);
  for (int i = 0; i < 3; ++i) engine.ask({.prompt = opening, .options = greedy(15), .n = 2});
  const gpt2ie::EngineStats stats = engine->stats();
  CHECK(stats.submitted == 3);
  CHECK(stats.finished == 3);
  CHECK(stats.generated == 90);
  CHECK(stats.first_token.count() == 6);
  CHECK(stats.between_tokens.count() == 84);
  CHECK(stats.step.count() == stats.scheduler.steps);
  CHECK(stats.cached_units > 0);
  CHECK_FALSE(stats.dead);
}

TEST_CASE("a queue that is full is an answer, not an error") {
  Checked engine({.max_queued = 3});
  Gate gate(*engine);
  while (engine->stats().queued > 0) std::this_thread::yield();
  std::vector<Handle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(engine.submit({.prompt = opening, .options = greedy(2)}));
  const auto refused = engine->submit({.prompt = opening, .options = greedy(2)});
  REQUIRE(std::holds_alternative<gpt2ie::QueueFull>(refused));
  CHECK(std::get<gpt2ie::QueueFull>(refused).queued == 3);
  CHECK(std::get<gpt2ie::QueueFull>(refused).max_queued == 3);
  CHECK(engine->stats().refused == 1);
  // Who hears of an end finds its place free.
  handles[1].cancel();
  gate.open();
  CHECK(handles[1].result().choices[0].finish_reason == FinishReason::cancelled);
  for (Handle& handle : handles) static_cast<void>(handle.result());
  for (int i = 0; i < 20; ++i) engine.ask({.prompt = opening, .options = greedy(0)});
}

TEST_CASE("higher priority starts first") {
  // Room for one request at a time.
  Checked engine({.limits = {.max_rows = 32, .cache_units = 2, .max_length = 32}});
  Gate gate(*engine);
  std::vector<int> order;
  std::vector<Handle> handles;
  for (const int priority : {0, -1, 2, 0, 1}) {
    const int number = static_cast<int>(handles.size());
    handles.push_back(engine.submit({.prompt = Tokens(17, number),
                                     .options = greedy(3),
                                     .priority = priority,
                                     .on_piece = [&order, number](const Piece& piece) {
                                       if (piece.finish_reason == FinishReason::length) order.push_back(number);
                                     }}));
  }
  gate.open();
  for (Handle& handle : handles) static_cast<void>(handle.result());
  CHECK(order == std::vector<int>{2, 4, 0, 3, 1});
}

TEST_CASE("a request that takes too long ends with what there was, queued or running") {
  Checked engine;
  const Completion late = engine.ask({.prompt = opening, .options = greedy(900), .timeout = 30ms});
  CHECK(late.choices[0].finish_reason == FinishReason::timeout);
  const auto whole = make_tales().generate(opening, greedy(900));
  CHECK(late.choices[0].tokens.size() < 900);
  CHECK(whole.text.starts_with(late.choices[0].text));
  const Completion at_once = engine.ask({.prompt = opening, .options = greedy(5), .timeout = 0ms});
  CHECK(at_once.choices[0].finish_reason == FinishReason::timeout);
  CHECK(at_once.choices[0].tokens.empty());
  CHECK(engine.ask({.prompt = opening, .options = greedy(5), .timeout = -1ms}).choices[0].tokens.empty());
  CHECK(engine->stats().timed_out == 3);
  const auto longest = std::chrono::milliseconds::max();
  CHECK(engine.ask({.prompt = opening, .options = greedy(5), .timeout = longest}).choices[0].tokens.size() == 5);
  CHECK(engine->drain(longest));
}

TEST_CASE("a callback may cancel its own request, submit others, read statistics and begin to drain") {
  Checked engine;
  OwnHandle own;
  int pieces = 0;
  Read read;
  own.set(engine.submit({.prompt = opening, .options = greedy(500), .on_piece = [&](const Piece& piece) {
                           read.add(piece);
                           if (++pieces == 3) own.get().cancel();
                         }}));
  const Completion cancelled = own.get().result();
  CHECK(cancelled.choices[0].finish_reason == FinishReason::cancelled);
  CHECK(cancelled.choices[0].tokens.size() == 3);
  CHECK(read.tokens == cancelled.choices[0].tokens);
  CHECK(read.text == cancelled.choices[0].text);
  CHECK(read.finish_reason == FinishReason::cancelled);
  own.get().cancel();  // once more is nothing

  std::optional<Handle> next;
  std::atomic<bool> drained = true;
  engine.ask({.prompt = opening, .options = greedy(1), .on_piece = [&](const Piece& piece) {
                if (piece.finish_reason == FinishReason::none) return;
                next = submit(*engine, {.prompt = opening, .options = greedy(4)});
                drained = engine->drain(1h) || !engine->stats().draining;
              }});
  CHECK_FALSE(drained);
  CHECK(next->result().choices[0].tokens.size() == 4);
  CHECK(error_code([&] { static_cast<void>(engine->submit({.prompt = opening})); }) == errc::unavailable);
}

TEST_CASE("drain waits for what there is, and after its patience cancels the rest") {
  Checked patient;
  Handle handle = patient.submit({.prompt = opening, .options = greedy(30)});
  CHECK(patient->drain(1min));
  CHECK(handle.result().choices[0].tokens.size() == 30);
  CHECK(patient->stats().draining);
  CHECK(error_text([&] { static_cast<void>(patient->submit({.prompt = opening})); }).find("draining") !=
        std::string::npos);

  Checked hasty;
  std::vector<Handle> handles;
  for (int i = 0; i < 12; ++i) handles.push_back(hasty.submit({.prompt = opening, .options = greedy(900)}));
  CHECK_FALSE(hasty->drain(5ms));
  for (Handle& each : handles) CHECK(each.result().choices[0].finish_reason == FinishReason::cancelled);
  CHECK(hasty->drain(0ms));
}

TEST_CASE("X-4: a busy engine that is destroyed ends its requests and calls nobody after") {
  std::vector<Handle> handles;
  std::atomic<int> calls{0};
  std::atomic<bool> alive = true, called_after = false;
  std::optional<errc> refused;
  {
    auto engine = make_engine();
    Engine& busy = *engine;
    for (int i = 0; i < 20; ++i) {
      Request request{.prompt = opening, .options = greedy(900), .n = 1 + i % 3};
      if (i % 2 == 0) {
        request.on_piece = [&](const Piece& piece) {
          ++calls;
          if (!alive) called_after = true;
          if (piece.finish_reason != FinishReason::cancelled) return;
          // There is nobody left to answer it.
          refused = error_code([&busy] { static_cast<void>(busy.submit({.prompt = opening})); });
        };
      }
      handles.push_back(submit(*engine, std::move(request)));
    }
    while (calls < 50) std::this_thread::yield();
    engine.reset();
    alive = false;
  }
  const int before = calls;
  for (Handle& handle : handles) {
    for (const auto& choice : handle.result().choices) CHECK(choice.finish_reason == FinishReason::cancelled);
    CHECK(handle.over());
    handle.cancel();
  }
  // A handle outlives its engine, pieces and all.
  Piece piece;
  CHECK(handles[1].poll(piece) != Handle::Poll::pending);
  CHECK(calls == before);
  CHECK_FALSE(called_after);
  CHECK(refused == errc::unavailable);
}

TEST_CASE("requests out of range are refused before anything is queued") {
  Checked engine;
  const auto code = [&](Request request) {
    return error_code([&] { static_cast<void>(engine->submit(std::move(request))); });
  };
  CHECK(code({.prompt = opening, .n = 0}) == errc::bad_request);
  CHECK(code({.prompt = opening, .n = 129}) == errc::bad_request);
  CHECK(code({.prompt = Tokens{4096}}) == errc::bad_request);
  CHECK(code({.prompt = opening, .options = {.max_new_tokens = -1}}) == errc::bad_request);
  CHECK(code({.prompt = opening, .options = {.temperature = -1.0f}}) == errc::bad_request);
  CHECK(code({.prompt = opening, .options = {.stop = {""}}}) == errc::bad_request);
  CHECK(engine->stats().submitted == 0);
  CHECK(engine.ask({.prompt = opening, .options = greedy(1), .n = 128}).choices.size() == 128);
}

TEST_CASE("settings out of range are refused") {
  const auto code = [](const EngineOptions& options) { return error_code([&] { make_engine(options); }); };
  CHECK(code({.max_queued = 0}) == errc::bad_request);
  CHECK(code({.max_preemptions = -1}) == errc::bad_request);
  CHECK(code({.stall_factor = 1.0}) == errc::bad_request);
  CHECK(code({.stall_factor = -2.0}) == errc::bad_request);
  CHECK(code({.limits = {.max_length = -1}}) == errc::bad_request);
  CHECK(error_code([] { Engine(nullptr, nullptr); }) == errc::bad_request);
  CHECK_FALSE(code({.stall_factor = 0}).has_value());
}

TEST_CASE("limits that a program leaves out keep the engine's defaults, and impossible ones are refused") {
  const auto few_units = make_engine({.limits = {.cache_units = 12}});
  CHECK((*few_units).limits().max_logit_rows == 32);
  for (const gpt2ie::Limits& limits : {gpt2ie::Limits{.max_rows = -5}, gpt2ie::Limits{.max_logit_rows = -5},
                                       gpt2ie::Limits{.max_length = -1}, gpt2ie::Limits{.tokens_per_step = -1}}) {
    CHECK(error_code([&] { make_engine({.limits = limits}); }) == errc::bad_request);
  }
}

TEST_CASE("without a tokenizer requests are in tokens") {
  gpt2ie_test::CheckedEngine<Engine> engine({}, gpt2ie::backend::SimdCpu<float>(1), gpt2ie_test::tales_weights(),
                                            nullptr);
  CHECK(error_code([&] { static_cast<void>(engine->submit({.prompt = opening})); }) == errc::bad_request);
  CHECK(error_code([&] { static_cast<void>(engine->submit({.prompt = Tokens{5}, .options = {.stop = {"x"}}})); }) ==
        errc::bad_request);
  const Completion completion = engine.ask({.prompt = Tokens{3217, 654}, .options = greedy(6)});
  CHECK(completion.choices[0].text.empty());
  CHECK(completion.choices[0].tokens == make_tales().generate(Tokens{3217, 654}, greedy(6)).tokens);
}

TEST_CASE("an engine over a cache that keeps nothing answers one after the other") {
  using NaiveEngine =
      gpt2ie::Engine<gpt2ie::KVCache<gpt2ie::kv::NoCache>, gpt2ie::Scheduler<gpt2ie::slots::Sequential>>;
  gpt2ie_test::TalesEngine<NaiveEngine> engine({.limits = {.max_length = 64}});
  const gpt2ie::GenerateOptions options{.max_new_tokens = 8, .seed = 7};
  std::vector<Handle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(engine.submit({.prompt = opening, .options = options, .n = 2}));
  const Tokens expected = make_tales().generate(opening, options).tokens;
  for (Handle& handle : handles) CHECK(handle.result().choices[0].tokens == expected);
  CHECK(engine.ask({.prompt = Tokens(60, 5), .options = greedy(9)}).choices[0].tokens.size() == 4);
  // All rows of logits of a prompt are of one step here.
  CHECK(engine.ask({.prompt = Tokens(32, 5), .options = greedy(2), .prompt_logprobs = true}).prompt.size() == 32);
  CHECK(error_code([&] {
          static_cast<void>(engine->submit({.prompt = Tokens(33, 5), .options = greedy(2), .prompt_logprobs = true}));
        }) == errc::no_fit);
}

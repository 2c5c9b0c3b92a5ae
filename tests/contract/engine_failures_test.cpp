// SPDX-License-Identifier: MIT
/// what fails in a step fails the requests whose fault it is, or all of them with the cause; nothing waits for
/// ever. And what one step costs, counted in a backend of the test's own.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/engine/engine.hpp>

#include "support/checked_engine.hpp"
#include "support/shared_data.hpp"
#include "unit/core/error_code.hpp"
#include "unit/engine/tales.hpp"

namespace gpt2ie_test {
namespace {

using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie::Handle;
using gpt2ie::Token;
using Tokens = std::vector<Token>;

/// What a trap does and has counted; shared with the test.
struct TrapState {
  std::atomic<int> bad_tokens{0};  // steps that failed for their tokens
  std::atomic<bool> broken{false}, refuses_all{false};
  std::atomic<std::size_t> products{0};
};

/// No text has it.
constexpr Token bad_token = 4000;

/// A processor that counts products, can't stand one token, and breaks on demand.
class Trap : public gpt2ie::backend::SimdCpu<float> {
  using Base = gpt2ie::backend::SimdCpu<float>;

 public:
  explicit Trap(std::shared_ptr<TrapState> state = std::make_shared<TrapState>()) : Base(1), state_(std::move(state)) {}

  void embed(const matrix& wte, const matrix& wpe, const Token* tokens, const int* positions, int rows,
             float* y) const {
    if (state_->broken) throw std::runtime_error("the processor is on fire");
    bool bad = state_->refuses_all;
    for (int row = 0; row < rows; ++row) bad = bad || tokens[row] == bad_token;
    if (bad) {
      ++state_->bad_tokens;
      gpt2ie::fail(errc::bad_request, "tokens that I can stand", "token 4000");
    }
    Base::embed(wte, wpe, tokens, positions, rows, y);
  }
  void linear(const matrix& w, const float* x, int rows, float* y, const gpt2ie::Epilogue& epilogue) const {
    ++state_->products;
    Base::linear(w, x, rows, y, epilogue);
  }

 private:
  std::shared_ptr<TrapState> state_;
};

using Engine = gpt2ie::Engine<Trap, gpt2ie::Scheduler<gpt2ie::slots::Continuous<16>>>;

std::shared_ptr<const gpt2ie::Weights<Trap>> trap_weights() {
  static const auto weights = [] {
    Trap trap;
    return std::make_shared<const gpt2ie::Weights<Trap>>(trap, gpt2ie::load_checkpoint(model_path("fairytale-1m")));
  }();
  return weights;
}

struct TrappedEngine {
  std::shared_ptr<TrapState> state = std::make_shared<TrapState>();
  CheckedEngine<Engine> engine;

  explicit TrappedEngine(const gpt2ie::EngineOptions& options = {})
      : engine(options, Trap(state), trap_weights(), tales_tokenizer()) {}
};

Tokens prompt_with(Token last) { return {3217, 654, 258, 538, last}; }

std::string failure_of(Handle& handle) {
  try {
    static_cast<void>(handle.result());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool all_free(const Engine& engine) {
  const gpt2ie::EngineStats stats = engine.stats();
  return stats.used_units == 0 && stats.running == 0 && stats.waiting == 0 && stats.queued == 0;
}

}  // namespace

TEST_CASE("X-1: a request that can't be computed fails alone, in any company") {
  TrappedEngine trapped;
  Engine& engine = *trapped.engine;
  Handle bad = submit(engine, {.prompt = prompt_with(bad_token), .options = greedy(5)});
  CHECK(failure_of(bad).find("found token 4000") != std::string::npos);
  CHECK_THROWS_AS(bad.next(), gpt2ie::Error);
  const auto expected = make_tales().generate(prompt_with(308), greedy(30)).tokens;
  Gate gate(engine);
  std::vector<Handle> good, failing;
  for (int i = 0; i < 12; ++i) {
    const bool fails = i % 4 == 1;
    (fails ? failing : good)
        .push_back(
            submit(engine, {.prompt = prompt_with(fails ? bad_token : 308), .options = greedy(30), .n = 1 + i % 2}));
  }
  gate.open();
  for (Handle& handle : failing) CHECK(failure_of(handle).find("token 4000") != std::string::npos);
  for (Handle& handle : good) {
    for (const auto& choice : handle.result().choices) CHECK(choice.tokens == expected);
  }
  CHECK(engine.stats().failed == 4);
  CHECK_FALSE(engine.stats().dead);
  CHECK(engine.drain(std::chrono::minutes(1)));
  CHECK(all_free(engine));
}

TEST_CASE("X-1: a failure that is nobody's fault fails all that run and wait, with its cause, and ends the engine") {
  for (const bool unknown : {true, false}) {
    CAPTURE(unknown);
    TrappedEngine trapped;
    Engine& engine = *trapped.engine;
    Gate gate(engine);
    std::vector<Handle> handles;
    for (int i = 0; i < 40; ++i)
      handles.push_back(submit(engine, {.prompt = prompt_with(308), .options = greedy(300)}));
    (unknown ? trapped.state->broken : trapped.state->refuses_all) = true;
    gate.open();
    const std::string cause = unknown ? "the processor is on fire" : "found token 4000";
    for (Handle& handle : handles) CHECK(failure_of(handle).find(cause) != std::string::npos);
    CHECK(engine.drain(std::chrono::minutes(1)));
    CHECK(engine.stats().dead);
    CHECK(engine.stats().failed >= 40);
    CHECK(all_free(engine));
    const auto late = [&] { static_cast<void>(engine.submit({.prompt = prompt_with(308)})); };
    CHECK(error_code(late) == errc::unavailable);
    CHECK(error_text(late).find(cause) != std::string::npos);
    handles[0].cancel();
    CHECK(handles[0].over());
  }
}

TEST_CASE("a callback that throws fails its own request, with what it threw") {
  TrappedEngine trapped;
  Engine& engine = *trapped.engine;
  const auto expected = make_tales().generate(prompt_with(308), greedy(10)).tokens;
  for (const int count : {0, 1, 10}) {
    for (const int n : {1, 3}) {
      CAPTURE(count);
      CAPTURE(n);
      std::atomic<int> calls{0};
      Gate gate(engine);
      Handle throws = submit(engine, {.prompt = prompt_with(308),
                                      .options = greedy(count),
                                      .n = n,
                                      .on_piece = [&](const gpt2ie::Piece& /*piece*/) {
                                        ++calls;
                                        throw std::runtime_error("not this one");
                                      }});
      Handle other = submit(engine, {.prompt = prompt_with(308), .options = greedy(10)});
      gate.open();
      CHECK(failure_of(throws) == "not this one");
      CHECK(calls == 1);
      CHECK(other.result().choices[0].tokens == expected);
    }
  }
  CHECK(engine.drain(std::chrono::minutes(1)));
  CHECK(engine.stats().failed == 6);
  CHECK_FALSE(engine.stats().dead);
  CHECK(all_free(engine));
}

TEST_CASE("sixteen sequences share each product: one a weight a step") {
  TrappedEngine trapped({.stall_factor = 0});
  Engine& engine = *trapped.engine;
  const auto products_a_weight = static_cast<std::size_t>(4 * engine.config().n_layer + 1);
  const auto run = [&](int sequences) {
    const std::uint64_t steps = engine.stats().scheduler.steps;
    const std::size_t products = trapped.state->products;
    Gate gate(engine);
    std::vector<Handle> handles;
    for (int i = 0; i < sequences; ++i) {
      handles.push_back(submit(engine, {.prompt = Tokens{i, 5, 9}, .options = greedy(50)}));
    }
    gate.open();
    for (Handle& handle : handles) CHECK(handle.result().choices[0].tokens.size() == 50);
    // All steps have logits here, so that each has all products.
    const std::uint64_t taken = engine.stats().scheduler.steps - steps;
    CHECK(trapped.state->products - products == taken * products_a_weight);
    return taken;
  };
  const std::uint64_t one = run(1), sixteen = run(16);
  CHECK(one >= 50);
  CHECK(sixteen <= one + 8);
  CHECK(engine.stats().scheduler.decoded >= 17 * 49);
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// The asker's end: pieces are read in order by waiting, polling, iterating or being told, from any thread.
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/engine/handle.hpp>

namespace {

using gpt2ie::Completion;
using gpt2ie::FinishReason;
using gpt2ie::Handle;
using gpt2ie::Piece;
using State = gpt2ie::detail::RequestState;

struct Pair {
  std::shared_ptr<State> state = std::make_shared<State>(7);
  int cancels = 0;
  Handle handle = Handle(state, [this] { ++cancels; });
};

Completion one_choice(const std::string& text) {
  Completion completion;
  completion.choices.resize(1);
  completion.choices[0].text = text;
  return completion;
}

std::exception_ptr failure() { return std::make_exception_ptr(std::runtime_error("broken")); }

}  // namespace

TEST_CASE("pieces come in order, then the end, again and again") {
  Pair pair;
  Piece piece;
  CHECK(pair.handle.poll(piece) == Handle::Poll::pending);
  pair.state->push({.text = "a"});
  pair.state->push({.text = "b", .finish_reason = FinishReason::stop});
  CHECK_FALSE(pair.handle.over());
  CHECK(pair.handle.poll(piece) == Handle::Poll::ready);
  CHECK(piece.text == "a");
  pair.state->finish(one_choice("ab"), nullptr);
  CHECK(pair.handle.over());
  CHECK(pair.handle.next()->text == "b");
  CHECK_FALSE(pair.handle.next().has_value());
  CHECK_FALSE(pair.handle.next().has_value());
  CHECK(pair.handle.poll(piece) == Handle::Poll::over);
  CHECK(pair.handle.result().choices[0].text == "ab");
  CHECK(Handle(pair.handle).result().choices[0].text == "ab");
}

TEST_CASE("a range of pieces is read while they are made") {
  Pair pair;
  std::thread engine([&pair] {
    for (const char* text : {"a", "b", "c"}) pair.state->push({.text = text});
    pair.state->finish(one_choice("abc"), nullptr);
  });
  std::string text;
  for (const Piece& piece : pair.handle) text += piece.text;
  engine.join();
  CHECK(text == "abc");
}

TEST_CASE("a failure comes after the pieces before it, to everyone who asks") {
  Pair pair;
  pair.state->push({.text = "a"});
  pair.state->finish({}, failure());
  CHECK(pair.handle.next()->text == "a");
  CHECK_THROWS_WITH_AS(pair.handle.next(), "broken", std::runtime_error);
  Piece piece;
  CHECK_THROWS_AS(pair.handle.poll(piece), std::runtime_error);
  CHECK_THROWS_AS(static_cast<void>(pair.handle.result()), std::runtime_error);
  CHECK(pair.handle.over());
}

TEST_CASE("a callback is told once: at once if there is something, else when there is") {
  Pair pair;
  int told = 0, replaced = 0;
  pair.handle.notify([&] { ++replaced; });
  pair.handle.notify([&] { ++told; });
  CHECK(told == 0);
  pair.state->push({.text = "a"});
  CHECK(told == 1);
  CHECK(replaced == 0);
  pair.state->push({.text = "b"});
  CHECK(told == 1);
  pair.handle.notify([&] { ++told; });
  CHECK(told == 2);
  pair.handle.next();
  pair.handle.next();
  pair.handle.notify([&] { ++told; });
  CHECK(told == 2);
  pair.state->finish({}, nullptr);
  CHECK(told == 3);
  pair.handle.notify([&] { ++told; });
  CHECK(told == 4);
}

TEST_CASE("the callback may read and ask to be told again") {
  Pair pair;
  std::vector<std::string> read;
  std::function<void()> pump = [&] {
    Piece piece;
    while (pair.handle.poll(piece) == Handle::Poll::ready) read.push_back(piece.text);
    if (!pair.handle.over()) pair.handle.notify(pump);
  };
  pump();
  pair.state->push({.text = "a"});
  pair.state->push({.text = "b"});
  pair.state->finish({}, nullptr);
  CHECK(read == std::vector<std::string>{"a", "b"});
}

TEST_CASE("cancel is passed on, and copies have the same number") {
  Pair pair;
  CHECK(pair.handle.id() == 7);
  CHECK(Handle(pair.handle).id() == 7);
  pair.handle.cancel();
  CHECK(pair.cancels == 1);
}

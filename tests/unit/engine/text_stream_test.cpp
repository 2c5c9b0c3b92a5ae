// SPDX-License-Identifier: MIT
/// A stream is a single-pass range of text.
#include <concepts>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <gpt2ie/engine/text_stream.hpp>

#include "unit/engine/tales.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::FinishReason;
using gpt2ie_test::error_code;
using gpt2ie_test::greedy;
using gpt2ie_test::holds_nothing;
using gpt2ie_test::make_tales;
using gpt2ie_test::opening;

using Stream = gpt2ie_test::Tales::stream_type;
static_assert(std::ranges::input_range<Stream>);
static_assert(std::same_as<std::ranges::range_value_t<Stream>, std::string_view>);
static_assert(std::movable<Stream> && !std::copyable<Stream>);

}  // namespace

TEST_CASE("the pieces of a stream are the text of its result") {
  auto tales = make_tales();
  std::string text;
  int pieces = 0;
  auto stream = tales.stream(opening, greedy(20));
  for (const std::string_view piece : stream) {
    text += piece;
    ++pieces;
    CHECK(!piece.empty());
    CHECK(stream.result().text == text);
  }
  CHECK(pieces > 1);
  CHECK(text == tales.generate(opening, greedy(20)).text);
  CHECK(stream.result().finish_reason == FinishReason::length);
  CHECK(holds_nothing(tales));
}

TEST_CASE("leaving a stream early gives everything back when it goes") {
  auto tales = make_tales();
  {
    auto stream = tales.stream(opening, greedy(20));
    for (const std::string_view piece : stream) {
      CHECK(!piece.empty());
      break;
    }
    CHECK_FALSE(holds_nothing(tales));
    CHECK(stream.result().finish_reason == FinishReason::none);
  }
  CHECK(holds_nothing(tales));
}

TEST_CASE("a second stream is refused while one is open, and served after it") {
  auto tales = make_tales();
  std::optional<Stream> first(tales.stream(opening, greedy(6)));
  CHECK(error_code([&] { static_cast<void>(tales.stream(opening, greedy(6))); }) == errc::busy);
  CHECK(error_code([&] { tales.generate(opening, greedy(6)); }) == errc::busy);
  std::string text;
  for (const std::string_view piece : *first) text += piece;
  CHECK(text == tales.generate(opening, greedy(6)).text);  // read to its end: the sequence is free again
  first.emplace(tales.stream(opening, greedy(6)));
  first.reset();
  CHECK(tales.generate(opening, greedy(6)).text == text);
}

TEST_CASE("a stream moves with its request") {
  auto tales = make_tales();
  auto first = tales.stream(opening, greedy(10));
  Stream second = std::move(first);
  std::string text;
  for (const std::string_view piece : second) text += piece;
  CHECK(text == tales.generate(opening, greedy(10)).text);
}

TEST_CASE("a stream of no tokens is an empty range") {
  auto tales = make_tales();
  auto stream = tales.stream(opening, greedy(0));
  CHECK(stream.begin() == stream.end());
  CHECK(stream.result().finish_reason == FinishReason::length);
}

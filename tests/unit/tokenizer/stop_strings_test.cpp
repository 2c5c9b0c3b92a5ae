// SPDX-License-Identifier: MIT
/// Stop strings against a matcher that looks at the whole text again and again.
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/tokenizer/stop_strings.hpp>

namespace {

using gpt2ie::StopMatcher;
using Strings = std::vector<std::string>;

struct Outcome {
  std::string text;
  std::optional<std::size_t> match;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Pushes the text in chunks of `length` bytes, then finishes.
Outcome stream(const Strings& stops, std::string_view text, std::size_t length) {
  StopMatcher matcher(stops);
  std::string sent;
  for (std::size_t at = 0; at < text.size(); at += length) sent += matcher.push(text.substr(at, length));
  sent += matcher.finish();
  return {sent, matcher.match()};
}

/// The stop string that begins first; of those that begin together the shorter; of equal ones the first given.
Outcome cut(const Strings& stops, const std::string& text) {
  Outcome outcome{text, std::nullopt};
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const std::size_t at = text.find(stops[i]);
    if (at == std::string::npos) continue;
    const bool better = !outcome.match || at < outcome.text.size() ||
                        (at == outcome.text.size() && stops[i].size() < stops[*outcome.match].size());
    if (better) outcome = {text.substr(0, at), i};
  }
  return outcome;
}

/// How many bytes at the end of `text` begin a stop string.
std::size_t held_length(const Strings& stops, std::string_view text) {
  for (std::size_t length = text.size(); length > 0; --length) {
    for (const std::string& stop : stops) {
      if (length < stop.size() && stop.starts_with(text.substr(text.size() - length))) return length;
    }
  }
  return 0;
}

std::string random_word(std::mt19937& random, std::size_t length) {
  std::string word;
  for (std::size_t i = 0; i < length; ++i) word.push_back(static_cast<char>('a' + random() % 2));
  return word;
}

}  // namespace

TEST_CASE("S-7: nothing of a stop string that comes in parts is sent") {
  StopMatcher matcher({"DEFGHIJ"});
  std::string sent;
  for (const char* part : {"AB", "CDE", "FG", "HI", "JKL", "M"}) sent += matcher.push(part);
  CHECK(sent == "ABC");
  CHECK(matcher.match() == 0);
  CHECK(matcher.finish().empty());
}

TEST_CASE("S-9: text that was held back arrives at the end") {
  StopMatcher matcher({"assistant"});
  CHECK(matcher.push("plea") == "ple");
  CHECK(matcher.push("s").empty());
  CHECK(matcher.held() == "as");
  CHECK(matcher.finish() == "as");
  CHECK_FALSE(matcher.match().has_value());
  CHECK(stream({"assistant"}, "pleas", 2) == Outcome{"pleas", std::nullopt});
}

TEST_CASE("S-10: a stop string inside a chunk: what is before it is sent, what is after it is not") {
  StopMatcher matcher({"x", "lo"});
  CHECK(matcher.push("hello!") == "hel");
  CHECK(matcher.match() == 1);
  CHECK(matcher.push("more").empty());
  CHECK(matcher.finish().empty());
}

TEST_CASE("only what could still become a stop string waits") {
  StopMatcher matcher({"aab"});
  CHECK(matcher.push("aaa") == "a");
  CHECK(matcher.push("a") == "a");
  CHECK(matcher.push("c") == "aac");
  CHECK(matcher.push("xyz") == "xyz");
}

TEST_CASE("the stop string that begins first counts, also when another is complete before it") {
  for (const std::size_t length : {1u, 2u, 9u}) {
    CHECK(stream({"bc", "abcd"}, "xabcdy", length) == Outcome{"x", 1});
    CHECK(stream({"bc", "abcd"}, "xabcy", length) == Outcome{"xa", 0});
    CHECK(stream({"bc", "abcd"}, "xabc", length) == Outcome{"xa", 0});
    CHECK(stream({"abcd", "ab"}, "xabcd", length) == Outcome{"x", 1});
    CHECK(stream({"ab", "ab"}, "xab", length) == Outcome{"x", 0});
  }
}

TEST_CASE("without stop strings everything passes at once") {
  StopMatcher matcher;
  CHECK(matcher.push("abc") == "abc");
  CHECK(matcher.push("").empty());
  CHECK(matcher.finish().empty());
  CHECK_FALSE(matcher.match().has_value());
}

TEST_CASE("stop strings that are empty or no UTF-8 are refused") {
  for (const char* wrong : {"", "\xff", "\x80x", "\xe5\x9c"}) {
    CHECK_THROWS_AS(StopMatcher({"ok", wrong}), gpt2ie::Error);
  }
  CHECK(stream({"\u5730"}, "a\u5730b", 4) == Outcome{"a", 0});
}

TEST_CASE("random streams: the right cut, and exactly the right part held back") {
  constexpr unsigned seed = 5;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    Strings stops(1 + random() % 3);
    for (std::string& stop : stops) stop = random_word(random, 1 + random() % 7);
    const std::string text = random_word(random, random() % 24);
    CAPTURE(stops);
    CAPTURE(text);
    REQUIRE(stream(stops, text, 1 + random() % 5) == cut(stops, text));

    StopMatcher matcher(stops);
    std::string sent;
    for (std::size_t at = 0; at < text.size() && !cut(stops, text.substr(0, at + 1)).match; ++at) {
      sent += matcher.push(text.substr(at, 1));
      REQUIRE(matcher.held().size() == held_length(stops, text.substr(0, at + 1)));
      REQUIRE(sent + std::string(matcher.held()) == text.substr(0, at + 1));
    }
  }
}

// SPDX-License-Identifier: MIT
/// Steps through valid and invalid UTF-8.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/utf8.hpp>

#include "unit/tokenizer/oracle.hpp"

namespace {

using gpt2ie::detail::is_utf8;
using gpt2ie::detail::utf8_step;
using Kind = gpt2ie::detail::Utf8Step::Kind;

/// Lengths of the steps through `bytes`: positive for characters, negative for what is not.
std::vector<int> lengths(std::string_view bytes) {
  std::vector<int> lengths;
  while (!bytes.empty()) {
    const auto step = utf8_step(bytes);
    lengths.push_back(step.kind == Kind::character ? step.length : -step.length);
    bytes.remove_prefix(static_cast<std::size_t>(step.length));
  }
  return lengths;
}

}  // namespace

TEST_CASE("every code point but the surrogates is read back") {
  int wrong = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const std::string bytes = gpt2ie_test::utf8(c) + "x";
    const auto step = utf8_step(bytes);
    const bool surrogate = c >= 0xd800 && c < 0xe000;
    if (surrogate) {
      wrong += step.kind != Kind::invalid;
    } else {
      wrong += step.kind != Kind::character || step.code_point != c ||
               static_cast<std::size_t>(step.length) + 1 != bytes.size();
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("maximal subparts are those of the Unicode Standard, tables 3-8 to 3-11") {
  CHECK(lengths("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41") == std::vector{-1, -1, -1, -1, -1, -1, -1, -1, 1});
  CHECK(lengths("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41") == std::vector{-1, -1, -1, -1, -1, -1, -1, -1, 1});
  CHECK(lengths("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42") == std::vector{-1, -1, -1, -1, -1, 1, -1, -1, 1});
  CHECK(lengths("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41") == std::vector{-2, -1, -3, -2, 1});
}

TEST_CASE("a character cut by the end is unfinished, not invalid") {
  for (const std::string_view whole : {"\xc3\xa9", "\xe5\x9c\xb0", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    for (std::size_t length = 1; length < whole.size(); ++length) {
      const auto step = utf8_step(whole.substr(0, length));
      CHECK(step.kind == Kind::unfinished);
      CHECK(step.length == static_cast<int>(length));
    }
    CHECK(utf8_step(whole).kind == Kind::character);
  }
}

TEST_CASE("is_utf8") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\u00e9\u5730\U0001f600"));
  CHECK_FALSE(is_utf8("a\xe5\x9c"));
  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));
}

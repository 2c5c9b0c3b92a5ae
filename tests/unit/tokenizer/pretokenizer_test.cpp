// SPDX-License-Identifier: MIT
/// The hand-written pattern against a plain one.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/pretokenizer.hpp>

#include "oracle.hpp"

namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text) {
  Pieces pieces;
  while (!text.empty()) {
    const std::size_t length = gpt2ie::detail::piece_length(text);
    pieces.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

}  // namespace

TEST_CASE("T-3: a space leads a word; of other white space the last is left over") {
  CHECK(pieces("Hello world ") == Pieces{"Hello", " world", " "});
  CHECK(pieces("a   b") == Pieces{"a", "  ", " b"});
  CHECK(pieces("\n\nfoo") == Pieces{"\n", "\n", "foo"});
  CHECK(pieces("  \n  x") == Pieces{"  \n ", " x"});
  CHECK(pieces(" \tx") == Pieces{" ", "\t", "x"});
  CHECK(pieces("\u3000\u3000b") == Pieces{"\u3000", "\u3000", "b"});
  CHECK(pieces("x \n") == Pieces{"x", " \n"});
  CHECK(pieces("   ") == Pieces{"   "});
}

TEST_CASE("T-4: contractions are lower-case and follow an ASCII apostrophe at the front") {
  CHECK(pieces("I'll've don't") == Pieces{"I", "'ll", "'ve", " don", "'t"});
  CHECK(pieces("I'LL") == Pieces{"I", "'", "LL"});
  CHECK(pieces(" 's") == Pieces{" '", "s"});
  CHECK(pieces("'''s") == Pieces{"'''", "s"});
  CHECK(pieces("'re're") == Pieces{"'re", "'re"});
  CHECK(pieces("'r") == Pieces{"'", "r"});
  CHECK(pieces("'") == Pieces{"'"});
  CHECK(pieces("don\u2019t") == Pieces{"don", "\u2019", "t"});
}

TEST_CASE("bytes that are no UTF-8 are neither letters nor space") {
  CHECK(pieces("ab\xff\xc3 \xe4\xbd!x") == Pieces{"ab", "\xff\xc3", " \xe4\xbd!", "x"});
}

TEST_CASE("random texts are cut as the pattern says") {
  constexpr unsigned seed = 20240607;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = gpt2ie_test::random_text(random, random() % 24);
    CAPTURE(text);
    REQUIRE(pieces(text) == gpt2ie_test::oracle_pieces(text));
  }
}

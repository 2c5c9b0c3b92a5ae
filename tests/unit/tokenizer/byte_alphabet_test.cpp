// SPDX-License-Identifier: MIT
/// Bytes to printable characters and back.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/byte_alphabet.hpp>

#include "oracle.hpp"

using gpt2ie::detail::alphabet_of_bytes;
using gpt2ie::detail::bytes_from_alphabet;

TEST_CASE("T-1: all 256 bytes have letters of their own and come back") {
  std::set<char16_t> letters;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char16_t letter = alphabet_of_bytes[byte];
    letters.insert(letter);
    CHECK(bytes_from_alphabet(gpt2ie_test::utf8(letter)) == std::string(1, static_cast<char>(byte)));
  }
  CHECK(letters.size() == 256);
  CHECK(alphabet_of_bytes[' '] == u'\u0120');
  CHECK(alphabet_of_bytes['\n'] == u'\u010a');
  CHECK(alphabet_of_bytes['A'] == u'A');
  CHECK(alphabet_of_bytes[0xad] == u'\u0143');
}

TEST_CASE("what is not in the alphabet is refused") {
  CHECK(bytes_from_alphabet("\u0120the") == " the");
  CHECK(bytes_from_alphabet("") == "");
  for (const char* wrong : {"a b", "\n", "\u00a0", "\u00ad", "\u0144", "\u4e2d", "\xff", "a\xc4"}) {
    CHECK_FALSE(bytes_from_alphabet(wrong).has_value());
  }
}

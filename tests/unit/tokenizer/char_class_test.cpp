// SPDX-License-Identifier: MIT
/// The classes of code points against figures that were computed from Unicode's data by other means.
#include <cstddef>
#include <cstdint>
#include <map>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/char_class.hpp>

using gpt2ie::detail::CharClass;
using gpt2ie::detail::class_of;

TEST_CASE("T-7: classes agree with Unicode 16.0 at every code point") {
  // Counts of L*, N* and White_Space, and the FNV-1a hash of one letter a code point.
  std::map<CharClass, int> count;
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char32_t c = 0; c < 0x110000; ++c) {
    ++count[class_of(c)];
    hash = (hash ^ static_cast<unsigned char>(class_of(c))) * 0x100000001b3u;
  }
  CHECK(count[CharClass::letter] == 141028);
  CHECK(count[CharClass::number] == 1911);
  CHECK(count[CharClass::space] == 25);
  CHECK(hash == 0x51abc9b28bb768eau);
}

TEST_CASE("T-6: numbers are more than digits, and marks are no letters") {
  for (const char32_t c : {U'0', U'\u00b2', U'\u00bd', U'\u2167', U'\u0661', U'\u2460', U'\U00011950'}) {
    CHECK(class_of(c) == CharClass::number);
  }
  for (const char32_t c : {U'a', U'\u00e9', U'\u0928', U'\u4e2d', U'\U0002a6df', U'\U00011900', U'\U00012f90',
                           U'\U00011f02', U'\U000105c0'}) {
    CHECK(class_of(c) == CharClass::letter);
  }
  for (const char32_t c : {U'\u0301', U'\u094d', U'\u20e3', U'\u200d', U'\U0001f600', U'\u0378', U'\U0010ffff'}) {
    CHECK(class_of(c) == CharClass::other);
  }
}

TEST_CASE("white space is White_Space: no zero-width space, no Mongolian separator, no information separators") {
  for (const char32_t c : {U'\t', U'\n', U'\v', U'\f', U'\r', U' ', U'\u0085', U'\u00a0', U'\u1680', U'\u2000',
                           U'\u2028', U'\u2029', U'\u202f', U'\u205f', U'\u3000'}) {
    CHECK(class_of(c) == CharClass::space);
  }
  for (const char32_t c : {U'\x1c', U'\x1f', U'\u180e', U'\u200b', U'\u2060', U'\ufeff'}) {
    CHECK(class_of(c) == CharClass::other);
  }
}

// SPDX-License-Identifier: MIT
/// One step through bytes that may or may not be UTF-8.
#pragma once

#include <string_view>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// What stands at the front of a byte string.
struct Utf8Step {
  enum class Kind {
    character,   ///< a whole, valid character
    invalid,     ///< bytes that are no character and can't become one, whatever follows
    unfinished,  ///< the front of a valid character, cut by the end of the bytes
  };
  Kind kind;
  int length;           ///< bytes, 1 to 4; of an invalid front: the maximal subpart, which one U+FFFD stands for
  char32_t code_point;  ///< of a character
};

/// Reads the front of `bytes`, which must not be empty. Surrogates, overlong forms and what lies past U+10FFFF are
/// invalid. Maximal subparts are those of the Unicode Standard, section 3.9 (table 3-7 gives the ranges), and so of
/// WHATWG's decoder.
constexpr Utf8Step utf8_step(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  const auto byte = [&](int i) { return static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {Kind::character, 1, lead};
  if (lead < 0xc2 || lead > 0xf4) return {Kind::invalid, 1, 0};

  const int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // Only the second byte's range depends on the lead: it keeps out overlong forms, surrogates and numbers too large.
  unsigned char low = 0x80, high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  char32_t code_point = lead & (0xffu >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) == bytes.size()) return {Kind::unfinished, i, 0};
    if (byte(i) < low || byte(i) > high) return {Kind::invalid, i, 0};
    code_point = code_point << 6 | (byte(i) & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {Kind::character, length, code_point};
}

/// Whether all of `bytes` is valid UTF-8.
constexpr bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    if (step.kind != Utf8Step::Kind::character) return false;
    bytes.remove_prefix(static_cast<std::size_t>(step.length));
  }
  return true;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// GPT-2's pattern, written out by hand: cuts text into the pieces that byte pairs are merged within.
#pragma once

#include <cstddef>
#include <string_view>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/utf8.hpp>
#include <gpt2ie/tokenizer/char_class.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A character of the text, or one byte that is part of none.
struct ClassedChar {
  CharClass char_class;
  std::size_t length;
};

/// What stands at `text[at]`; `at` must be inside the text. A byte that is not part of valid UTF-8 is "other".
constexpr ClassedChar classed_char(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {ascii_classes[byte], 1};
  const Utf8Step step = utf8_step(text.substr(at));
  if (step.kind != Utf8Step::Kind::character) return {CharClass::other, 1};
  return {class_of(step.code_point), static_cast<std::size_t>(step.length)};
}

/// The end of the run of one class that goes on at `at`.
constexpr std::size_t end_of_run(std::string_view text, std::size_t at, CharClass char_class) {
  while (at < text.size()) {
    const ClassedChar next = classed_char(text, at);
    if (next.char_class != char_class) break;
    at += next.length;
  }
  return at;
}

/// The length of the contraction at the front of `text`, which begins with an apostrophe; 0: none.
constexpr std::size_t contraction_length(std::string_view text) {
  if (text.size() < 2) return 0;
  const char first = text[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (text.size() < 3) return 0;
  const char second = text[2];
  const bool two = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

/// The end of the piece that begins with the white space at `begin`, when no single space leads into a word there:
/// `\s+(?!\S)|\s+`. The last character of white space before other text is left for the next piece, unless it is alone.
constexpr std::size_t end_of_space(std::string_view text, std::size_t begin) {
  std::size_t end = begin, last = begin;
  while (end < text.size()) {
    const ClassedChar next = classed_char(text, end);
    if (next.char_class != CharClass::space) return last > begin ? last : end;
    last = end;
    end += next.length;
  }
  return end;
}

/// The length of the first piece of `text`, which must not be empty, under the pattern of Radford et al. 2019 (section
/// 2.2; the encoder published with it):
///
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
///
/// Time: linear in the length returned. Looks at no more than the piece and the character after it.
constexpr std::size_t piece_length(std::string_view text) {
  if (text[0] == '\'') {
    if (const std::size_t length = contraction_length(text)) return length;
  }
  const std::size_t word = text[0] == ' ' ? 1 : 0;
  if (word == text.size()) return word;
  const ClassedChar first = classed_char(text, word);
  if (first.char_class == CharClass::space) return end_of_space(text, 0);
  return end_of_run(text, word + first.length, first.char_class);
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

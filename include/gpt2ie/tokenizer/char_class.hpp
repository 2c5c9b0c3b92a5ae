// SPDX-License-Identifier: MIT
/// The classes of characters that GPT-2's pattern tells apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <gpt2ie/config.hpp>
#include <gpt2ie/tokenizer/unicode_table.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The letters are those of the table.
enum class CharClass : char { other = '-', letter = 'L', number = 'N', space = 'S' };

/// Entry p is the run of `unicode_runs` that holds code point p * 256; the last entry is the last run.
inline constexpr auto unicode_page_runs = [] {
  std::array<std::uint16_t, 0x1100 + 1> pages{};
  std::size_t run = 0;
  for (std::size_t page = 0; page < pages.size(); ++page) {
    while (run + 1 < std::size(unicode_runs) && unicode_runs[run + 1].first <= page * 256) ++run;
    pages[page] = static_cast<std::uint16_t>(run);
  }
  return pages;
}();

/// The class of a code point up to U+10FFFF. Looks through the runs of one page of 256 only.
constexpr CharClass class_of(char32_t code_point) {
  const std::size_t page = code_point >> 8;
  const UnicodeRun* first = unicode_runs + unicode_page_runs[page];
  const UnicodeRun* last = unicode_runs + unicode_page_runs[page + 1];
  while (first != last && (first + 1)->first <= code_point) ++first;
  return static_cast<CharClass>(first->letter_of_class);
}

/// The classes of the bytes below 0x80.
inline constexpr auto ascii_classes = [] {
  std::array<CharClass, 0x80> classes{};
  for (char32_t c = 0; c < 0x80; ++c) classes[c] = class_of(c);
  return classes;
}();

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

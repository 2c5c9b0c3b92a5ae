// SPDX-License-Identifier: MIT
/// Pieces of files and arguments as error messages show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/utf8.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// `text` in quotation marks, not all of it when it is longer than `most` bytes. Control characters and bytes that are
/// no UTF-8 are written as \xHH, so that a message is one line of valid text whatever a file holds.
inline std::string excerpt(std::string_view text, std::size_t most = 60) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown = "\"";
  std::size_t at = 0;
  while (at < text.size() && at < most) {
    const Utf8Step step = utf8_step(text.substr(at));
    const std::string_view bytes = text.substr(at, static_cast<std::size_t>(step.length));
    const bool control = step.code_point < 0x20 || (step.code_point >= 0x7f && step.code_point < 0xa0);
    if (step.kind == Utf8Step::Kind::character && !control) {
      shown += bytes;
    } else {
      for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
      }
    }
    at += bytes.size();
  }
  return at == text.size() ? shown + "\"" : shown + "...\" (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

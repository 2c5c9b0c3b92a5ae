// SPDX-License-Identifier: MIT
/// The printable alphabet in which GPT-2's files write bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/utf8.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Bytes that are printable in Latin-1 stand for themselves; the other 68 are U+0100, U+0101, ... in order.
inline constexpr auto alphabet_of_bytes = [] {
  std::array<char16_t, 256> letters{};
  char16_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    letters[static_cast<std::size_t>(byte)] = printable ? static_cast<char16_t>(byte) : next++;
  }
  return letters;
}();

/// The way back, by code point; -1: not in the alphabet.
inline constexpr auto bytes_of_alphabet = [] {
  std::array<std::int16_t, 0x144> bytes{};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[alphabet_of_bytes[byte]] = static_cast<std::int16_t>(byte);
  return bytes;
}();

/// The bytes that `written` stands for; nullopt when it holds a character outside the alphabet or is not UTF-8.
inline std::optional<std::string> bytes_from_alphabet(std::string_view written) {
  std::string bytes;
  bytes.reserve(written.size());
  while (!written.empty()) {
    const Utf8Step step = utf8_step(written);
    if (step.kind != Utf8Step::Kind::character || step.code_point >= bytes_of_alphabet.size()) return std::nullopt;
    const int byte = bytes_of_alphabet[step.code_point];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    written.remove_prefix(static_cast<std::size_t>(step.length));
  }
  return bytes;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// GPT-2's tokenizer once more, slow and plain, for tests: nothing of it comes from the library but the Unicode
/// classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/tokenizer/char_class.hpp>

namespace gpt2ie_test {

inline std::string utf8(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000) return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
}

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A character with its class as the pattern sees it: 'L', 'N', 'S' or '-'. A byte that is no UTF-8 is a '-'.
struct OracleChar {
  std::string bytes;
  char char_class;
};

/// Cuts text into characters by trying which code point writes the bytes in front.
inline std::vector<OracleChar> oracle_chars(std::string_view text) {
  std::vector<OracleChar> chars;
  while (!text.empty()) {
    OracleChar next{std::string(text.substr(0, 1)), '-'};
    for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
      const auto lead = static_cast<unsigned char>(text[0]);
      char32_t c = length == 1 ? lead : lead & (0xffu >> (length + 1));
      for (std::size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
      if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || utf8(c) != text.substr(0, length)) continue;
      next = {std::string(text.substr(0, length)), static_cast<char>(gpt2ie::detail::class_of(c))};
    }
    text.remove_prefix(next.bytes.size());
    chars.push_back(std::move(next));
  }
  return chars;
}

/// The pattern, one alternative after the other, with every repetition as greedy as it can be.
inline std::vector<std::string> oracle_pieces(std::string_view text) {
  const std::vector<OracleChar> chars = oracle_chars(text);
  const std::size_t size = chars.size();
  const auto literal = [&](std::size_t at, std::string_view what) {
    std::size_t i = 0;
    while (i < what.size() && at + i < size && chars[at + i].bytes == what.substr(i, 1)) ++i;
    return i == what.size() ? i : 0;
  };
  const auto run = [&](std::size_t at, char char_class) {
    std::size_t length = 0;
    while (at + length < size && chars[at + length].char_class == char_class) ++length;
    return length;
  };
  const auto match = [&](std::size_t at) -> std::size_t {
    for (const char* contraction : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (const std::size_t length = literal(at, contraction)) return length;
    }
    for (const char char_class : {'L', 'N', '-'}) {
      const std::size_t space = literal(at, " ");
      if (const std::size_t length = run(at + space, char_class)) return space + length;
    }
    const std::size_t spaces = run(at, 'S');
    for (std::size_t length = spaces; length > 0; --length) {  // \s+(?!\S), giving back one by one
      if (at + length == size || chars[at + length].char_class == 'S') return length;
    }
    return spaces;
  };
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < size;) {
    std::string piece;
    for (const std::size_t end = at + match(at); at < end; ++at) piece += chars[at].bytes;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// Byte pairs merged on strings of the byte alphabet, straight from the files.
class OracleTokenizer {
 public:
  explicit OracleTokenizer(const std::filesystem::path& folder)
      : vocabulary_(nlohmann::json::parse(read_bytes(folder / "vocab.json"))) {
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      letters_.push_back(utf8(printable ? byte : next++));
    }
    std::ifstream lines(folder / "merges.txt");
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#version")) continue;
      const std::size_t space = line.find(' ');
      const auto rank = static_cast<int>(ranks_.size());
      ranks_.emplace(std::pair(line.substr(0, space), line.substr(space + 1)), rank);
    }
  }

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> ids;
    for (const std::string& piece : oracle_pieces(text)) {
      for (const std::string& part : merge(piece)) ids.push_back(vocabulary_.at(part).get<std::int32_t>());
    }
    return ids;
  }

 private:
  /// Scans all pairs for the best one, joins it, begins again.
  [[nodiscard]] std::vector<std::string> merge(std::string_view piece) const {
    std::vector<std::string> parts;
    for (const char byte : piece) parts.push_back(letters_[static_cast<unsigned char>(byte)]);
    while (true) {
      std::optional<std::pair<int, std::size_t>> best;
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find(std::pair(parts[i], parts[i + 1]));
        if (found != ranks_.end() && (!best || found->second < best->first)) best = {found->second, i};
      }
      if (!best) return parts;
      parts[best->second] += parts[best->second + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best->second) + 1);
    }
  }

  nlohmann::json vocabulary_;
  std::vector<std::string> letters_;
  std::map<std::pair<std::string, std::string>, int> ranks_;
};

/// Random text of what makes tokenizers stumble: words, contractions, white space of all kinds, letters and numbers of
/// all planes, long runs, and bytes that are no UTF-8.
inline std::string random_text(std::mt19937& random, std::size_t parts) {
  static const std::vector<std::string> pool = {"the",
                                                " the",
                                                " Hello",
                                                "world",
                                                "'s",
                                                "'ll",
                                                "'LL",
                                                "'",
                                                "''",
                                                " ",
                                                "  ",
                                                "\n",
                                                "\n\n",
                                                "\t",
                                                "\r\n",
                                                "\v",
                                                "\f",
                                                "\u00a0",
                                                "\u2003",
                                                "\u3000",
                                                "\u2028",
                                                "\u0085",
                                                "\u200b",
                                                "0",
                                                "123",
                                                "4567",
                                                "\u00b2",
                                                "\u2167",
                                                "\u0663",
                                                "\u00e9",
                                                "e\u0301",
                                                "\u4e2d",
                                                "\u5730",
                                                "\u3053",
                                                "\u0928",
                                                "\u092e",
                                                "\u094d",
                                                "\xff",
                                                "\xc3",
                                                "\xe4\xbd",
                                                "\xf0\x9f\x98",
                                                "\xed\xa0\x80",
                                                "\xc0\x80",
                                                "aaaaaa",
                                                "______",
                                                "------",
                                                "=====",
                                                "##",
                                                "!?",
                                                ".",
                                                ",",
                                                "_",
                                                "<|endoftext|>",
                                                "antidisestablishment",
                                                " SolidGoldMagikarp",
                                                "\U0001f600",
                                                "\U0001f468\u200d",
                                                "\U000105c0",
                                                "\ufffd",
                                                std::string(1, '\0'),
                                                "\x1c",
                                                "\x7f"};
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) {
    switch (random() % 8) {
      case 0: {
        const auto c = static_cast<char32_t>(random() % 0x110000);
        text += c >= 0xd800 && c < 0xe000 ? std::string("x") : utf8(c);
        break;
      }
      case 1:
        text += utf8(static_cast<char32_t>(random() % 0x800));
        break;
      case 2:
        text += static_cast<char>(random() % 256);
        break;
      case 3:
        text.append(random() % 6, static_cast<char>('a' + random() % 26));
        break;
      default:
        text += pool[random() % pool.size()];
    }
  }
  return text;
}

inline std::string random_bytes(std::mt19937& random, std::size_t length) {
  std::string bytes;
  for (std::size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(random() % 256));
  return bytes;
}

}  // namespace gpt2ie_test

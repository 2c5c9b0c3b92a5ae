// SPDX-License-Identifier: MIT
/// Tokens to text in whole characters.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/utf8.hpp>
#include <gpt2ie/tokenizer/incremental_decoder.hpp>

#include "fixtures.hpp"
#include "oracle.hpp"

namespace {

using gpt2ie::IncrementalDecoder;
using gpt2ie::Token;
using gpt2ie_test::gpt2;
using Chunks = std::vector<std::string>;

/// What each push gave, then what finish gave.
Chunks chunks(const gpt2ie::Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  IncrementalDecoder decoder(tokenizer);
  Chunks chunks;
  for (const Token token : tokens) chunks.push_back(decoder.push(token));
  chunks.push_back(decoder.finish());
  return chunks;
}

/// Tokens that are bytes.
Chunks byte_chunks(std::string_view bytes) {
  static const gpt2ie::Tokenizer tokenizer(gpt2ie_test::byte_tokens(), {}, {});
  std::vector<Token> tokens;
  for (const char byte : bytes) tokens.push_back(static_cast<unsigned char>(byte));
  return chunks(tokenizer, tokens);
}

std::string joined(const Chunks& chunks) {
  std::string text;
  for (const std::string& chunk : chunks) text += chunk;
  return text;
}

}  // namespace

TEST_CASE("S-1: a character that takes two tokens comes whole with the second") {
  CHECK(byte_chunks("\xf0\x9f\x98\x80") == Chunks{"", "", "", "\U0001f600", ""});
  if (!gpt2()) return;
  CHECK(chunks(*gpt2(), {47249, 222}) == Chunks{"", "\U0001f600", ""});
  CHECK(chunks(*gpt2(), {28839, 108}) == Chunks{"", "\u5730", ""});
  int alone = 0;
  for (Token token = 0; token < 50256; ++token) alone += gpt2ie::detail::is_utf8(gpt2()->token_bytes(token)) ? 0 : 1;
  CHECK(alone == 344);
}

TEST_CASE("S-3: a character that the next token can't finish becomes one U+FFFD") {
  CHECK(byte_chunks("\xe5\x9c ") == Chunks{"", "", "\ufffd ", ""});
  CHECK(byte_chunks("\xe5\x9c\xb0") == Chunks{"", "", "\u5730", ""});
  if (!gpt2()) return;
  CHECK(chunks(*gpt2(), {28839, 220}) == Chunks{"", "\ufffd ", ""});
}

TEST_CASE("S-4: a text that ends inside a character ends in one U+FFFD") {
  CHECK(byte_chunks("a\xf0\x9f\x98") == Chunks{"a", "", "", "", "\ufffd"});
  if (!gpt2()) return;
  CHECK(chunks(*gpt2(), {64, 47249}) == Chunks{"a", "", "\ufffd"});
}

TEST_CASE("S-6: a real U+FFFD does not wait") {
  CHECK(byte_chunks("\ufffd") == Chunks{"", "", "\ufffd", ""});
  if (!gpt2()) return;
  CHECK(chunks(*gpt2(), {4210, 48585}) == Chunks{"\ufffd", "\ufffd\ufffd\ufffd", ""});
}

TEST_CASE("each maximal subpart becomes one U+FFFD, as soon as it is certain") {
  CHECK(byte_chunks("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41") ==
        Chunks{"", "", "\ufffd", "\ufffd", "", "", "\ufffd", "", "\ufffd\x41", ""});
  CHECK(byte_chunks("\xff\xc0\x80") == Chunks{"\ufffd", "\ufffd", "\ufffd", ""});
  CHECK(byte_chunks("\xed\xa0") == Chunks{"", "\ufffd\ufffd", ""});
}

TEST_CASE("an id outside the vocabulary gives nothing and disturbs nothing") {
  const gpt2ie::Tokenizer tokenizer(gpt2ie_test::byte_tokens(), {}, {});
  CHECK(chunks(tokenizer, {0xc3, 256, -1, 1 << 30, 0xa9, 'x'}) == Chunks{"", "", "", "", "\u00e9", "x", ""});
}

TEST_CASE("finish leaves the decoder as new") {
  const gpt2ie::Tokenizer tokenizer(gpt2ie_test::byte_tokens(), {}, {});
  IncrementalDecoder decoder(tokenizer);
  CHECK(decoder.push(0xe5).empty());
  CHECK(decoder.waiting() == 1);
  CHECK(decoder.finish() == "\ufffd");
  CHECK(decoder.waiting() == 0);
  CHECK(decoder.push('a') == "a");
  CHECK(decoder.finish().empty());
}

TEST_CASE("chunks are valid UTF-8, and together they are the text") {
  constexpr unsigned seed = 11;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  const gpt2ie::Tokenizer& tokenizer = gpt2() ? *gpt2() : gpt2ie_test::fairytale();
  for (int i = 0; i < 3000; ++i) {
    const std::string text = gpt2ie_test::random_text(random, random() % 16);
    CAPTURE(text);
    const Chunks got = chunks(tokenizer, tokenizer.encode(text));
    for (const std::string& chunk : got) REQUIRE(gpt2ie::detail::is_utf8(chunk));
    REQUIRE(joined(got) == joined(byte_chunks(text)));
    if (gpt2ie::detail::is_utf8(text)) REQUIRE(joined(got) == text);
  }
}

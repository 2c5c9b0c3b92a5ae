// SPDX-License-Identifier: MIT
/// Text to ids and back, against Hugging Face's ids and against a slow tokenizer.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

#include "fixtures.hpp"
#include "oracle.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::Error;
using gpt2ie::Merge;
using gpt2ie::SpecialTokens;
using gpt2ie::Token;
using gpt2ie::Tokenizer;
using gpt2ie_test::byte_tokens;
using gpt2ie_test::fairytale;
using gpt2ie_test::gpt2;
using Ids = std::vector<Token>;

template <class F>
std::optional<errc> error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

/// Checks every entry of a list of {text, ids}.
void check_reference(const Tokenizer& tokenizer, std::string_view file) {
  const auto path = gpt2ie_test::shared_path(file);
  if (!path) return;
  for (const auto& entry : nlohmann::json::parse(gpt2ie_test::read_bytes(*path))) {
    const auto text = entry.at("text").get<std::string>();
    CAPTURE(text);
    CHECK(tokenizer.encode(text) == entry.at("ids").get<Ids>());
    CHECK(tokenizer.decode(entry.at("ids").get<Ids>()) == text);
  }
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

void check_round_trips(const Tokenizer& tokenizer, int texts, unsigned seed) {
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < texts; ++i) {
    const std::string text =
        i % 2 == 0 ? gpt2ie_test::random_bytes(random, random() % 40) : gpt2ie_test::random_text(random, random() % 12);
    CAPTURE(text);
    REQUIRE(tokenizer.decode(tokenizer.encode(text)) == text);
  }
}

void check_against_oracle(const Tokenizer& tokenizer, const std::filesystem::path& folder, unsigned seed) {
  INFO("seed ", seed);
  const gpt2ie_test::OracleTokenizer oracle(folder);
  std::mt19937 random(seed);
  for (int i = 0; i < 1500; ++i) {
    const std::string text = gpt2ie_test::random_text(random, random() % 16);
    CAPTURE(text);
    REQUIRE(tokenizer.encode(text) == oracle.encode(text));
  }
  for (const char* unit : {"a", "_", " ", "\u7684", "ab", "1", "-=", "\xff", "\n", "the"}) {
    std::string text;
    while (text.size() < 700) text += unit;
    CAPTURE(unit);
    CHECK(tokenizer.encode(text) == oracle.encode(text));
  }
}

}  // namespace

TEST_CASE("ids equal Hugging Face's on the reference texts") {
  check_reference(fairytale(), "reference/fairytale_tokenizer.json");
  if (gpt2()) check_reference(*gpt2(), "reference/gpt2_tokenizer.json");
}

TEST_CASE("the named edge cases of GPT-2: texts, bytes and tokens") {
  const auto path = gpt2ie_test::shared_path("reference/gpt2_tokenizer_edge_cases.json");
  if (!path || !gpt2()) return;
  const auto cases = nlohmann::json::parse(gpt2ie_test::read_bytes(*path));
  CHECK(gpt2()->size() == cases.at("vocab_size").get<int>());
  CHECK(gpt2()->end_of_text() == cases.at("eot").get<Token>());
  for (const auto& [name, entry] : cases.at("text").items()) {
    CAPTURE(name);
    CHECK(gpt2()->encode(entry.at("utf8").get<std::string>()) == entry.at("ids").get<Ids>());
  }
  for (const auto& [hex, entry] : cases.at("bytes").items()) {
    CAPTURE(hex);
    const std::string bytes = from_hex(hex);
    const Ids expected = entry.at("bpe_as_one_piece").get<Ids>();
    CHECK(gpt2()->decode(expected) == bytes);
    CHECK(gpt2()->encode(bytes) == expected);
  }
  for (const auto& [id, hex] : cases.at("decode").items()) {
    CAPTURE(id);
    CHECK(gpt2()->token_bytes(std::stoi(id)) == from_hex(hex.get<std::string>()));
  }
}

TEST_CASE("T-1: every single byte has its id and comes back") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    CHECK(fairytale().encode(text).size() == 1);
    CHECK(fairytale().decode(fairytale().encode(text)) == text);
    if (gpt2()) CHECK(gpt2()->decode(gpt2()->encode(text)) == text);
  }
  if (!gpt2()) return;
  const auto id = [](int byte) { return gpt2()->encode(std::string(1, static_cast<char>(byte))); };
  CHECK(id(0x00) == Ids{188});
  CHECK(id(0x20) == Ids{220});
  CHECK(id(0x7f) == Ids{221});
  CHECK(id(0x80) == Ids{222});
  CHECK(id(0xa1) == Ids{94});
  CHECK(id(0xad) == Ids{255});
  CHECK(id(0xff) == Ids{187});
  CHECK(gpt2()->encode("\u4e2d") == Ids{40792});
  CHECK(gpt2()->encode("\u00e9") == Ids{2634});
}

TEST_CASE("T-3: white space at the end and between words") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("Hello world ") == Ids{15496, 995, 220});
  CHECK(gpt2()->encode("hello\n") == Ids{31373, 198});
  CHECK(gpt2()->encode("hello\n\n") == Ids{31373, 628});
  CHECK(gpt2()->encode("\n\n\n") == Ids{628, 198});
  CHECK(gpt2()->encode("\n\nfoo") == Ids{198, 198, 21943});
  CHECK(gpt2()->encode("  \n  x") == Ids{220, 220, 198, 220, 2124});
}

TEST_CASE("T-4: contractions") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("I'LL DON'T IT'S") == Ids{40, 6, 3069, 23917, 6, 51, 7283, 6, 50});
  CHECK(gpt2()->encode("don\u2019t") == Ids{9099, 447, 247, 83});
  CHECK(gpt2()->encode("'tsx") == Ids{470, 82, 87});
  CHECK(gpt2()->encode(" 's") == Ids{705, 82});
  CHECK(gpt2()->encode("'re're") == Ids{821, 821});
}

TEST_CASE("T-6: numbers of all kinds, and marks that split words") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("x\u00b2\u00bd\u2167") == Ids{87, 31185, 23141, 158, 227, 100});
  CHECK(gpt2()->encode("\u0928\u092e\u0938\u094d\u0924\u0947") ==
        Ids{11976, 101, 11976, 106, 11976, 116, 24231, 235, 11976, 97, 24231, 229});
  CHECK(gpt2()->encode("e\u0301") == Ids{68, 136, 223});
}

TEST_CASE("T-7: letters of late versions of Unicode") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("\U0002a6df") == Ids{172, 103, 249, 253});
  CHECK(gpt2()->encode("\U00011950") == Ids{172, 239, 98, 238});
  CHECK(gpt2()->encode("\U00012f90") == Ids{172, 240, 122, 238});
  CHECK(gpt2()->encode("\U00011f02") == Ids{172, 239, 120, 224});
  CHECK(gpt2()->encode("\U000105c0") == Ids{172, 238, 245, 222});
}

TEST_CASE("T-9: the name of a control token is plain text unless the caller says otherwise") {
  CHECK(fairytale().end_of_text() == 4095);
  CHECK(fairytale().encode("a<|endoftext|>b", SpecialTokens::allow).at(1) == 4095);
  for (const Token token : fairytale().encode("<|endoftext|> and <|endoftext|><|endoftext|>")) CHECK(token != 4095);
  if (!gpt2()) return;
  CHECK(gpt2()->encode("<|endoftext|>") == Ids{27, 91, 437, 1659, 5239, 91, 29});
  CHECK(gpt2()->encode("<|endoftext|>", SpecialTokens::allow) == Ids{50256});
  CHECK(gpt2()->encode("a<|endoftext|>b") == Ids{64, 27, 91, 437, 1659, 5239, 91, 29, 65});
  CHECK(gpt2()->encode("a<|endoftext|><|endoftext|>b", SpecialTokens::allow) == Ids{64, 50256, 50256, 65});
  CHECK(gpt2()->encode("a <|endoftext|", SpecialTokens::allow) == gpt2()->encode("a <|endoftext|"));
  CHECK(gpt2()->decode(Ids{64, 50256}) == "a<|endoftext|>");
}

TEST_CASE("T-10: tokens that begin with # are real") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("##") == Ids{2235});
  CHECK(gpt2()->encode("###") == Ids{21017});
}

TEST_CASE("T-12: decoding cleans nothing up") {
  if (!gpt2()) return;
  CHECK(gpt2()->encode("y is ?") == Ids{88, 318, 5633});
  CHECK(gpt2()->decode(Ids{88, 318, 5633}) == "y is ?");
  CHECK(gpt2()->encode(" ?") == Ids{5633});
}

TEST_CASE("T-13: 100,000 random byte strings come back as they were") {
  check_round_trips(fairytale(), 50000, 1);
  if (gpt2()) check_round_trips(*gpt2(), 50000, 2);
}

TEST_CASE("T-15: tokens are bytes with a length, NUL and 128 bytes included") {
  const std::string text("a\0b", 3);
  CHECK(fairytale().decode(fairytale().encode(text)) == text);
  if (!gpt2()) return;
  CHECK(gpt2()->encode(text) == Ids{64, 188, 65});
  std::size_t longest = 0;
  for (Token token = 0; token < gpt2()->size(); ++token) longest = std::max(longest, gpt2()->token_bytes(token).size());
  CHECK(longest == 128);
}

TEST_CASE("T-16: sixteen threads encode on one const tokenizer and agree") {
  const Tokenizer& tokenizer = gpt2() ? *gpt2() : fairytale();
  std::mt19937 random(16);
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(gpt2ie_test::random_text(random, 20));
  texts.push_back(std::string(3000, 'a'));
  const auto encode_all = [&] {
    std::vector<Ids> all;
    for (const std::string& text : texts) {
      all.push_back(tokenizer.encode(text, SpecialTokens::allow));
      if (tokenizer.decode(all.back()) != text) all.back().clear();
    }
    return all;
  };
  std::vector<std::vector<Ids>> results(16);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = encode_all(); });
  for (std::thread& thread : threads) thread.join();
  const std::vector<Ids> expected = encode_all();
  for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("random texts and long runs have the ids of a slow tokenizer") {
  check_against_oracle(fairytale(), gpt2ie_test::model_path("fairytale-6m"), 3);
  if (gpt2()) check_against_oracle(*gpt2(), *gpt2ie_test::shared_path("gpt2"), 4);
}

TEST_CASE("encode_to appends") {
  Ids ids = {7};
  fairytale().encode_to("once upon", ids);
  CHECK(ids.front() == 7);
  ids.erase(ids.begin());
  CHECK(ids == fairytale().encode("once upon"));
  CHECK(fairytale().encode("").empty());
  CHECK(fairytale().decode({}).empty());
}

TEST_CASE("an id outside the vocabulary is refused by name") {
  for (const Token wrong : {-1, fairytale().size(), 1 << 30}) {
    CHECK_FALSE(fairytale().contains(wrong));
    CHECK(error_of([&] { (void)fairytale().decode(Ids{1, wrong}); }) == errc::bad_request);
    CHECK(error_of([&] { (void)fairytale().token_bytes(wrong); }) == errc::bad_request);
    CHECK_THROWS_WITH_AS((void)fairytale().token_bytes(wrong),
                         ("gpt2ie: expected a token id from 0 to 4095, found " + std::to_string(wrong)).c_str(), Error);
  }
}

TEST_CASE("a token that merging does not reach is not taken for its bytes") {
  // "abc" is in the vocabulary, but "bc" goes before "ab", and nothing joins "a" and "bc".
  const auto tokens = byte_tokens({"ab", "bc", "abc"});
  const std::vector<Merge> merges = {{'b', 'c', 257}, {'a', 'b', 256}, {256, 'c', 258}};
  const Tokenizer tokenizer(tokens, merges, {});
  CHECK(tokenizer.encode("abc") == Ids{'a', 257});
  CHECK(tokenizer.encode("ab") == Ids{256});
  CHECK_FALSE(tokenizer.end_of_text().has_value());
}

TEST_CASE("of special tokens the leftmost counts, then the longest") {
  const auto tokens = byte_tokens({"<a>", "<a><b>", "a><"});
  const Tokenizer tokenizer(tokens, {}, {258, 256, 257, 257});
  CHECK(std::ranges::equal(tokenizer.special_tokens(), Ids{256, 257, 258}));
  CHECK(tokenizer.special_token("<a>") == 256);
  CHECK_FALSE(tokenizer.special_token("a").has_value());
  CHECK(tokenizer.is_special(257));
  CHECK_FALSE(tokenizer.is_special('a'));
  CHECK(tokenizer.encode("x<a><b><a>a><<a", SpecialTokens::allow) == Ids{'x', 257, 256, 258, '<', 'a'});
  CHECK(tokenizer.encode("<a>") == Ids{'<', 'a', '>'});
}

TEST_CASE("a byte without a token: the text is refused, others pass") {
  const std::vector<std::string> tokens = {"a", "b", "ab"};
  const std::vector<Merge> merges = {{0, 1, 2}};
  const Tokenizer tokenizer(tokens, merges, {});
  CHECK(tokenizer.encode("abba") == Ids{2, 1, 0});
  CHECK(error_of([&] { (void)tokenizer.encode("abc"); }) == errc::bad_text);
  CHECK(error_of([&] { (void)tokenizer.encode(std::string(100, 'a') + "c"); }) == errc::bad_text);
}

TEST_CASE("a tokenizer that contradicts itself is not made") {
  const auto tokens = byte_tokens({"ab", "<s>"});
  const auto make = [&](std::vector<Merge> merges, Ids special) {
    return error_of([&] { Tokenizer(tokens, merges, std::move(special)); });
  };
  CHECK_FALSE(make({{'a', 'b', 256}}, {257}).has_value());
  CHECK(make({{'a', 'b', 999}}, {}) == errc::bad_file);
  CHECK(make({{-1, 'b', 256}}, {}) == errc::bad_file);
  CHECK(make({{'a', 'c', 256}}, {}) == errc::bad_file);
  CHECK(make({{'b', 'b', 256}}, {}) == errc::bad_file);
  CHECK(make({{'a', 'b', 256}, {'a', 'b', 256}}, {}) == errc::bad_file);
  CHECK(make({{'a', 'b', 256}}, {256}) == errc::bad_file);
  CHECK(make({}, {258}) == errc::bad_file);
  const std::vector<std::string> with_empty = {"a", ""};
  CHECK(error_of([&] { Tokenizer(with_empty, {}, {}); }) == errc::bad_file);
}

TEST_CASE("a tokenizer may be moved and copied") {
  const auto tokens = byte_tokens({"ab"});
  const std::vector<Merge> merges = {{'a', 'b', 256}};
  Tokenizer first(tokens, merges, {});
  const Tokenizer copy = first;
  const Tokenizer moved = std::move(first);
  CHECK(copy.encode("ab") == Ids{256});
  CHECK(moved.encode("ab") == Ids{256});
  CHECK(moved.token_bytes(256) == "ab");
}

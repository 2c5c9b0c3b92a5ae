// SPDX-License-Identifier: MIT
/// Vocabularies and merges as files write them, good and hostile.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/tokenizer/vocabulary_file.hpp>

namespace {

using gpt2ie::Error;
using gpt2ie::Token;
using gpt2ie::detail::AddedTokens;
using gpt2ie::detail::Vocabulary;
using nlohmann::json;

/// What the error of reading this vocabulary found; empty: there was none.
std::string found_in(std::string_view text, const AddedTokens& added = {}) {
  try {
    (void)gpt2ie::detail::read_vocabulary(json::parse(text), added, "vocab.json");
  } catch (const Error& error) {
    CHECK(error.code() == gpt2ie::errc::bad_file);
    return error.found();
  }
  return {};
}

/// The same for merges over the tokens a, b, ab, #, ## and a space before a; without an error, how many there were.
std::string found_in_merges(std::string_view text) {
  const json names = json::parse(R"({"a":0,"b":1,"ab":2,"#":3,"##":4,"\u0120":5,"\u0120a":6})");
  const Vocabulary vocabulary = gpt2ie::detail::read_vocabulary(names, {}, "vocab.json");
  try {
    return std::to_string(gpt2ie::detail::read_merges(vocabulary, text, "merges.txt").size());
  } catch (const Error& error) {
    CHECK(error.code() == gpt2ie::errc::bad_file);
    return error.found();
  }
}

}  // namespace

TEST_CASE("ids come in any order, and names become bytes") {
  const json names = json::parse(R"({"b":1,"<|endoftext|>":2,"\u0120a":0})");
  const auto vocabulary = gpt2ie::detail::read_vocabulary(names, {{"<|endoftext|>", 2}, {"<s p>", 3}}, "vocab.json");
  CHECK(vocabulary.tokens == std::vector<std::string>{" a", "b", "<|endoftext|>", "<s p>"});
  CHECK(vocabulary.special == std::vector<Token>{3, 2});
}

TEST_CASE("ids that are not 0 to n - 1, each once, are refused by name") {
  CHECK(found_in(R"({"a":0,"b":1})").empty());
  CHECK(found_in(R"({"a":0,"b":-1})") == "-1");
  CHECK(found_in(R"({"a":0,"b":2})") == "id 2 for token \"b\"");
  CHECK(found_in(R"({"a":0,"b":0})") == "id 0 for token \"b\" and another");
  CHECK(found_in(R"({"a":0,"b":2147483647})") == "id 2147483647 for token \"b\"");
  CHECK(found_in(R"({"a":0,"b":2147483648})") == "2147483648");
  CHECK(found_in(R"({"a":0,"b":18446744073709551615})") == "18446744073709551615");
  CHECK(found_in(R"({"a":0,"b":99999999999999999999999})") == "a JSON number that is no such integer");
  CHECK(found_in(R"({"a":0,"b":1.0})") == "a JSON number that is no such integer");
  CHECK(found_in(R"({"a":0,"b":"1"})") == "a JSON string that is no such integer");
  CHECK(found_in(R"({"a":0,"b":[[[[[1]]]]]})") == "a JSON array that is no such integer");
  CHECK(found_in(R"({"a":0,"b":null})") == "a JSON null that is no such integer");
  CHECK(found_in(R"({"a":0,"a":1})") == "id 1 for token \"a\"");
}

TEST_CASE("what is no vocabulary is refused") {
  CHECK(found_in("[]") == "a JSON array");
  CHECK(found_in("{}") == "an empty one");
  CHECK(found_in("null") == "a JSON null");
  CHECK(found_in(R"({"":0})") == "token 0 without");
}

TEST_CASE("names outside the byte alphabet are refused, long ones not printed whole") {
  CHECK(found_in(R"({"a b":0})") == "\"a b\" with id 0");
  CHECK(found_in(R"({"\u4e2d":0})") == "\"\u4e2d\" with id 0");
  const std::string found = found_in("{\"" + std::string(5000, ' ') + "\":0}");
  CHECK(found.size() < 120);
  CHECK(found.find("5000 bytes") != std::string::npos);
}

TEST_CASE("added tokens have ids of their own") {
  CHECK(found_in(R"({"a":0,"b":1})", {{"a", 0}}).empty());
  CHECK(found_in(R"({"a":0,"b":1})", {{"a", 1}}) == "0 and 1");
  CHECK(found_in(R"({"a":0,"b":1})", {{"c", 1}}) == "id 1 for token \"c\" and another");
  CHECK(found_in(R"({"a":0,"b":1})", {{"c", 7}}) == "id 7 for token \"c\"");
}

TEST_CASE("T-10: of merges only a first line that begins with #version is a header") {
  CHECK(found_in_merges("#version: 0.2\na b\n# #\n") == "2");
  CHECK(found_in_merges("a b\n# #\n") == "2");
  CHECK(found_in_merges("# #\na b") == "2");
  CHECK(found_in_merges("#version: 0.2\r\na b\r\n# #\r\n") == "2");
  CHECK(found_in_merges("a b\r\n# #\r\n\r\n") == "2");
  CHECK(found_in_merges("#version: 0.2") == "0");
  CHECK(found_in_merges("") == "0");
  CHECK(found_in_merges("a b\n#version: 0.2\n") == "\"#version:\" in merge 1");
}

TEST_CASE("T-10: nothing but a line feed ends a line") {
  CHECK(found_in_merges("a b\r# #\n") == R"("a b\x0d# #")");
  CHECK(found_in_merges("a b\u0085# #\n") == R"("a b\xc2\x85# #")");
  CHECK(found_in_merges("a b\u2028\n") == "\"b\u2028\" in merge 0");
}

TEST_CASE("merges of unknown tokens, or of one or three, are refused by name") {
  CHECK(found_in_merges("a x\n") == "\"x\" in merge 0");
  CHECK(found_in_merges("a b\nb a\n") == "\"ba\" in merge 1");
  CHECK(found_in_merges("ab\n") == "\"ab\"");
  CHECK(found_in_merges("a b #\n") == "\"a b #\"");
  CHECK(found_in_merges(" a\n") == "\"\" in merge 0");
  CHECK(found_in_merges("a \n") == "\"\" in merge 0");
  CHECK(found_in_merges("\xff\xfe a\n") == R"("\xff\xfe" in merge 0)");
  CHECK(found_in_merges("\u0120 a\n") == "1");
}

// SPDX-License-Identifier: MIT
/// tokenizer.json: what is GPT-2's tokenizer is read, what is not is refused with its name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/tokenizer/tokenizer_json.hpp>

namespace {

using gpt2ie::errc;
using gpt2ie::SpecialTokens;
using gpt2ie::Token;
using gpt2ie::Tokenizer;
using nlohmann::json;
using Ids = std::vector<Token>;

/// A small file in the form that Hugging Face writes for GPT-2.
json small() {
  return json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 4, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": true, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
              "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
              "vocab": {"a": 0, "\u0120": 1, "\u0120a": 2, "<": 3, "<|endoftext|>": 4},
              "merges": ["\u0120 a"]}})");
}

Tokenizer read(const json& root) { return gpt2ie::detail::read_tokenizer_json(root, "tokenizer.json"); }

/// Reads the small file with one value replaced, and gives the error.
std::optional<gpt2ie::Error> error_with(const char* pointer, json value) {
  json root = small();
  root[json::json_pointer(pointer)] = std::move(value);
  try {
    (void)read(root);
  } catch (const gpt2ie::Error& error) {
    return error;
  }
  return std::nullopt;
}

std::optional<errc> code_with(const char* pointer, json value) {
  const auto error = error_with(pointer, std::move(value));
  return error ? std::optional(error->code()) : std::nullopt;
}

}  // namespace

TEST_CASE("Hugging Face's form of GPT-2 is read") {
  const Tokenizer tokenizer = read(small());
  CHECK(tokenizer.size() == 5);
  CHECK(tokenizer.end_of_text() == 4);
  CHECK(tokenizer.encode("a a") == Ids{0, 2});
  CHECK(tokenizer.encode("a<|endoftext|> a", SpecialTokens::allow) == Ids{0, 4, 2});
}

TEST_CASE("older files leave options out, newer ones write merges as pairs") {
  json root = small();
  root["model"] = {{"vocab", root["model"]["vocab"]}, {"merges", json::array({json::array({"\u0120", "a"})})}};
  root["pre_tokenizer"].erase("use_regex");
  root.erase("normalizer");
  CHECK(read(root).encode("a a") == Ids{0, 2});
}

TEST_CASE("added tokens need not be in the vocabulary, and may hold any characters") {
  json root = small();
  root["added_tokens"].push_back({{"id", 5}, {"content", "<s p>"}});
  const Tokenizer tokenizer = read(root);
  CHECK(tokenizer.size() == 6);
  CHECK(tokenizer.special_token("<s p>") == 5);
  CHECK(tokenizer.encode("<s p>a", SpecialTokens::allow) == Ids{5, 0});
  root.erase("added_tokens");
  CHECK_FALSE(code_with("/added_tokens", nullptr).has_value());
  CHECK(read(root).special_tokens().empty());
}

TEST_CASE("other kinds of tokenizer are refused by name") {
  CHECK(error_with("/model/type", "Unigram")->found() == "\"Unigram\"");
  CHECK(code_with("/model/type", "WordPiece") == errc::unsupported);
  CHECK(code_with("/model/byte_fallback", true) == errc::unsupported);
  CHECK(code_with("/model/ignore_merges", true) == errc::unsupported);
  CHECK(code_with("/model/dropout", 0.1) == errc::unsupported);
  CHECK(code_with("/model/end_of_word_suffix", "</w>") == errc::unsupported);
  CHECK(code_with("/model/continuing_subword_prefix", "##") == errc::unsupported);
  CHECK(code_with("/normalizer", {{"type", "NFC"}}) == errc::unsupported);
  CHECK(code_with("/pre_tokenizer", nullptr) == errc::unsupported);
  CHECK(code_with("/pre_tokenizer", json::array()) == errc::unsupported);
  CHECK(code_with("/pre_tokenizer/type", "Metaspace") == errc::unsupported);
  CHECK(code_with("/pre_tokenizer/type", 3) == errc::unsupported);
  CHECK(code_with("/pre_tokenizer/add_prefix_space", true) == errc::unsupported);
  CHECK(code_with("/pre_tokenizer/use_regex", false) == errc::unsupported);
  CHECK(code_with("/added_tokens/0/lstrip", true) == errc::unsupported);
  CHECK(code_with("/added_tokens/0/single_word", true) == errc::unsupported);
}

TEST_CASE("malformed files are refused") {
  for (const char* text : {"null", "[]", "3", "{}", R"({"model": 1})"}) {
    CHECK_THROWS_AS(read(json::parse(text)), gpt2ie::Error);
  }
  CHECK(code_with("/model/vocab", json::array()) == errc::bad_file);
  CHECK(code_with("/model/merges", nullptr) == errc::bad_file);
  CHECK(code_with("/model/merges", json::array({3})) == errc::bad_file);
  CHECK(code_with("/model/merges", json::array({json::array({"a"})})) == errc::bad_file);
  CHECK(code_with("/model/merges", json::array({"a a"})) == errc::bad_file);
  CHECK(code_with("/model/merges", json::array({"\u0120 a", "\u0120 a"})) == errc::bad_file);
  CHECK(code_with("/model/merges", json::array({"< |endoftext|>"})) == errc::bad_file);
  CHECK(code_with("/added_tokens", 1) == errc::bad_file);
  CHECK(code_with("/added_tokens", json::array({1})) == errc::bad_file);
  CHECK(code_with("/added_tokens/0/content", nullptr) == errc::bad_file);
  CHECK(code_with("/added_tokens/0/content", "") == errc::bad_file);
  CHECK(code_with("/added_tokens/0/id", -4) == errc::bad_file);
  CHECK(code_with("/added_tokens/0/id", 3) == errc::bad_file);
  CHECK(code_with("/added_tokens/1", {{"id", 4}, {"content", "<|endoftext|>"}}) == errc::bad_file);
}

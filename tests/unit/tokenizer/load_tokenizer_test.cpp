// SPDX-License-Identifier: MIT
/// Folders with tokenizers, whole and broken.
#include <cstddef>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>

#include "fixtures.hpp"
#include "oracle.hpp"
#include "temporary_folder.hpp"
#include "unit/core/error_code.hpp"

namespace {

using gpt2ie::errc;
using gpt2ie::has_tokenizer;
using gpt2ie::load_tokenizer;
using gpt2ie::Token;
using gpt2ie_test::read_bytes;
using gpt2ie_test::TemporaryFolder;
using nlohmann::json;
using Ids = std::vector<Token>;

std::optional<errc> error_of(const std::filesystem::path& folder) {
  try {
    (void)load_tokenizer(folder);
  } catch (const gpt2ie::Error& error) {
    return error.code();
  }
  return std::nullopt;
}

std::string with_crlf(std::string_view text) {
  std::string lines;
  for (const char c : text) lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return lines;
}

constexpr std::string_view names = R"({"a":0,"b":1,"ab":2,"<|endoftext|>":3})";
constexpr std::string_view fast_tokenizer = R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
  "model":{"type":"BPE","vocab":{"b":0,"a":1,"ab":2},"merges":["a b"]}})";

}  // namespace

TEST_CASE("T-10: GPT-2's 50,000 merges with and without a header, with both kinds of line end") {
  const auto folder = gpt2ie_test::shared_path("gpt2");
  if (!folder) return;
  std::string merges = read_bytes(*folder / "merges.txt");
  if (merges.starts_with("#version")) merges.erase(0, merges.find('\n') + 1);
  const std::string text = "## ### # The quick brown fox's \u4e2d\u5730 jumped\n\n over 1234 lazy dogs ######";
  const Ids expected = gpt2ie_test::gpt2()->encode(text);
  for (const std::string& header : {std::string(), std::string("#version: 0.2\n")}) {
    for (const bool crlf : {false, true}) {
      CAPTURE(header);
      CAPTURE(crlf);
      const TemporaryFolder copy;
      copy.write("vocab.json", read_bytes(*folder / "vocab.json"));
      copy.write("merges.txt", crlf ? with_crlf(header + merges) : header + merges);
      const auto tokenizer = load_tokenizer(copy.path());
      CHECK(tokenizer.encode(text) == expected);
      CHECK(tokenizer.encode("##") == Ids{2235});
      CHECK(tokenizer.encode("###") == Ids{21017});
    }
  }
}

TEST_CASE("vocab.json and merges.txt come before tokenizer.json, which will do alone") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_tokenizer(folder.path()));
  CHECK(error_of(folder.path()) == errc::bad_file);
  folder.write("tokenizer.json", fast_tokenizer);
  CHECK(has_tokenizer(folder.path()));
  CHECK(load_tokenizer(folder.path()).encode("ba") == Ids{0, 1});
  folder.write("vocab.json", names);
  CHECK(load_tokenizer(folder.path()).encode("ba") == Ids{0, 1});
  folder.write("merges.txt", "#version: 0.2\na b\n");
  CHECK(has_tokenizer(folder.path()));
  CHECK(load_tokenizer(folder.path()).encode("baab") == Ids{1, 0, 2});
  CHECK(load_tokenizer(folder.path()).end_of_text() == 3);
}

TEST_CASE("a vocabulary of ordinary tokens alone has no end of text") {
  const TemporaryFolder folder;
  folder.write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  folder.write("merges.txt", "a b\n");
  CHECK_FALSE(load_tokenizer(folder.path()).end_of_text().has_value());
}

TEST_CASE("one tokenizer in both forms gives the same ids") {
  const std::filesystem::path model = gpt2ie_test::model_path("fairytale-6m");
  json merges = json::array();
  std::string lines = read_bytes(model / "merges.txt");
  lines.erase(0, lines.find('\n') + 1);
  while (!lines.empty()) {
    merges.push_back(lines.substr(0, lines.find('\n')));
    lines.erase(0, lines.find('\n') + 1);
  }
  const json root = {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                     {"added_tokens", json::array({{{"id", 4095}, {"content", "<|endoftext|>"}}})},
                     {"model", {{"vocab", json::parse(read_bytes(model / "vocab.json"))}, {"merges", merges}}}};
  const TemporaryFolder folder;
  folder.write("tokenizer.json", root.dump());
  const auto tokenizer = load_tokenizer(folder.path());
  CHECK(tokenizer.size() == gpt2ie_test::fairytale().size());
  CHECK(tokenizer.end_of_text() == 4095);
  std::mt19937 random(12);
  for (int i = 0; i < 200; ++i) {
    const std::string text = gpt2ie_test::random_text(random, 12);
    REQUIRE(tokenizer.encode(text) == gpt2ie_test::fairytale().encode(text));
  }
}

TEST_CASE("hostile files are refused") {
  const auto refused = [](std::string_view vocabulary, std::string_view merges) {
    const TemporaryFolder folder;
    folder.write("vocab.json", vocabulary);
    folder.write("merges.txt", merges);
    return error_of(folder.path()) == errc::bad_file;
  };
  CHECK_FALSE(refused(names, "a b\n"));
  CHECK(refused("", "a b\n"));
  CHECK(refused("{", "a b\n"));
  CHECK(refused("\xff\xfe", "a b\n"));
  CHECK(refused("{\"a\xff\":0}", ""));
  CHECK(refused(R"({"a":0} x)", ""));
  CHECK(refused(std::string(200000, '['), ""));
  CHECK(refused(std::string(100000, '[') + std::string(100000, ']'), ""));
  CHECK(refused(R"({"a":0,"b":1000000000})", ""));
  CHECK(refused(R"({"a":0,"<|endoftext|>":-1})", ""));
  CHECK(refused(R"({"a":0,"<|endoftext|>":"x"})", ""));
  CHECK(refused(names, "a b\na b\n"));
  CHECK(refused(names, "a c\n"));
  CHECK(refused(R"({"<":0,"|endoftext|>":1,"<|endoftext|>":2})", "< |endoftext|>\n"));
}

TEST_CASE("an error names the file that it comes from") {
  const auto text = [](std::string_view vocabulary, std::string_view merges) {
    const TemporaryFolder folder;
    folder.write("vocab.json", vocabulary);
    folder.write("merges.txt", merges);
    return gpt2ie_test::error_text([&] { (void)load_tokenizer(folder.path()); });
  };
  const auto names_both = [](const std::string& found, std::string_view file, std::string_view place) {
    CAPTURE(found);
    CHECK(found.find(file) != std::string::npos);
    CHECK(found.find(place) != std::string::npos);
  };
  names_both(text(R"({"a":0,"b" 1})", ""), "/vocab.json", "malformed JSON at byte 12");
  names_both(text("[]", ""), "/vocab.json", "a JSON array");
  names_both(text(R"({"a":-1})", ""), "/vocab.json", "-1");
  names_both(text(R"({"a":0,"<|endoftext|>":"x"})", ""), "/vocab.json", "<|endoftext|>");
  names_both(text(R"({"a":0,"b":7})", ""), "/vocab.json", "id 7");
  names_both(text(names, "a c\n"), "/merges.txt", "\"c\" in merge 0");
  names_both(text(names, std::string_view("\x7f"
                                          "ELF\0\n",
                                          6)),
             "/merges.txt", R"("\x7fELF\x00")");
  names_both(text(names, "a b\na b\n"), "/merges.txt", "1 different ones among 2");
  names_both(text(R"({"<":0,"|endoftext|>":1,"<|endoftext|>":2})", "< |endoftext|>\n"), "/merges.txt",
             R"("<|endoftext|>" in merge 0)");
}

TEST_CASE("half a tokenizer says which half is missing") {
  const auto found_with = [](const char* file) {
    const TemporaryFolder folder;
    folder.write(file, "x");
    return gpt2ie_test::error_text([&] { (void)load_tokenizer(folder.path()); });
  };
  CHECK(found_with("vocab.json").ends_with("found vocab.json without merges.txt"));
  CHECK(found_with("merges.txt").ends_with("found merges.txt without vocab.json"));
  CHECK(found_with("config.json").ends_with("found none of them"));
}

TEST_CASE("folders that are none, and files that are folders, are no tokenizers") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_tokenizer(folder.path() / "absent"));
  CHECK(error_of(folder.path() / "absent") == errc::bad_file);
  std::filesystem::create_directory(folder.path() / "tokenizer.json");
  CHECK_FALSE(has_tokenizer(folder.path()));
  CHECK(error_of(folder.path()) == errc::bad_file);
}

// SPDX-License-Identifier: MIT
/// JSON that is malformed, too deep or no object.
#include <string>

#include <doctest/doctest.h>

#include <gpt2ie/core/json.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

namespace {

void check_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  check_error(errc::bad_file, parts, [&] { static_cast<void>(detail::parse_json_object(text, "a.json")); });
}

}  // namespace

TEST_CASE("an object parses, with a byte order mark or without") {
  CHECK(detail::parse_json_object(R"({"a": [1, {"b": null}]})", "a.json")["a"][0] == 1);
  CHECK(detail::parse_json_object("\xef\xbb\xbf{}", "a.json").empty());
}

TEST_CASE("malformed JSON is an error with file and place") {
  check_refused("", {"a.json", "malformed JSON at byte 1"});
  check_refused("{\"a\": 1", {"a.json", "malformed JSON"});
  check_refused("{\"a\": 1e400}", {"malformed JSON", "1e400"});
  check_refused("{\"a\": \"\xff\"}", {"malformed JSON at byte 8", R"(\xff)"});
  check_refused("{} {}", {"malformed JSON"});
  check_refused(std::string("{\"a\"\0:1}", 8), {"malformed JSON"});
  check_refused("[1]", {"a JSON array"});
  check_refused("3", {"a JSON number"});
}

TEST_CASE("nesting can't overflow the stack") {
  const std::size_t depth = 1'000'000;
  check_refused("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}", {"64 levels"});
  check_refused("{\"a\":" + std::string(depth, '['), {"64 levels"});
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  check_refused(objects + "1" + std::string(100'000, '}'), {"64 levels"});
  const std::string fits = "{\"a\":" + std::string(50, '[') + std::string(50, ']') + "}";
  CHECK(detail::parse_json_object(fits, "a.json").size() == 1);
}

TEST_CASE("a file of over 64 MiB is refused") { check_refused(std::string(detail::json_limit + 1, ' '), {"67108864"}); }

// SPDX-License-Identifier: MIT
/// Pieces of text in messages: whole characters, no raw bytes, never long.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/core/utf8.hpp>

using gpt2ie::detail::excerpt;

TEST_CASE("text is shown as it is") {
  CHECK(excerpt("") == "\"\"");
  CHECK(excerpt("a \u00e9\u5730\U0001f600") == "\"a \u00e9\u5730\U0001f600\"");
}

TEST_CASE("control characters and bytes that are no text are spelled") {
  CHECK(excerpt(std::string_view("a\0\n\x1b\x7f", 5)) == R"("a\x00\x0a\x1b\x7f")");
  CHECK(excerpt("\u0085") == R"("\xc2\x85")");
  CHECK(excerpt("\xff\xfe a") == R"("\xff\xfe a")");
  CHECK(excerpt("a\xe5\x9c") == R"("a\xe5\x9c")");
}

TEST_CASE("long text is cut between characters, and its length told") {
  CHECK(excerpt(std::string(60, 'a')) == "\"" + std::string(60, 'a') + "\"");
  CHECK(excerpt(std::string(61, 'a')) == "\"" + std::string(60, 'a') + "...\" (61 bytes)");
  CHECK(excerpt("ab\u5730c", 3) == "\"ab\u5730...\" (6 bytes)");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(gpt2ie::detail::is_utf8(excerpt(bytes, 256)));
}

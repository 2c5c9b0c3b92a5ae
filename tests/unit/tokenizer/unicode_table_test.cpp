// SPDX-License-Identifier: MIT
/// The generated table is well-formed.
#include <cstddef>
#include <iterator>
#include <string_view>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/unicode_table.hpp>

TEST_CASE("runs begin at 0, ascend, stay inside Unicode and differ from their neighbours") {
  using gpt2ie::detail::unicode_runs;
  CHECK(unicode_runs[0].first == 0);
  for (std::size_t i = 0; i < std::size(unicode_runs); ++i) {
    CHECK(std::string_view("LNS-").find(unicode_runs[i].letter_of_class) != std::string_view::npos);
    CHECK(unicode_runs[i].first < 0x110000);
    if (i == 0) continue;
    CHECK(unicode_runs[i - 1].first < unicode_runs[i].first);
    CHECK(unicode_runs[i - 1].letter_of_class != unicode_runs[i].letter_of_class);
  }
}

TEST_CASE("T-7: the version of Unicode is the one that the guide names") {
  CHECK(std::string_view(gpt2ie::detail::unicode_version) == "16.0.0");
}

// SPDX-License-Identifier: MIT
/// Preconditions are checked in builds that ask for it, and the compiled-in macros say what they should.
#define GPT2IE_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::gpt2ie::fail(::gpt2ie::errc::broken_precondition, #condition, "otherwise"))
#include <doctest/doctest.h>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/version.hpp>

#include "unit/core/error_code.hpp"

TEST_CASE("a program's own GPT2IE_ASSERT replaces the default") {
  CHECK(gpt2ie_test::error_code([] { GPT2IE_ASSERT(1 + 1 == 3); }) == gpt2ie::errc::broken_precondition);
  gpt2ie::PageBook<4> book({.max_length = 16});
  const auto opened = book.open({}, 0);
  REQUIRE(opened.has_value());
  const gpt2ie::Run gap{.seq = opened->seq, .first = 3, .count = 1};  // position 3 of an empty sequence
  CHECK(gpt2ie_test::error_code([&] { book.reserve({&gap, 1}); }) == gpt2ie::errc::broken_precondition);
}

TEST_CASE("this build has exceptions, and the version is a number that compares") {
  CHECK(GPT2IE_EXCEPTIONS == 1);
  CHECK(GPT2IE_VERSION == GPT2IE_VERSION_MAJOR * 1000000 + GPT2IE_VERSION_MINOR * 1000 + GPT2IE_VERSION_PATCH);
}

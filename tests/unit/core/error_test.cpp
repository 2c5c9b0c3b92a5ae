// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>

TEST_CASE("an error carries its code, both phrases and one sentence") {
  bool caught = false;
  try {
    gpt2ie::fail(gpt2ie::errc::bad_shape, "a shape of [2, 3]", "[3, 2]");
  } catch (const gpt2ie::Error& error) {
    caught = true;
    CHECK(error.code() == gpt2ie::errc::bad_shape);
    CHECK(error.expected() == "a shape of [2, 3]");
    CHECK(error.found() == "[3, 2]");
    CHECK(std::string(error.what()) == "gpt2ie: expected a shape of [2, 3], found [3, 2]");
  }
  CHECK(caught);
}

TEST_CASE("programs that know nothing of the library catch a runtime_error") {
  CHECK_THROWS_AS(gpt2ie::fail(gpt2ie::errc::busy, "one request at a time", "two"), std::runtime_error);
}

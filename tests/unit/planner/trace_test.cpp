// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/planner/trace.hpp>

using namespace gpt2ie;

namespace {

std::string refusal(const std::string& text) {
  try {
    parse_trace(text, "day.txt", 1024);
  } catch (const Error& error) {
    CHECK(error.code() == errc::bad_file);
    return error.expected() + " | " + error.found();
  }
  return "none";
}

}  // namespace

TEST_CASE("a trace is a request a line, with comments and empty lines") {
  const auto requests =
      parse_trace("# seconds, prompt, answer\n0 5 7\n\n \t1.5\t100  24 # a long one\r\n1e1 1000 24", "day.txt", 1024);
  CHECK(requests == std::vector<SimulatedRequest>{{0, 5, 7}, {1.5, 100, 24}, {10, 1000, 24}});
}

TEST_CASE("requests of a trace come in order of arrival, then of lines") {
  const auto requests = parse_trace("3 1 1\n1 2 2\n3 3 3\n1 4 4\n", "day.txt", 1024);
  CHECK(requests == std::vector<SimulatedRequest>{{1, 2, 2}, {1, 4, 4}, {3, 1, 1}, {3, 3, 3}});
}

TEST_CASE("a wrong line is named by file and number") {
  CHECK(refusal("0 5 7\n0 5\n") == "arrival_s prompt_tokens answer_tokens in day.txt, line 2 | \"0 5\"");
  CHECK(refusal("0 5 7 8") == "arrival_s prompt_tokens answer_tokens in day.txt, line 1 | \"0 5 7 8\"");
  CHECK(refusal("# x\n\n-1 5 7") == "an arrival in seconds, 0 or more in day.txt, line 3 | \"-1 5 7\"");
  for (const char* arrival : {"soon", "nan", "inf", "1e999", "0x10", "1,5", "\"1\"", "true"}) {
    CHECK(refusal(std::string(arrival) + " 5 7") ==
          "an arrival in seconds, 0 or more in day.txt, line 1 | " + detail::excerpt(std::string(arrival) + " 5 7"));
  }
  for (const char* tokens : {"0", "-3", "1.5", "1024", "99999999999999999999", "many"}) {
    const std::string prompt = std::string("0 ") + tokens + " 7", answer = std::string("0 7 ") + tokens;
    CHECK(refusal(prompt) == "a whole number of tokens from 1 to 1023 in day.txt, line 1 | " + detail::excerpt(prompt));
    CHECK(refusal(answer) == "a whole number of tokens from 1 to 1023 in day.txt, line 1 | " + detail::excerpt(answer));
  }
  CHECK(refusal("0 1000 25") == "prompt and answer of at most 1024 tokens together in day.txt, line 1 | \"0 1000 25\"");
  CHECK(refusal("0 \x01 5") == "a whole number of tokens from 1 to 1023 in day.txt, line 1 | \"0 \\x01 5\"");
}

TEST_CASE("a trace without requests is refused") {
  CHECK(refusal("") == "at least one request in day.txt | none");
  CHECK(refusal("# nothing\n\n") == "at least one request in day.txt | none");
}

// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/engine/result.hpp>

TEST_CASE("finish reasons have OpenAI's names") {
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::stop) == "stop");
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::length) == "length");
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::cancelled) == "cancelled");
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::timeout) == "timeout");
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::error) == "error");
  CHECK(gpt2ie::finish_reason_name(gpt2ie::FinishReason::none).empty());
}

TEST_CASE("the rate of decoding counts the tokens after the first") {
  const gpt2ie::Timings timings{.first_token = 1, .decode = 2};
  CHECK(timings.decode_rate(101) == doctest::Approx(50));
  CHECK(timings.decode_rate(1) == 0);
  CHECK(timings.decode_rate(0) == 0);
  CHECK(gpt2ie::Timings{}.decode_rate(5) == 0);
}

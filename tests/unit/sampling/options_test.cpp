// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/options.hpp>

#include "helpers.hpp"

using namespace gpt2ie;
using gpt2ie_test::check_error;

namespace {

constexpr int vocab = 50257;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

void refused(const GenerateOptions& options, const std::vector<std::string>& words) {
  check_error(errc::bad_request, words, [&] { validate(options, vocab); });
}

}  // namespace

TEST_CASE("the defaults and the ends of every range are accepted") {
  CHECK_NOTHROW(validate({}, vocab));
  CHECK_NOTHROW(validate({.max_new_tokens = 0,
                          .temperature = 0,
                          .top_k = -1,
                          .top_p = 0,
                          .min_p = 1,
                          .typical_p = 1e-3f,
                          .repetition_penalty = 1e-3f,
                          .presence_penalty = -2,
                          .frequency_penalty = 2,
                          .logit_bias = {{0, -infinity}, {vocab - 1, 100}},
                          .stop = {"\n"},
                          .stop_token_ids = {0, vocab - 1}},
                         vocab));
}

TEST_CASE("P-3: top_p outside [0, 1] or NaN is refused by name") {
  refused({.top_p = -0.1f}, {"top_p", "[0, 1]", "-0.1"});
  refused({.top_p = 1.5f}, {"top_p", "[0, 1]", "1.5"});
  refused({.top_p = not_a_number}, {"top_p", "nan"});
}

TEST_CASE("P-7: a temperature below 0, NaN or infinite is refused by name") {
  refused({.temperature = -1}, {"temperature", "0 or more", "-1"});
  refused({.temperature = not_a_number}, {"temperature", "nan"});
  refused({.temperature = infinity}, {"temperature", "finite", "inf"});
}

TEST_CASE("P-13: token ids outside the vocabulary are refused by the name of their field") {
  for (const Token id : {-1, vocab, std::numeric_limits<Token>::max()}) {
    refused({.logit_bias = {{id, 1.0f}}}, {"logit_bias", "[0, 50257)", std::to_string(id)});
    refused({.stop_token_ids = {5, id}}, {"stop_token_ids", "[0, 50257)", std::to_string(id)});
  }
}

TEST_CASE("every other field is refused outside its range, with name and value") {
  refused({.max_new_tokens = -1}, {"max_new_tokens", "-1"});
  refused({.top_k = -2}, {"top_k", "-2"});
  refused({.min_p = 1.25f}, {"min_p", "[0, 1]", "1.25"});
  refused({.min_p = not_a_number}, {"min_p"});
  refused({.typical_p = 0}, {"typical_p", "(0, 1]"});
  refused({.typical_p = 2}, {"typical_p", "(0, 1]"});
  refused({.typical_p = not_a_number}, {"typical_p"});
  refused({.repetition_penalty = 0}, {"repetition_penalty", "above 0"});
  refused({.repetition_penalty = infinity}, {"repetition_penalty", "inf"});
  refused({.repetition_penalty = not_a_number}, {"repetition_penalty"});
  refused({.no_repeat_ngram_size = -3}, {"no_repeat_ngram_size", "-3"});
  refused({.min_new_tokens = -1}, {"min_new_tokens"});
  refused({.presence_penalty = 2.5f}, {"presence_penalty", "[-2, 2]", "2.5"});
  refused({.frequency_penalty = -2.5f}, {"frequency_penalty", "[-2, 2]", "-2.5"});
  refused({.logit_bias = {{3, infinity}}}, {"logit_bias", "inf"});
  refused({.logit_bias = {{3, not_a_number}}}, {"logit_bias", "nan"});
  refused({.stop = {"a", ""}}, {"stop", "empty"});
}

TEST_CASE("temperatures below 1e-5 are greedy") {
  for (const float t : {0.0f, 1e-45f, 1e-38f, 1e-6f}) CHECK(is_greedy({.temperature = t}));
  for (const float t : {1e-5f, 0.1f, 1.0f}) CHECK_FALSE(is_greedy({.temperature = t}));
}

TEST_CASE("fresh seeds differ, from several threads too") {
  std::vector<std::uint64_t> seeds(64);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&seeds, t] {
      for (std::size_t i = t; i < seeds.size(); i += 4) seeds[i] = fresh_seed();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size() == seeds.size());
}

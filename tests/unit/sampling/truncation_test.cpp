// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/truncation.hpp>

#include "helpers.hpp"

using namespace gpt2ie;
using gpt2ie_test::kept;

namespace {

using Ids = std::vector<Token>;

// Probabilities .643914 .236883 .087144 .032059, entropy .947537.
const std::vector<float> steps = {2, 1, 0, -1};

}  // namespace

TEST_CASE("top_p keeps the fewest tokens that hold the mass") {
  CHECK(kept(steps, {.top_p = 0.5f}) == Ids{0});
  CHECK(kept(steps, {.top_p = 0.65f}) == Ids{0, 1});
  CHECK(kept(steps, {.top_p = 0.9f}) == Ids{0, 1, 2});
  CHECK(kept(steps, {.top_p = 0.99f}) == Ids{0, 1, 2, 3});
}

TEST_CASE("P-3: top_p = 0 keeps the best token, top_p = 1 all of them") {
  CHECK(kept({0, 1, 3, 3, 2}, {.top_p = 0}) == Ids{2});
  CHECK(kept(steps, {.top_p = 1}) == Ids{0, 1, 2, 3});
}

TEST_CASE("top_p before temperature and after it differ") {
  CHECK(kept(steps, {.temperature = 2, .top_p = 0.85f}) == Ids{0, 1, 2});
  CHECK(kept<sampling::LlamaCppOrder>(steps, {.temperature = 2, .top_p = 0.85f}) == Ids{0, 1});
}

TEST_CASE("top_p keeps the lowest ids of equally likely tokens") {
  CHECK(kept({1, 1, 1, 1}, {.top_p = 0.5f}) == Ids{0, 1});
  CHECK(kept({1, 1, 1, 1}, {.top_p = 0.51f}) == Ids{0, 1, 2});
  const std::vector<float> level(3000, 0.25f);
  const Ids half = kept(level, {.top_p = 0.5f});
  CHECK(half.size() == 1500);
  CHECK(half.back() == 1499);
}

TEST_CASE("min_p is relative to the best token, and equality stays") {
  CHECK(kept(steps, {.min_p = 0.2f}) == Ids{0, 1});
  CHECK(kept(steps, {.temperature = 2, .min_p = 0.2f}) == Ids{0, 1, 2, 3});
  CHECK(kept({1, 3, 3, 2}, {.min_p = 1}) == Ids{1, 2});
  CHECK(kept({std::log(2.0f), 0, -1}, {.min_p = 0.5f}) == Ids{0, 1});
}

TEST_CASE("typical keeps what is nearest to the entropy and may drop the best token") {
  CHECK(kept(steps, {.typical_p = 0.2f}) == Ids{1});
  CHECK(kept(steps, {.typical_p = 0.5f}) == Ids{0, 1});
}

TEST_CASE("top_k keeps all ties at the k-th score") {
  CHECK(kept({3, 1, 1, 0.5f}, {.top_k = 2}) == Ids{0, 1, 2});
  CHECK(kept({3, 1, 1, 0.5f}, {.top_k = 1}) == Ids{0});
}

TEST_CASE("top_k never brings back banned tokens") {
  const float never = detail::minus_infinity;
  CHECK(kept({3, never, 1, never}, {.top_k = 3}) == Ids{0, 2});
  CHECK(kept({3, 2, 1, 0}, {.top_k = 3, .no_repeat_ngram_size = 1}, {0, 3}) == Ids{1, 2});
}

TEST_CASE("P-4: top_k of 0, -1, the vocabulary or more keeps everything") {
  const std::vector<float> logits = gpt2ie_test::random_logits(50257, 3, 3);
  for (const int k : {0, -1, 50257, 1000000000}) {
    CAPTURE(k);
    CHECK(kept(logits, {.top_k = k}).size() == 50257);
  }
  CHECK(kept(logits, {.top_k = 50256}).size() == 50256);
}

TEST_CASE("kth_best counts from the top for every k") {
  const std::vector<float> logits = gpt2ie_test::random_logits(1000, 2, 4);
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  Candidates candidates(1000);
  candidates.assign(logits);
  for (std::size_t k = 1; k <= 1000; ++k) REQUIRE(candidates.kth_best(k) == sorted[k - 1]);
}

TEST_CASE("a score that overflows under the temperature is a named error") {
  SamplerChain<> chain({.temperature = 1e-4f}, 2, {});
  gpt2ie_test::check_error(errc::bad_logits, {"overflow"}, [&] { chain.pick(std::vector<float>{3e38f, 0}, {}, 0); });
}

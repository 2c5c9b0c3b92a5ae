// SPDX-License-Identifier: MIT
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/candidates.hpp>

#include "helpers.hpp"

using namespace gpt2ie;

namespace {

Candidates of(const std::vector<float>& logits) {
  Candidates candidates(static_cast<int>(logits.size()));
  candidates.assign(logits);
  return candidates;
}

}  // namespace

TEST_CASE("candidates start whole and keep ids beside scores when they narrow") {
  Candidates candidates = of({1, 5, 2, 4});
  CHECK(candidates.size() == 4);
  CHECK(candidates.id(2) == 2);
  CHECK(candidates.find(4) == nullptr);
  CHECK(candidates.find(-1) == nullptr);
  candidates.keep_at_least(2);
  REQUIRE(candidates.size() == 3);
  CHECK(candidates.id(0) == 1);
  CHECK(candidates.id(1) == 2);
  CHECK(candidates.id(2) == 3);
  CHECK(*candidates.find(3) == 4);
  CHECK(candidates.find(0) == nullptr);
  candidates.ban(1);
  CHECK(candidates.best() == 4);
  CHECK(candidates.best_id() == 3);
  candidates.assign(std::vector<float>{7, 1, 1, 1});
  CHECK(candidates.size() == 4);
  CHECK(candidates.best_id() == 0);
}

TEST_CASE("for_each_distinct visits once with the count, again and again") {
  Candidates candidates = of({0, 0, 0});
  for (int round = 0; round < 2; ++round) {
    std::vector<int> counts;
    candidates.for_each_distinct(std::vector<Token>{2, 0, 2, 2}, [&](float&, int times) { counts.push_back(times); });
    CHECK(counts == std::vector<int>{3, 1});
  }
}

TEST_CASE("P-9: a draw just below 1 gives the last token that was kept, not a later one") {
  const double last = std::nextafter(1.0, 0.0);
  for (const std::size_t n : {1u, 3u, 64u, 65u, 1000u, 5000u}) {
    Candidates candidates = of(std::vector<float>(n, 0.1f));
    if (n > 1) candidates.ban(static_cast<Token>(n - 1));
    const Token expected = static_cast<Token>(n > 1 ? n - 2 : 0);
    CHECK(candidates.at_quantile(last, candidates.weigh()) == expected);
    CHECK(candidates.at_quantile(1.0, candidates.weigh()) == expected);  // what a rounding error amounts to
  }
  Candidates spread = of({-200, 0, -200, 0, -200});
  CHECK(spread.at_quantile(last, spread.weigh()) == 3);
  CHECK(spread.at_quantile(0.0, spread.weigh()) == 1);
  CHECK(spread.at_quantile(0.5, spread.weigh()) == 3);
}

TEST_CASE("quantiles split the unit interval by probability, in order of ids") {
  Candidates candidates = of({std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)});
  const auto weights = candidates.weigh();
  CHECK(weights.total == doctest::Approx(2.5));
  CHECK(candidates.at_quantile(0.099, weights) == 0);
  CHECK(candidates.at_quantile(0.101, weights) == 1);
  CHECK(candidates.at_quantile(0.299, weights) == 1);
  CHECK(candidates.at_quantile(0.301, weights) == 2);
  CHECK(candidates.at_quantile(0.599, weights) == 2);
  CHECK(candidates.at_quantile(0.601, weights) == 3);
}

TEST_CASE("nothing left to pick is a named error") {
  Candidates candidates = of({1, 2});
  candidates.ban(0);
  candidates.ban(1);
  gpt2ie_test::check_error(errc::bad_logits, {"a token left to pick"}, [&] { candidates.weigh(); });
  gpt2ie_test::check_error(errc::bad_logits, {"a token left to pick"},
                           [&] { static_cast<void>(candidates.best_id()); });
}

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/planner/workload.hpp>

using namespace gpt2ie;

namespace {

template <class Value>
int median(const std::vector<SimulatedRequest>& requests, Value value) {
  std::vector<int> values;
  for (const SimulatedRequest& request : requests) values.push_back(value(request));
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("lengths are log-normal with the medians and the sigma asked for") {
  const auto requests = lognormal_workload({.requests = 20000, .max_length = 1 << 20});
  CHECK(std::abs(median(requests, [](const auto& r) { return r.prompt_tokens; }) - 128) <= 4);
  CHECK(std::abs(median(requests, [](const auto& r) { return r.answer_tokens; }) - 96) <= 3);
  double sum = 0, squares = 0, products = 0;
  for (const SimulatedRequest& request : requests) {
    const double log = std::log(request.prompt_tokens / 128.0);
    sum += log;
    squares += log * log;
    products += log * std::log(request.answer_tokens / 96.0);
  }
  const double n = static_cast<double>(requests.size());
  CHECK(std::abs(sum / n) < 0.02);
  CHECK(std::sqrt(squares / n) == doctest::Approx(0.8).epsilon(0.02));
  CHECK(std::abs(products / n) < 0.02);  // prompts and answers know nothing of each other
}

TEST_CASE("prompt and answer together are cut to the longest sequence") {
  bool cut = false;
  for (const SimulatedRequest& request : lognormal_workload({.requests = 5000, .max_length = 300})) {
    CHECK(request.prompt_tokens >= 1);
    CHECK(request.answer_tokens >= 1);
    CHECK(request.prompt_tokens + request.answer_tokens <= 300);
    CHECK(request.arrival_s == 0);
    cut |= request.prompt_tokens + request.answer_tokens == 300;
  }
  CHECK(cut);
}

TEST_CASE("the same seed gives the same requests, and more of them change none of the first") {
  const auto once = lognormal_workload({.requests = 50, .rate = 2}),
             again = lognormal_workload({.requests = 50, .rate = 2});
  CHECK(once == again);
  auto longer = lognormal_workload({.requests = 80, .rate = 2});
  longer.resize(50);
  CHECK(once == longer);
  CHECK(once != lognormal_workload({.requests = 50, .rate = 2, .seed = 8}));
}

TEST_CASE("a rate spreads the arrivals as a Poisson process") {
  const auto requests = lognormal_workload({.requests = 20000, .rate = 4});
  double last = 0, squares = 0;
  for (const SimulatedRequest& request : requests) {
    CHECK(request.arrival_s >= last);
    squares += (request.arrival_s - last) * (request.arrival_s - last);
    last = request.arrival_s;
  }
  CHECK(last / 20000 == doctest::Approx(0.25).epsilon(0.03));
  CHECK(squares / 20000 == doctest::Approx(2 * 0.25 * 0.25).epsilon(0.06));  // of an exponential distribution
}

TEST_CASE("requests have tokens of their own") {
  int same = 0;
  for (int position = 0; position < 1000; ++position) {
    const Token token = simulated_token(7, 0, position);
    CHECK(token >= 0);
    CHECK(token < 50257);
    CHECK(token == simulated_token(7, 0, position));
    if (token == simulated_token(7, 1, position)) ++same;
  }
  CHECK(same < 5);
}

TEST_CASE("options out of range are refused with what is wrong") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const WorkloadOptions& options :
       {WorkloadOptions{.requests = 0}, WorkloadOptions{.prompt_median = 0.5}, WorkloadOptions{.answer_median = nan},
        WorkloadOptions{.sigma = -1}, WorkloadOptions{.sigma = infinity}, WorkloadOptions{.max_length = 1},
        WorkloadOptions{.rate = -0.5}}) {
    CHECK_THROWS_AS(lognormal_workload(options), Error);
  }
  CHECK_THROWS_WITH(lognormal_workload({.requests = -3}), "gpt2ie: expected at least 1 request, found -3.000000");
}

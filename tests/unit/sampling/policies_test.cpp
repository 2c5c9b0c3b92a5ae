// SPDX-License-Identifier: MIT
// Every shipped order against the slow oracle, on random requests with ties, bans and history.
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/sampling/policies.hpp>

#include "helpers.hpp"
#include "oracle.hpp"

using namespace gpt2ie;

namespace {

std::atomic<int> allocations{0};

}  // namespace

// Not inlined: GCC would see free() beside new and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

struct RandomCase {
  GenerateOptions options;
  std::vector<float> logits;
  std::vector<Token> tokens;
  std::size_t prompt_length;
  std::vector<Token> eos;
};

RandomCase random_case(unsigned seed) {
  std::mt19937 bits(seed);
  const auto below = [&](unsigned n) { return static_cast<int>(bits() % n); };
  const auto one_of = [&](std::vector<float> values) {
    return values[static_cast<std::size_t>(below(static_cast<unsigned>(values.size())))];
  };
  const std::vector<int> sizes = {5, 64, 130, 600, 3000};
  const int vocab = sizes[static_cast<std::size_t>(below(5))];

  RandomCase result;
  result.logits = gpt2ie_test::random_logits(static_cast<std::size_t>(vocab), one_of({0.01f, 1, 4}), seed + 1000);
  if (below(2) == 0) {
    for (float& x : result.logits) x = std::round(x * 4) / 4;
  }
  for (int i = below(20); i > 0; --i) result.tokens.push_back(below(2) == 0 ? below(3) : below(unsigned(vocab)));
  result.prompt_length = static_cast<std::size_t>(below(static_cast<unsigned>(result.tokens.size()) + 1));
  result.eos = {below(unsigned(vocab))};
  result.options = {.temperature = one_of({1, 1, 0.7f, 2}),
                    .top_k = static_cast<int>(one_of({0, 0, 3, 40, 900})),
                    .top_p = one_of({1, 1, 0, 0.3f, 0.9f, 0.97f}),
                    .min_p = one_of({0, 0, 0.02f, 0.3f}),
                    .typical_p = one_of({1, 1, 0.2f, 0.9f}),
                    .repetition_penalty = one_of({1, 1.3f, 0.8f}),
                    .no_repeat_ngram_size = below(vocab > 5 ? 4 : 1),
                    .min_new_tokens = below(10),
                    .presence_penalty = one_of({0, 0.5f}),
                    .frequency_penalty = one_of({0, -0.5f})};
  if (below(2) == 0) result.options.logit_bias = {{0, 1.5f}, {below(unsigned(vocab)), detail::minus_infinity}};
  return result;
}

// The sum of absolute differences of probabilities.
template <class Order>
double distance_to_oracle(const RandomCase& c) {
  gpt2ie_test::SamplingOracle oracle(c.options, c.logits, c.tokens, c.prompt_length, c.eos);
  std::vector<double> difference =
      std::same_as<Order, sampling::HuggingFaceOrder> ? oracle.hugging_face() : oracle.llama_cpp();
  SamplerChain<Order> chain(c.options, static_cast<int>(c.logits.size()), c.eos);
  for (const TokenProbability& p : chain.distribution(c.logits, c.tokens, c.prompt_length)) {
    difference[static_cast<std::size_t>(p.token)] -= p.probability;
  }
  double sum = 0;
  for (const double d : difference) sum += std::abs(d);
  return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("an order agrees with the oracle on random requests", Order, sampling::HuggingFaceOrder,
                   sampling::LlamaCppOrder) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    REQUIRE(distance_to_oracle<Order>(random_case(seed)) < 1e-5);
  }
}

TEST_CASE("two chains of any shipped order give the same draws") {
  sampling::Orders::for_each([]<class Order>() {
    for (unsigned seed = 0; seed < 50; ++seed) {
      RandomCase c = random_case(seed);
      c.options.seed = seed;
      const int vocab = static_cast<int>(c.logits.size());
      SamplerChain<Order> first(c.options, vocab, c.eos), second(c.options, vocab, c.eos);
      REQUIRE(first.pick(c.logits, c.tokens, c.prompt_length) == second.pick(c.logits, c.tokens, c.prompt_length));
    }
  });
}

TEST_CASE_TEMPLATE("picking allocates nothing", Order, sampling::HuggingFaceOrder, sampling::LlamaCppOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomCase c = random_case(seed);
    SamplerChain<Order> chain(c.options, static_cast<int>(c.logits.size()), c.eos);
    const int before = allocations;
    chain.pick(c.logits, c.tokens, c.prompt_length);
    REQUIRE(allocations == before);
  }
}

// SPDX-License-Identifier: MIT
/// Models of unusual kinds against GPT-2 in float64, on both CPU backends.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/backend/policies.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

#include "support/any_executor.hpp"
#include "support/gpt2_oracle.hpp"
#include "support/random_checkpoint.hpp"
#include "support/steps.hpp"
#include "support/tolerance.hpp"

namespace gpt2ie_test {
namespace {

namespace attention = gpt2ie::attention;
namespace backend = gpt2ie::backend;
namespace kv = gpt2ie::kv;
using gpt2ie::Activation;
using gpt2ie::type_list;

/// One combination of each backend.
std::vector<Combination> both_backends(const gpt2ie::Checkpoint& checkpoint) {
  std::vector<Combination> both =
      combinations<backend::SimdCpu<float>, type_list<kv::Paged<float, 16>>, type_list<attention::Flash<64, 64>>>(
          checkpoint);
  for (Combination& combination :
       combinations<backend::EigenCpu<float>, type_list<kv::Contiguous<float>>, type_list<attention::Standard>>(
           checkpoint)) {
    both.push_back(std::move(combination));
  }
  REQUIRE(both.size() == 2);
  return both;
}

/// Logits of 40 tokens equal float64's.
void check_model(const gpt2ie::Checkpoint& checkpoint) {
  const Tokens tokens = make_tokens(40, checkpoint.config().vocab);
  const std::vector<double> expected = Gpt2Oracle(checkpoint).logits(tokens);
  for (const Combination& combination : both_backends(checkpoint)) {
    INFO(combination.name());
    const auto executor = combination.make(limits_for(1, 40), 1);
    const Logits found = advance(*executor, open(*executor), tokens);
    const Difference error = difference(std::span<const float>(found), std::span<const double>(expected),
                                        reference_tolerance, reference_tolerance);
    CHECK_MESSAGE(error.worst <= 1, "off by ", error.largest);
  }
}

/// activation(x) of each element of x, by a product with 1.
template <class B>
std::vector<float> activated(Activation activation, const std::vector<float>& x) {
  const B cpu(1);
  const auto one = cpu.pack({.in = 1, .out = 1, .read_row = [](int /*row*/, float* to) { *to = 1; }});
  std::vector<float> y(x.size());
  cpu.linear(one, x.data(), static_cast<int>(x.size()), y.data(), {.activation = activation});
  return y;
}

template <class B>
void check_activations() {
  CHECK(activated<B>(Activation::gelu_tanh, {1})[0] == doctest::Approx(.84119199).epsilon(1e-7));
  CHECK(activated<B>(Activation::gelu, {1})[0] == doctest::Approx(.84134475).epsilon(1e-7));
  CHECK(activated<B>(Activation::quick_gelu, {1})[0] == doctest::Approx(.84579577).epsilon(1e-7));

  std::vector<float> x;
  for (int i = -12000; i <= 12000; ++i) x.push_back(static_cast<float>(i) * 1e-3f);
  for (const Activation activation : {Activation::none, Activation::gelu_tanh, Activation::gelu, Activation::quick_gelu,
                                      Activation::relu, Activation::silu, Activation::tanh}) {
    CAPTURE(static_cast<int>(activation));
    std::vector<double> expected;
    for (const float value : x) expected.push_back(oracle_activation(activation, static_cast<double>(value)));
    const std::vector<float> found = activated<B>(activation, x);
    CHECK(difference(std::span<const float>(found), std::span<const double>(expected), 1e-6, 1e-6).worst <= 1);
  }
  const std::vector<float> tanh_form = activated<B>(Activation::gelu_tanh, x);
  const std::vector<float> exact = activated<B>(Activation::gelu, x), quick = activated<B>(Activation::quick_gelu, x);
  const auto gap = [&](const std::vector<float>& other) {
    return difference(std::span<const float>(tanh_form), std::span<const float>(other), 1, 0).largest;
  };
  CHECK(gap(exact) == doctest::Approx(4.7e-4).epsilon(0.02));
  CHECK(gap(quick) == doctest::Approx(2.1e-2).epsilon(0.05));
}

/// The same values as 16-bit floats, and what they round to.
gpt2ie::Tensor as_halves(const gpt2ie::Tensor& tensor) {
  std::vector<float> floats(tensor.size());
  gpt2ie::read_floats(tensor, 0, floats.size(), floats.data());
  const auto halves = std::make_shared<std::vector<gpt2ie::f16>>();
  for (const float value : floats) halves->push_back(gpt2ie::from_float<gpt2ie::f16>(value));
  return {tensor.name, gpt2ie::DType::f16, tensor.shape, std::as_bytes(std::span(*halves)), halves};
}

}  // namespace

TEST_CASE("C-4: the square c_proj is [in, out], and every option of the configuration counts") {
  const gpt2ie::ModelConfig base = small_config(3, 20, 64);
  check_model(random_checkpoint(base));
  const std::vector<std::function<void(gpt2ie::ModelConfig&)>> changes = {
      [](auto& c) { c.scale_attn_weights = false; },
      [](auto& c) { c.scale_attn_by_inverse_layer_idx = true; },
      [](auto& c) { c.layer_norm_epsilon = 1e-2f; },
      [](auto& c) { c.n_inner = 17; },
      [](auto& c) { c.n_head = 60; },
      [](auto& c) { c.n_head = 1; },
      [](auto& c) { c.n_layer = 1; },
      [](auto& c) { c.vocab = 16; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    gpt2ie::ModelConfig config = base;
    changes[i](config);
    check_model(random_checkpoint(config));
  }
}

TEST_CASE("C-5: values of the activations") {
  check_activations<backend::SimdCpu<float>>();
  check_activations<backend::EigenCpu<float>>();
}

TEST_CASE("C-5: a model with each activation") {
  for (const Activation activation : {Activation::gelu_tanh, Activation::gelu, Activation::quick_gelu, Activation::relu,
                                      Activation::silu, Activation::tanh}) {
    CAPTURE(static_cast<int>(activation));
    gpt2ie::ModelConfig config = small_config(2, 20, 64);
    config.activation = activation;
    check_model(random_checkpoint(config));
  }
}

TEST_CASE("C-3: a head of its own is used, a tied one is the embeddings") {
  gpt2ie::ModelConfig config = small_config(2, 20, 64);
  check_model(random_checkpoint(config));
  for (const bool tied : {false, true}) {
    config.tie_word_embeddings = tied;
    std::vector<gpt2ie::Tensor> tensors = random_tensors(config);
    const gpt2ie::Shape shape = {config.vocab, config.n_embd};
    tensors.push_back(gpt2ie::float_tensor(
        "lm_head.weight", shape, random_floats(static_cast<std::size_t>(config.vocab * config.n_embd), 0.3f, 99)));
    check_model(checkpoint_of(config, std::move(tensors)));
  }
}

TEST_CASE("C-6: 17 heads of 64, exact GELU, and position 2047 of 2048") {
  gpt2ie::ModelConfig config = small_config(17, 64, 2048);
  config.n_layer = 1;
  config.n_inner = 96;
  config.activation = Activation::gelu;
  const gpt2ie::Checkpoint checkpoint = checkpoint_of(config, random_tensors(config, 0.05f));
  const Tokens tokens = make_tokens(2048, config.vocab);
  std::vector<Logits> last;
  for (const Combination& combination : both_backends(checkpoint)) {
    INFO(combination.name());
    const auto executor = combination.make(limits_for(1, 512), 2);
    const gpt2ie::SeqId seq = open(*executor);
    for (std::size_t first = 0; first < 2048; first += 512) {
      gpt2ie::Step step = plan(*executor, {{seq, std::span(tokens).subspan(first, 512)}});
      step.logit_rows = {511};
      REQUIRE(executor->reserve(step));
      const std::span<const float> logits = executor->run(step);
      if (first == 1536) last.emplace_back(logits.begin(), logits.end());
      executor->commit(step);
    }
    CHECK(executor->length(seq) == 2048);
    const gpt2ie::Step beyond = plan(*executor, {{seq, std::span(tokens).first(1)}});
    CHECK_FALSE(executor->reserve(beyond));
    CHECK_THROWS_AS(static_cast<void>(executor->run(beyond)), gpt2ie::Error);
  }
  CHECK(std::all_of(last[0].begin(), last[0].end(), [](float x) { return std::isfinite(x); }));
  CHECK(within(std::span<const float>(last[0]), std::span<const float>(last[1]), 1e-4));
}

TEST_CASE("N-6: 16-bit weights and hidden states in the thousands lose no token") {
  gpt2ie::ModelConfig config = small_config(2, 20, 64);
  config.tie_word_embeddings = false;
  std::vector<gpt2ie::Tensor> tensors;
  for (const gpt2ie::Tensor& tensor : random_tensors(config)) {
    std::vector<float> values(tensor.size());
    gpt2ie::read_floats(tensor, 0, values.size(), values.data());
    const bool large = tensor.name.starts_with("w") || tensor.name.ends_with("c_proj.weight");
    for (float& value : values) value *= large ? 2000.0f : 1.0f;
    tensors.push_back(as_halves(gpt2ie::float_tensor(tensor.name, tensor.shape, values)));
  }
  tensors.push_back(
      as_halves(gpt2ie::float_tensor("lm_head.weight", {config.vocab, config.n_embd},
                                     random_floats(static_cast<std::size_t>(config.vocab * config.n_embd), 0.5f, 5))));
  const gpt2ie::Checkpoint checkpoint = checkpoint_of(config, std::move(tensors));

  const Gpt2Oracle oracle(checkpoint);
  Tokens expected = make_tokens(4, config.vocab);
  const Tokens prompt = expected;
  double largest = 0;
  for (int i = 0; i < 24; ++i) {
    const std::vector<double> logits = oracle.logits(expected, &largest);
    const auto row = std::span(logits).last(static_cast<std::size_t>(config.vocab));
    expected.push_back(static_cast<gpt2ie::Token>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  CHECK(largest > 3e3);
  for (const Combination& combination : both_backends(checkpoint)) {
    INFO(combination.name());
    const auto executor = combination.make(limits_for(1, 64), 1);
    CHECK(greedy(*executor, prompt, 24) == expected);
  }
}

}  // namespace gpt2ie_test

// SPDX-License-Identifier: MIT
/// backend::SimdCpu: its operations against double, and a row's bits in any company.
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/simd_cpu.hpp>

#include "support/tolerance.hpp"
#include "unit/backend/operations.hpp"

using Backend = gpt2ie::backend::SimdCpu<float>;

TEST_CASE("products equal double") {
  gpt2ie_test::check_products(Backend(1));
  gpt2ie_test::check_products(Backend(2));
}

TEST_CASE("layer norm equals double") { gpt2ie_test::check_layer_norm(Backend(1)); }

TEST_CASE("embeddings are sums of two columns") { gpt2ie_test::check_embed(Backend(1)); }

TEST_CASE("a row of a product has the same bits alone, in any batch and with any number of threads") {
  CHECK(Backend::row_invariant);
  for (const auto& [in, out] : {std::pair(64, 192), std::pair(600, 37), std::pair(7, 16)}) {
    CAPTURE(in);
    const gpt2ie_test::Product p(131, in, out);
    const gpt2ie::Epilogue epilogue{
        .bias = p.bias.data(), .activation = gpt2ie::Activation::gelu_tanh, .residual = p.residual.data()};
    const Backend one(1), three(3);
    const auto w = one.pack(p.source(false));
    const std::vector<float> batch = gpt2ie_test::multiply(one, w, p.x.data(), p.rows, out, epilogue);
    CHECK(gpt2ie_test::same_bits(gpt2ie_test::multiply(three, w, p.x.data(), p.rows, out, epilogue), batch));
    for (const int rows : {1, 2, 3, 64, 65}) {
      CAPTURE(rows);
      bool same = true;
      for (int r = 0; r + rows <= p.rows; r += 13) {
        gpt2ie::Epilogue part = epilogue;
        part.residual += r * out;
        const auto some = gpt2ie_test::multiply(one, w, p.x.data() + r * in, rows, out, part);
        same = same &&
               gpt2ie_test::same_bits(some, std::span(batch).subspan(static_cast<std::size_t>(r * out), some.size()));
      }
      CHECK(same);
    }
  }
}

TEST_CASE_TEMPLATE("integer weights: a row has the same bits in any company, near to double", W, gpt2ie::int8,
                   gpt2ie::int4) {
  using Cpu = gpt2ie::backend::SimdCpu<W>;
  for (const gpt2ie::Isa isa : gpt2ie::all_isas) {
    if (!gpt2ie::has_isa(isa)) continue;
    for (const auto& [in, out] : {std::pair(64, 192), std::pair(600, 37), std::pair(7, 16)}) {
      CAPTURE(in);
      const gpt2ie_test::Product p(131, in, out);
      const Cpu one(1, isa), three(3, isa);
      const auto w = one.pack(p.source(false));
      const std::vector<float> batch = gpt2ie_test::multiply(one, w, p.x.data(), p.rows, out, {});
      CHECK(gpt2ie_test::same_bits(
          gpt2ie_test::multiply(three, three.pack(p.source(true)), p.x.data(), p.rows, out, {}), batch));
      for (const int rows : {1, 2, 64, 65}) {
        bool same = true;
        for (int r = 0; r + rows <= p.rows; r += 13) {
          const auto some = gpt2ie_test::multiply(one, w, p.x.data() + r * in, rows, out, {});
          same = same &&
                 gpt2ie_test::same_bits(some, std::span(batch).subspan(static_cast<std::size_t>(r * out), some.size()));
        }
        CHECK(same);
      }
      // What rounding weights and activations costs: steps of about 1 / 127 or 1 / 8 of the largest, as random walks.
      double error = 0, size = 0;
      for (int r = 0; r < p.rows; ++r) {
        for (int c = 0; c < out; ++c) {
          const double exact = p.element(r, c, {}).value;
          const double off = static_cast<double>(batch[static_cast<std::size_t>(r * out + c)]) - exact;
          error += off * off;
          size += exact * exact;
        }
      }
      CHECK(error < size * (gpt2ie::one_of<W, gpt2ie::int8> ? 1e-4 : 2e-2));
    }
  }
}

TEST_CASE("packed bytes are adopted where they lie, if they are as many as the matrix takes") {
  const Backend cpu(1);
  const gpt2ie_test::Product p(2, 40, 33);
  const auto w = cpu.pack(p.source(false));
  const std::size_t size = Backend::matrix::elements(40, 33);
  const auto bytes = std::as_bytes(std::span(w.data(), size));
  const auto adopted = cpu.adopt({.in = 40, .out = 33, .bytes = bytes, .owner = nullptr});
  REQUIRE(adopted);
  CHECK(adopted->data() == w.data());
  CHECK(gpt2ie_test::same_bits(gpt2ie_test::multiply(cpu, *adopted, p.x.data(), 2, 33, {}),
                               gpt2ie_test::multiply(cpu, w, p.x.data(), 2, 33, {})));
  CHECK_FALSE(cpu.adopt({.in = 41, .out = 33, .bytes = bytes, .owner = nullptr}));
  CHECK_FALSE(cpu.adopt({.in = 40, .out = 33, .bytes = bytes.subspan(1), .owner = nullptr}));
}

TEST_CASE("a row of a layer norm has the same bits alone and in a batch") {
  const std::vector<float> x = gpt2ie_test::random_floats(7 * 77, 3, 1), w = gpt2ie_test::random_floats(77, 1, 2);
  const Backend one(1), three(3);
  std::vector<float> batch(x.size()), alone(x.size());
  three.layer_norm(x.data(), 7, 77, w.data(), w.data(), 1e-5f, batch.data());
  for (int r = 0; r < 7; ++r) {
    one.layer_norm(x.data() + r * 77, 1, 77, w.data(), w.data(), 1e-5f, alone.data() + r * 77);
  }
  CHECK(gpt2ie_test::same_bits(alone, batch));
}

TEST_CASE("N-6: sums of values near 3e3 lose nothing") {
  gpt2ie_test::Product p(2, 768, 33);
  for (float& x : p.x) x *= 3000;
  const Backend backend(1);
  gpt2ie_test::check_product(backend, p, {});
}

TEST_CASE("matrices outlive the backend that packed them, and others use them") {
  const gpt2ie_test::Product p(2, 8, 20);
  Backend::matrix w;
  {
    const Backend packer(2);
    w = packer.pack(p.source(false));
  }
  const Backend first(1), second(1);
  CHECK(gpt2ie_test::same_bits(gpt2ie_test::multiply(first, w, p.x.data(), 2, 20, {}),
                               gpt2ie_test::multiply(second, w, p.x.data(), 2, 20, {})));
}

// SPDX-License-Identifier: MIT
/// A backend's operations against double. Included by one test program for each CPU backend.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/core/math.hpp>

#include "support/random_checkpoint.hpp"

namespace gpt2ie_test {

/// y[rows, out] = epilogue(x[rows, in] W), all random.
struct Product {
  int rows, in, out;
  std::vector<float> x, w, bias, residual;  // w: [in, out]

  Product(int rows_, int in_, int out_) : rows(rows_), in(in_), out(out_) {
    const auto size = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
    x = random_floats(size(rows, in), 1, 1);
    w = random_floats(size(in, out), 1, 2);
    bias = random_floats(size(1, out), 2, 3);
    residual = random_floats(size(rows, out), 2, 4);
  }

  /// The matrix as a checkpoint would give it, stored in either direction.
  [[nodiscard]] gpt2ie::MatrixSource source(bool out_major) const {
    return {.in = in, .out = out, .out_major = out_major, .read_row = [this, out_major](int row, float* to) {
              for (int i = 0; i < (out_major ? in : out); ++i) to[i] = out_major ? weight(i, row) : weight(row, i);
            }};
  }
  [[nodiscard]] float weight(int k, int column) const {
    return w[static_cast<std::size_t>(k) * static_cast<std::size_t>(out) + static_cast<std::size_t>(column)];
  }

  /// One element of y in double, and how large the sum's parts are.
  struct Element {
    double value, magnitude;
  };
  [[nodiscard]] Element element(int row, int column, const gpt2ie::Epilogue& epilogue) const {
    Element sum{0, 0};
    for (int k = 0; k < in; ++k) {
      const double product =
          static_cast<double>(x[static_cast<std::size_t>(row * in + k)]) * static_cast<double>(weight(k, column));
      sum.value += product;
      sum.magnitude += std::abs(product);
    }
    if (epilogue.bias) sum.value += static_cast<double>(epilogue.bias[column]);
    float value = static_cast<float>(sum.value);
    gpt2ie::activate(epilogue.activation, &value, 1);
    if (epilogue.activation != gpt2ie::Activation::none) sum.value = static_cast<double>(value);
    if (epilogue.residual) sum.value += static_cast<double>(epilogue.residual[row * out + column]);
    sum.magnitude += 4;
    return sum;
  }
};

template <class B>
std::vector<float> multiply(const B& backend, const typename B::matrix& w, const float* x, int rows, int out,
                            const gpt2ie::Epilogue& epilogue) {
  std::vector<float> y(static_cast<std::size_t>(rows) * static_cast<std::size_t>(out), NAN);
  backend.linear(w, x, rows, y.data(), epilogue);
  backend.wait();
  return y;
}

template <class B>
void check_product(const B& backend, const Product& p, const gpt2ie::Epilogue& epilogue) {
  CAPTURE(p.rows);
  CAPTURE(p.in);
  CAPTURE(p.out);
  for (const bool out_major : {false, true}) {
    const auto w = backend.pack(p.source(out_major));
    const std::vector<float> y = multiply(backend, w, p.x.data(), p.rows, p.out, epilogue);
    int wrong = 0;
    for (int r = 0; r < p.rows; ++r) {
      for (int c = 0; c < p.out; ++c) {
        const Product::Element expected = p.element(r, c, epilogue);
        const double found = static_cast<double>(y[static_cast<std::size_t>(r * p.out + c)]);
        wrong += !(std::abs(found - expected.value) <= 2e-6 * expected.magnitude);
      }
    }
    CHECK(wrong == 0);
  }
}

/// Products of odd shapes with every combination of an epilogue's parts.
template <class B>
void check_products(const B& backend) {
  for (const int rows : {1, 2, 5, 64, 67}) {
    for (const int in : {1, 3, 64}) {
      for (const int out : {1, 15, 16, 17, 40}) check_product(backend, Product(rows, in, out), {});
    }
  }
  check_product(backend, Product(3, 600, 33), {});
  const Product p(5, 40, 37);
  for (const float* bias : {static_cast<const float*>(nullptr), p.bias.data()}) {
    for (const float* residual : {static_cast<const float*>(nullptr), p.residual.data()}) {
      check_product(backend, p, {.bias = bias, .residual = residual});
    }
  }
  for (const auto activation : {gpt2ie::Activation::gelu_tanh, gpt2ie::Activation::gelu, gpt2ie::Activation::quick_gelu,
                                gpt2ie::Activation::relu, gpt2ie::Activation::silu, gpt2ie::Activation::tanh}) {
    CAPTURE(static_cast<int>(activation));
    check_product(backend, p, {.bias = p.bias.data(), .activation = activation, .residual = p.residual.data()});
  }
}

template <class B>
void check_layer_norm(const B& backend) {
  for (const int n : {1, 2, 20, 768}) {
    CAPTURE(n);
    constexpr int rows = 3;
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> x = random_floats(size * rows, 3, 5);
    for (std::size_t i = 0; i < size; ++i) x[size + i] += 3000;  // a row far from 0, as hidden states of GPT-2 are
    const std::vector<float> weight = random_floats(size, 1, 6), bias = random_floats(size, 1, 7);
    std::vector<float> y(size * rows, NAN);
    backend.layer_norm(x.data(), rows, n, weight.data(), bias.data(), 1e-5f, y.data());
    backend.wait();
    for (std::size_t r = 0; r < rows; ++r) {
      double mean = 0, variance = 0, worst = 0;
      for (std::size_t i = 0; i < size; ++i) mean += static_cast<double>(x[r * size + i]) / n;
      for (std::size_t i = 0; i < size; ++i) variance += std::pow(static_cast<double>(x[r * size + i]) - mean, 2) / n;
      for (std::size_t i = 0; i < size; ++i) {
        const double expected = (static_cast<double>(x[r * size + i]) - mean) / std::sqrt(variance + 1e-5) *
                                    static_cast<double>(weight[i]) +
                                static_cast<double>(bias[i]);
        worst = std::max(worst, std::abs(static_cast<double>(y[r * size + i]) - expected));
      }
      CHECK(worst < (r == 1 ? 3e-4 : 2e-6));  // half a unit in the last place of 3000 is 1.2e-4
    }
  }
}

template <class B>
void check_embed(const B& backend) {
  const Product words(1, 21, 35), places(1, 21, 18);
  const auto wte = backend.pack(words.source(true)), wpe = backend.pack(places.source(true));
  const std::vector<gpt2ie::Token> tokens = {34, 0, 16, 16};
  const std::vector<int> positions = {17, 0, 16, 3};
  std::vector<float> y(4 * 21, NAN);
  backend.embed(wte, wpe, tokens.data(), positions.data(), 4, y.data());
  backend.wait();
  int wrong = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    for (int i = 0; i < 21; ++i) {
      wrong += y[r * 21 + static_cast<std::size_t>(i)] != words.weight(i, tokens[r]) + places.weight(i, positions[r]);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace gpt2ie_test

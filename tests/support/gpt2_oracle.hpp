// SPDX-License-Identifier: MIT
/// GPT-2 in float64, written down from its definition: slow, plain, and of no common code with the library but the
/// reading of tensors.
///
/// Legend: T tokens, E = n_embd, I = n_inner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/tensor.hpp>

namespace gpt2ie_test {

inline double oracle_activation(gpt2ie::Activation activation, double x) {
  switch (activation) {
    case gpt2ie::Activation::none:
      return x;
    case gpt2ie::Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case gpt2ie::Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case gpt2ie::Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case gpt2ie::Activation::relu:
      return std::max(x, 0.0);
    case gpt2ie::Activation::silu:
      return x / (1 + std::exp(-x));
    case gpt2ie::Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

/// The whole of one model in float64.
class Gpt2Oracle {
 public:
  explicit Gpt2Oracle(gpt2ie::Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  /// Logits of all tokens, [T, vocab]. The largest magnitude of any hidden state goes to *largest_hidden.
  [[nodiscard]] std::vector<double> logits(std::span<const gpt2ie::Token> tokens,
                                           double* largest_hidden = nullptr) const {
    const gpt2ie::ModelConfig& config = checkpoint_.config();
    const auto embd = static_cast<std::size_t>(config.n_embd);
    const std::vector<double> wte = values("wte.weight"), wpe = values("wpe.weight");
    std::vector<double> x;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const auto token = static_cast<std::size_t>(tokens[t]);
      for (std::size_t e = 0; e < embd; ++e) x.push_back(wte[token * embd + e] + wpe[t * embd + e]);
    }
    for (int layer = 0; layer < config.n_layer; ++layer) {
      const std::string h = "h." + std::to_string(layer) + ".";
      const std::vector<double> qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn");
      add(x, linear(attend(qkv, layer), h + "attn.c_proj"));
      std::vector<double> middle = linear(norm(x, h + "ln_2"), h + "mlp.c_fc");
      for (double& value : middle) value = oracle_activation(config.activation, value);
      add(x, linear(middle, h + "mlp.c_proj"));
      for (const double value : x) {
        if (largest_hidden) *largest_hidden = std::max(*largest_hidden, std::abs(value));
      }
    }
    const std::vector<double> last = norm(x, "ln_f");
    const std::vector<double> head = checkpoint_.has_own_head() ? values("lm_head.weight") : wte;
    std::vector<double> out;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      for (std::size_t v = 0; v < static_cast<std::size_t>(config.vocab); ++v) {
        double sum = 0;
        for (std::size_t e = 0; e < embd; ++e) sum += last[t * embd + e] * head[v * embd + e];
        out.push_back(sum);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::vector<double> values(const std::string& key) const {
    const gpt2ie::Tensor tensor = checkpoint_.tensor(key);
    std::vector<float> floats(tensor.size());
    gpt2ie::read_floats(tensor, 0, floats.size(), floats.data());
    return {floats.begin(), floats.end()};
  }

  [[nodiscard]] std::vector<double> norm(std::vector<double> x, const std::string& name) const {
    const std::vector<double> weight = values(name + ".weight"), bias = values(name + ".bias");
    const std::size_t n = weight.size();
    for (std::size_t first = 0; first < x.size(); first += n) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < n; ++i) mean += x[first + i] / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) variance += std::pow(x[first + i] - mean, 2) / static_cast<double>(n);
      const double scale = 1 / std::sqrt(variance + static_cast<double>(checkpoint_.config().layer_norm_epsilon));
      for (std::size_t i = 0; i < n; ++i) x[first + i] = (x[first + i] - mean) * scale * weight[i] + bias[i];
    }
    return x;
  }

  /// x [T, in] times weight [in, out] plus bias [out].
  [[nodiscard]] std::vector<double> linear(const std::vector<double>& x, const std::string& name) const {
    const std::vector<double> weight = values(name + ".weight"), bias = values(name + ".bias");
    const std::size_t out = bias.size(), in = weight.size() / out;
    std::vector<double> y;
    for (std::size_t first = 0; first < x.size(); first += in) {
      y.insert(y.end(), bias.begin(), bias.end());
      double* row = y.data() + y.size() - out;
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o) row[o] += x[first + i] * weight[i * out + o];
      }
    }
    return y;
  }

  /// qkv [T, 3E] to [T, E].
  [[nodiscard]] std::vector<double> attend(const std::vector<double>& qkv, int layer) const {
    const gpt2ie::ModelConfig& config = checkpoint_.config();
    const auto embd = static_cast<std::size_t>(config.n_embd), rows = qkv.size() / (3 * embd);
    double scale = config.scale_attn_weights ? 1 / std::sqrt(static_cast<double>(config.head_dim())) : 1;
    if (config.scale_attn_by_inverse_layer_idx) scale /= layer + 1;
    std::vector<double> q, k, v;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto from = qkv.begin() + static_cast<std::ptrdiff_t>(3 * embd * row);
      const auto e = static_cast<std::ptrdiff_t>(embd);
      q.insert(q.end(), from, from + e);
      k.insert(k.end(), from + e, from + 2 * e);
      v.insert(v.end(), from + 2 * e, from + 3 * e);
    }
    std::vector<double> out(q.size(), 0.0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t at = 0; at < embd; at += static_cast<std::size_t>(config.head_dim())) {
        const std::size_t end = at + static_cast<std::size_t>(config.head_dim());
        std::vector<double> weight(row + 1, 0.0);
        for (std::size_t j = 0; j <= row; ++j) {
          for (std::size_t d = at; d < end; ++d) weight[j] += scale * q[row * embd + d] * k[j * embd + d];
        }
        const double largest = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& w : weight) sum += w = std::exp(w - largest);
        for (std::size_t j = 0; j <= row; ++j) {
          for (std::size_t d = at; d < end; ++d) out[row * embd + d] += weight[j] / sum * v[j * embd + d];
        }
      }
    }
    return out;
  }

  static void add(std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  gpt2ie::Checkpoint checkpoint_;
};

}  // namespace gpt2ie_test

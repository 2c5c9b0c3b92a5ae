// SPDX-License-Identifier: MIT
/// backend::EigenCpu: every operation as a line of Eigen. The readable reference that faster backends are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Core>

#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/math.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace backend {

/// W: precision of the weights; float. Do not choose it for speed: SimdCpu decodes several times faster.
///
/// Eigen picks other kernels for other numbers of rows, so a row's last bits may differ between a batch and the row
/// alone.
template <class W>
class EigenCpu : public HostBackend {
  static_assert(one_of<W, float>, "gpt2ie: backend::EigenCpu<W>: W is the precision of the weights, and it is float");

 public:
  using weight_type = W;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using ConstRows = Eigen::Map<const Matrix>;
  using Rows = Eigen::Map<Matrix>;
  using ConstRow = Eigen::Map<const Eigen::RowVectorXf>;
  /// [in, out], column major: a column is one output's weights, or one embedding.
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

  static constexpr bool row_invariant = false;

  explicit EigenCpu(int threads = 0) : HostBackend(threads) {}

  [[nodiscard]] matrix pack(const MatrixSource& source) const {
    matrix packed(source.in, source.out);
    Eigen::RowVectorXf row(source.out_major ? source.in : source.out);
    for (int i = 0; i < (source.out_major ? source.out : source.in); ++i) {
      source.read_row(i, row.data());
      if (source.out_major) {
        packed.col(i) = row.transpose();
      } else {
        packed.row(i) = row;
      }
    }
    return packed;
  }

  void linear(const matrix& w, const float* x, int rows, float* y, const Epilogue& epilogue) const {
    const ConstRows in(x, rows, w.rows());
    Rows out(y, rows, w.cols());
    const Eigen::Index stripe = (w.cols() + threads() - 1) / threads();
    launch(threads(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.rows() * stripe), [&](int thread) {
      const Eigen::Index first = std::min(thread * stripe, w.cols());
      const Eigen::Index count = std::min(stripe, w.cols() - first);
      if (count == 0) return;
      auto part = out.middleCols(first, count);
      part.noalias() = in * w.middleCols(first, count);
      if (epilogue.bias) part.rowwise() += ConstRow(epilogue.bias, w.cols()).segment(first, count);
      activate(epilogue.activation, part);
      if (epilogue.residual) part += ConstRows(epilogue.residual, rows, w.cols()).middleCols(first, count);
    });
  }

  void embed(const matrix& wte, const matrix& wpe, const Token* tokens, const int* positions, int rows,
             float* y) const {
    Rows out(y, rows, wte.rows());
    for (int r = 0; r < rows; ++r) out.row(r) = (wte.col(tokens[r]) + wpe.col(positions[r])).transpose();
  }

  void layer_norm(const float* x, int rows, int n, const float* weight, const float* bias, float epsilon,
                  float* y) const {
    const ConstRows in(x, rows, n);
    Rows out(y, rows, n);
    for (int r = 0; r < rows; ++r) {
      const Eigen::RowVectorXf centred = in.row(r).array() - in.row(r).mean();
      const float deviation = std::sqrt(centred.squaredNorm() / static_cast<float>(n) + epsilon);
      out.row(r) = (centred.array() / deviation * ConstRow(weight, n).array() + ConstRow(bias, n).array()).matrix();
    }
  }

 private:
  template <class Block>
  static void activate(Activation activation, Block& block) {
    auto x = block.array();
    switch (activation) {
      case Activation::none:
        break;
      case Activation::gelu_tanh:
        x = 0.5f * x * (1.0f + (0.797884561f * (x + 0.044715f * x.cube())).tanh());
        break;
      case Activation::gelu:
        x = x.unaryExpr([](float v) { return gelu_exact(v); });
        break;
      case Activation::quick_gelu:
        x = x / (1.0f + (-1.702f * x).exp());
        break;
      case Activation::relu:
        x = x.unaryExpr([](float v) { return v < 0.0f ? 0.0f : v; });
        break;
      case Activation::silu:
        x = x / (1.0f + (-x).exp());
        break;
      case Activation::tanh:
        x = x.tanh();
        break;
    }
  }
};

}  // namespace backend

template <class W>
inline constexpr bool detail::refused<backend::EigenCpu<W>> = !one_of<W, float>;

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// backend::SimdCpu: the default backend. Weights packed once into panels, one product routine for any number of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/panel_product.hpp>
#include <gpt2ie/backend/panels.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/math.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace backend {

/// W: precision of the weights; float, bf16 or f16. They become floats on their way into a product, so a half keeps all
/// of its digits and sums are those of floats.
///
/// A row's results have the same bits in any batch, chunk or number of threads, within one binary and one instruction
/// set.
template <class W>
class SimdCpu : public HostBackend {
  static_assert(PlainElement<W>,
                "gpt2ie: backend::SimdCpu<W>: W is the precision of the weights, one of float, bf16 and f16");

 public:
  using weight_type = W;
  // A refused W goes no further, so that its sentence stands alone.
  using stored = std::conditional_t<PlainElement<W>, W, float>;
  using matrix = PanelMatrix<stored>;
  static constexpr bool row_invariant = true;

  /// threads: 0 stands for one per processor. isa: the best that this processor runs, unless a program wants another.
  /// Errors: unsupported for one that it does not run.
  explicit SimdCpu(int threads = 0, Isa isa = best_isa()) : HostBackend(threads), isa_(isa) {
    if (!has_isa(isa)) {
      fail(errc::unsupported, "a processor with " + std::string(isa_name(isa)),
           "one with " + std::string(isa_name(best_isa())));
    }
    product_ = detail::panel_product<stored>(isa);
  }

  [[nodiscard]] Isa isa() const { return isa_; }

  [[nodiscard]] matrix pack(const MatrixSource& source) const {
    matrix packed(source.in, source.out);
    if (source.out_major) {
      pack_columns(source, packed);
    } else {
      std::vector<float> row(static_cast<std::size_t>(source.out));
      for (int k = 0; k < source.in; ++k) {
        source.read_row(k, row.data());
        packed.set_row(k, row.data());
      }
    }
    return packed;
  }

  /// y must not be x or the residual. Cost: 2 * rows * in * out operations, in * out * sizeof(W) bytes read; allocates
  /// nothing.
  void linear(const matrix& w, const float* x, int rows, float* y, const Epilogue& epilogue) const {
    using Args = detail::PanelProductArgs<stored>;
    constexpr int group = Args::most_panels, block = Args::most_rows;
    const std::size_t cost =
        static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.in()) * std::size_t{group * matrix::width};
    launch((w.panels() + group - 1) / group, cost, [&](int g) {
      float sums[group * block * matrix::width];
      const int first = g * group, panels = std::min(group, w.panels() - first);
      for (int row = 0; row < rows; row += block) {
        const int block_rows = std::min(block, rows - row);
        product_(Args{.weights = w.panel(first),
                      .panels = panels,
                      .in = w.in(),
                      .x = x + static_cast<std::ptrdiff_t>(row) * w.in(),
                      .rows = block_rows,
                      .sums = sums});
        for (int p = 0; p < panels; ++p) {
          const int column = (first + p) * matrix::width, count = std::min(matrix::width, w.out() - column);
          for (int r = 0; r < block_rows; ++r) {
            const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row + r) * w.out() + column;
            finish(epilogue, column, count, sums + (p * block_rows + r) * matrix::width, at, y);
          }
        }
      }
    });
  }

  void embed(const matrix& wte, const matrix& wpe, const Token* tokens, const int* positions, int rows,
             float* y) const {
    const int n = wte.in();
    for (int r = 0; r < rows; ++r) {
      const stored* word = wte.column(tokens[r]);
      const stored* place = wpe.column(positions[r]);
      float* to = y + static_cast<std::ptrdiff_t>(r) * n;
      for (int i = 0; i < n; ++i) to[i] = to_float(word[i * matrix::width]) + to_float(place[i * matrix::width]);
    }
  }

  void layer_norm(const float* x, int rows, int n, const float* weight, const float* bias, float epsilon,
                  float* y) const {
    const std::size_t cost = static_cast<std::size_t>(n) * 4;
    launch(rows, cost, [=](int r) {
      const float* from = x + static_cast<std::ptrdiff_t>(r) * n;
      float* to = y + static_cast<std::ptrdiff_t>(r) * n;
      // In double: the sum of squares of a wide, badly centred row would lose digits in float.
      double sum = 0, squares = 0;
      for (int i = 0; i < n; ++i) sum += static_cast<double>(from[i]);
      const float mean = static_cast<float>(sum / n);
      for (int i = 0; i < n; ++i) {
        const float centred = from[i] - mean;
        squares += static_cast<double>(centred * centred);
      }
      const float scale = 1.0f / std::sqrt(static_cast<float>(squares / n) + epsilon);
      for (int i = 0; i < n; ++i) to[i] = madd((from[i] - mean) * scale, weight[i], bias[i]);
    });
  }

 private:
  /// Embedding tables arrive one output column at a time: sixteen make a panel.
  static void pack_columns(const MatrixSource& source, matrix& packed) {
    std::vector<float> columns(static_cast<std::size_t>(source.in) * matrix::width);
    for (int first = 0; first < source.out; first += matrix::width) {
      const int count = std::min(matrix::width, source.out - first);
      for (int c = 0; c < count; ++c) {
        source.read_row(first + c, columns.data() + static_cast<std::ptrdiff_t>(c) * source.in);
      }
      stored* panel = packed.panel(first / matrix::width);
      for (int k = 0; k < source.in; ++k) {
        for (int c = 0; c < count; ++c) {
          panel[k * matrix::width + c] = from_float<stored>(
              columns[static_cast<std::size_t>(c) * static_cast<std::size_t>(source.in) + static_cast<std::size_t>(k)]);
        }
      }
    }
  }

  /// One row of one panel on its way out: `count` columns from `first`, to y[at...].
  static void finish(const Epilogue& epilogue, int first, int count, float* sums, std::ptrdiff_t at, float* y) {
    if (epilogue.bias) {
      for (int c = 0; c < count; ++c) sums[c] += epilogue.bias[first + c];
    }
    activate(epilogue.activation, sums, matrix::width);
    if (epilogue.residual) {
      for (int c = 0; c < count; ++c) sums[c] += epilogue.residual[at + c];
    }
    for (int c = 0; c < count; ++c) y[at + c] = sums[c];
  }

  Isa isa_;
  detail::PanelProduct<stored> product_;
};

}  // namespace backend

template <class W>
inline constexpr bool detail::refused<backend::SimdCpu<W>> = !PlainElement<W>;

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// backend::SimdCpu: the default backend. Weights packed once into panels, one product routine for any number of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gpt2ie/backend/finish.hpp>
#include <gpt2ie/backend/group_panels.hpp>
#include <gpt2ie/backend/group_product.hpp>
#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/panel_product.hpp>
#include <gpt2ie/backend/panels.hpp>
#include <gpt2ie/backend/row_blocks.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/math.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace backend {

/// W: precision of the weights: float, bf16 or f16, or int8 or int4 in groups of 32 with a scale each.
///
/// Halves become floats on their way into a product, so they keep all of their digits and sums are those of floats.
/// Integers are multiplied with activations that are rounded to 8 bits in groups of 32, as llama.cpp does it.
///
/// A row's results have the same bits in any batch, chunk or number of threads, within one binary and one instruction
/// set.
template <class W>
class SimdCpu : public HostBackend {
  static_assert(
      WeightElement<W>,
      "gpt2ie: backend::SimdCpu<W>: W is the precision of the weights, one of float, bf16, f16, int8 and int4");

 public:
  using weight_type = W;
  // A refused W goes no further, so that its sentence stands alone.
  using stored = std::conditional_t<WeightElement<W>, W, float>;
  using matrix = PanelMatrix<stored>;
  static constexpr bool row_invariant = true;
  static constexpr std::string_view packed_name = weight_name<stored>;

  /// threads: 0 stands for one per processor. isa: the best that this processor runs, unless a program wants another.
  /// Errors: unsupported for one that it does not run.
  explicit SimdCpu(int threads = 0, Isa isa = best_isa()) : HostBackend(threads), isa_(isa) {
    if (!has_isa(isa)) {
      fail(errc::unsupported, "a processor with " + std::string(isa_name(isa)),
           "one with " + std::string(isa_name(best_isa())));
    }
    product_ = std::make_unique<Product>(isa);
    finish_ = detail::finish_of(isa);
  }

  [[nodiscard]] Isa isa() const { return isa_; }

  /// Source rows are read on all threads.
  [[nodiscard]] matrix pack(const MatrixSource& source) const {
    matrix packed(source.in, source.out);
    if (source.out_major) {
      launch(packed.panels(), pack_cost(source.in, matrix::width), [&](int p) { pack_panel(source, p, packed); });
    } else {
      const int blocks = (source.in + matrix::block_rows - 1) / matrix::block_rows;
      launch(blocks, pack_cost(source.out, matrix::block_rows), [&](int b) { pack_rows(source, b, packed); });
    }
    return packed;
  }

  /// The matrix that a file keeps in this backend's layout, where it lies.
  [[nodiscard]] std::optional<matrix> adopt(const PackedSource& source) const {
    using Element = typename matrix::element;
    const bool fits = source.bytes.size() == matrix::elements(source.in, source.out) * sizeof(Element) &&
                      reinterpret_cast<std::uintptr_t>(source.bytes.data()) % alignof(Element) == 0;
    if (!fits) return std::nullopt;
    return matrix(source.in, source.out, reinterpret_cast<const Element*>(source.bytes.data()), source.owner);
  }

  /// Allocates what products of so many rows of so many elements need.
  void reserve(int rows, int elements) const { product_->reserve(rows, elements); }

  /// y must not be x or the residual. Cost: 2 * rows * in * out operations and the bytes of w read; allocates nothing
  /// after reserve.
  void linear(const matrix& w, const float* x, int rows, float* y, const Epilogue& epilogue) const {
    if (rows == 0) return;
    const detail::RowBlocks blocks(rows);
    product_->reserve(rows, w.in());
    launch(blocks.count(), static_cast<std::size_t>(blocks.size(0)) * static_cast<std::size_t>(w.in()),
           [&](int block) { product_->pack(blocks, block, x, w.in()); });

    constexpr int group = Product::Args::most_panels, most_blocks = Product::Args::most_blocks;
    const std::size_t cost =
        static_cast<std::size_t>(rows) * static_cast<std::size_t>(w.in()) * std::size_t{group * matrix::width};
    launch((w.panels() + group - 1) / group, cost, [&](int g) {
      float sums[group * Product::Args::most_rows * matrix::width];
      const int first = g * group, panels = std::min(group, w.panels() - first);
      for (int block = 0; block < blocks.count(); block += most_blocks) {
        const detail::BlockRange range{blocks, block, std::min(block + most_blocks, blocks.count())};
        product_->multiply(w, first, panels, x, range, sums);
        for (int p = 0; p < panels; ++p) {
          const int column = (first + p) * matrix::width;
          const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(blocks.begin(block)) * w.out() + column;
          finish_({.sums = sums + p * range.rows() * matrix::width,
                   .rows = range.rows(),
                   .columns = std::min(matrix::width, w.out() - column),
                   .bias = epilogue.bias ? epilogue.bias + column : nullptr,
                   .activation = epilogue.activation,
                   .residual = epilogue.residual ? epilogue.residual + at : nullptr,
                   .y = y + at,
                   .stride = w.out()});
        }
      }
    });
  }

  void embed(const matrix& wte, const matrix& wpe, const Token* tokens, const int* positions, int rows,
             float* y) const {
    const int n = wte.in();
    for (int r = 0; r < rows; ++r) {
      float* to = y + static_cast<std::ptrdiff_t>(r) * n;
      wte.for_column(tokens[r], [to](int i, float word) { to[i] = word; });
      wpe.for_column(positions[r], [to](int i, float place) { to[i] += place; });
    }
  }

  void layer_norm(const float* x, int rows, int n, const float* weight, const float* bias, float epsilon,
                  float* y) const {
    const std::size_t cost = static_cast<std::size_t>(n) * 4;
    launch(rows, cost, [=](int r) {
      const float* from = x + static_cast<std::ptrdiff_t>(r) * n;
      float* to = y + static_cast<std::ptrdiff_t>(r) * n;
      // In double: the sum of squares of a wide, badly centred row would lose digits in float.
      const double sum = sum_in_lanes(n, [from](int i) { return from[i]; });
      const float mean = static_cast<float>(sum / n);
      const double squares = sum_in_lanes(n, [from, mean](int i) { return (from[i] - mean) * (from[i] - mean); });
      const float scale = 1.0f / std::sqrt(static_cast<float>(squares / n) + epsilon);
      for (int i = 0; i < n; ++i) to[i] = madd((from[i] - mean) * scale, weight[i], bias[i]);
    });
  }

 private:
  using Product = detail::ProductOf<stored>;

  /// The sum of value(i) for i in [0, n), in eight interleaved lanes that are folded in a fixed tree: additions that
  /// need not wait for each other.
  template <class Value>
  static double sum_in_lanes(int n, const Value& value) {
    double lane[8] = {};
    int i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int l = 0; l < 8; ++l) lane[l] += static_cast<double>(value(i + l));
    }
    for (int l = 0; i + l < n; ++l) lane[l] += static_cast<double>(value(i + l));
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }

  static std::size_t pack_cost(int wide, int high) {
    return static_cast<std::size_t>(wide) * static_cast<std::size_t>(high) * 4;
  }

  /// An embedding table has its columns stored one after the other: sixteen make a panel.
  static void pack_panel(const MatrixSource& source, int p, matrix& packed) {
    const int first = p * matrix::width, count = std::min(matrix::width, source.out - first);
    std::vector<float> columns(static_cast<std::size_t>(source.in) * matrix::width);
    for (int c = 0; c < count; ++c) {
      source.read_row(first + c, columns.data() + static_cast<std::ptrdiff_t>(c) * source.in);
    }
    for (int k = 0; k < source.in; k += matrix::block_rows) {
      pack_block(packed, p, k, columns.data() + k, 1, source.in);
    }
  }

  static void pack_rows(const MatrixSource& source, int block, matrix& packed) {
    const int first = block * matrix::block_rows, count = std::min(matrix::block_rows, source.in - first);
    const int padded = packed.panels() * matrix::width;
    std::vector<float> rows(static_cast<std::size_t>(padded) * matrix::block_rows);
    for (int k = 0; k < count; ++k) source.read_row(first + k, rows.data() + static_cast<std::ptrdiff_t>(k) * padded);
    for (int p = 0; p < packed.panels(); ++p) pack_block(packed, p, first, rows.data() + p * matrix::width, padded, 1);
  }

  /// Packs a block whose element [row][column] is from[row * row_stride + column * column_stride].
  static void pack_block(matrix& packed, int p, int k, const float* from, std::ptrdiff_t row_stride,
                         std::ptrdiff_t column_stride) {
    const int count = std::min(matrix::block_rows, packed.in() - k);
    float block[matrix::block_rows * matrix::width];
    for (int row = 0; row < count; ++row) {
      for (int c = 0; c < matrix::width; ++c)
        block[row * matrix::width + c] = from[row * row_stride + c * column_stride];
    }
    packed.set_block(p, k, count, block);
  }

  Isa isa_;
  std::unique_ptr<Product> product_;
  detail::Finish finish_;
};

}  // namespace backend

template <class W>
inline constexpr bool detail::refused<backend::SimdCpu<W>> = !WeightElement<W>;

}  // namespace gpt2ie::inline GPT2IE_ABI

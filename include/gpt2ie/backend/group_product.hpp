// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu with integer weights, in portable code, and the choice of an instruction set's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gpt2ie/backend/group_product_args.hpp>
#include <gpt2ie/backend/group_product_avx2.hpp>
#include <gpt2ie/backend/group_product_avx512.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/panel_product.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// For compilers and processors without a kernel of their own, and the oracle of those that have one.
template <GroupedElement W>
struct GroupProductPortable {
  using Args = GroupProductArgs<W>;

  static void multiply(const Args& args) {
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * args.range.rows()) * Args::width, 0.0f);
    for (int p = 0; p < args.panels; ++p) {
      for (int g = 0; g < args.x.groups; ++g) {
        const PanelGroup<W>& group = args.group(p, g);
        // Once for all rows, in the order of columns: what follows are plain loops over bytes.
        std::int8_t weights[Args::width][group_size];
        for (int c = 0; c < Args::width; ++c) {
          for (int k = 0; k < group_size; ++k) weights[c][k] = static_cast<std::int8_t>(group.at(k, c));
        }
        for (int block = args.range.first; block < args.range.end; ++block) {
          for (int r = 0; r < args.range.size(block); ++r) add_group(args, weights, group.scale, p, g, block, r);
        }
      }
    }
  }

 private:
  static void add_group(const Args& args, const std::int8_t (&weights)[Args::width][group_size], const f16* scale,
                        int p, int g, int block, int r) {
    std::int8_t x[group_size];
    const std::int8_t* quads = args.values(block, r, g);
    for (int quad = 0; quad < group_size / 4; ++quad) {
      std::memcpy(x + quad * 4, quads + quad * args.range.size(block) * 4, 4);
    }
    const float x_scale = *args.scales(block, r, g);
    float* sums = args.sums_of(p, args.range.begin(block) + r);
    for (int c = 0; c < Args::width; ++c) {
      std::int32_t sum = 0;
      for (int k = 0; k < group_size; ++k) sum += std::int32_t{x[k]} * std::int32_t{weights[c][k]};
      sums[c] = madd(static_cast<float>(sum), to_float(scale[c]) * x_scale, sums[c]);
    }
  }
};

template <GroupedElement W>
using GroupProduct = void (*)(const GroupProductArgs<W>&);

/// Precondition: has_isa(isa).
template <GroupedElement W>
[[nodiscard]] GroupProduct<W> group_product(Isa isa) {
#if GPT2IE_X86_KERNELS
  if (isa == Isa::avx2) return &GroupProductAvx2<W>::multiply;
  if (isa == Isa::avx512) return &GroupProductAvx512<W>::multiply;
#endif
  static_cast<void>(isa);
  return &GroupProductPortable<W>::multiply;
}

template <GroupedElement W>
class ProductOf<W> {
 public:
  using Args = GroupProductArgs<W>;

  explicit ProductOf(Isa isa) : multiply_(group_product<W>(isa)), quantize_group_(quantize_group_of(isa)) {}

  void reserve(int rows, int elements) { quantized_.reserve(rows, elements); }

  void pack(const RowBlocks& blocks, int block, const float* x, int in) {
    quantized_.fill(blocks, block, x, in, quantize_group_);
  }

  void multiply(const PanelMatrix<W>& w, int first_panel, int panels, const float* /*x*/, const BlockRange& range,
                float* sums) const {
    multiply_({.weights = w.panel(first_panel),
               .panels = panels,
               .x = quantized_.rows(w.in()),
               .range = range,
               .sums = sums});
  }

 private:
  GroupProduct<W> multiply_;
  QuantizeGroup quantize_group_;
  QuantizedRowBuffer quantized_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// How rows of activations lie for a product kernel.
///
/// Up to twelve rows are one block, and what a kernel takes of a block at a time lies together: [block][k][rows of the
/// block]. So a kernel reaches all rows of a block from one address, by steps that it knows, where a pointer for each
/// would not fit into registers. A single row lies as it did. The idea is the packed panel of A in Goto and van de
/// Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), section 4.
#pragma once

#include <algorithm>
#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Rows in blocks of at most twelve, as even as can be.
class RowBlocks {
 public:
  static constexpr int most_rows = 12;

  RowBlocks() = default;
  /// rows: at least 1.
  explicit RowBlocks(int rows) : rows_(rows), count_((rows + most_rows - 1) / most_rows) {}

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int count() const { return count_; }
  /// The first row of a block; of count(), the number of rows.
  [[nodiscard]] int begin(int block) const { return block * (rows_ / count_) + std::min(block, rows_ % count_); }
  [[nodiscard]] int size(int block) const { return rows_ / count_ + (block < rows_ % count_ ? 1 : 0); }

 private:
  int rows_ = 0, count_ = 0;
};

/// Some neighbouring blocks: what a kernel takes in one call.
struct BlockRange {
  RowBlocks blocks;
  int first, end;

  [[nodiscard]] int rows() const { return blocks.begin(end) - blocks.begin(first); }
  /// The first row of a block, counted from the range's own first row.
  [[nodiscard]] int begin(int block) const { return blocks.begin(block) - blocks.begin(first); }
  [[nodiscard]] int size(int block) const { return blocks.size(block); }
};

/// Splits `count` into parts of at most `most`, as even as can be, and calls body(part, first, size) for each.
template <class Body>
void for_even_parts(int count, int most, const Body& body) {
  const int parts = (count + most - 1) / most;
  for (int part = 0, first = 0; part < parts; ++part) {
    const int size = (count - first + parts - part - 1) / (parts - part);
    body(part, first, size);
    first += size;
  }
}

/// Floats in blocks [block][in][rows of the block]: allocated once, filled at each product.
class RowBlockBuffer {
 public:
  /// Room for rows of so many elements; keeps what it has if that is enough.
  void reserve(int rows, int elements) {
    const std::size_t size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(elements);
    if (rows > 1 && size > data_.size()) data_ = HostBuffer<float>(size);
  }

  /// Fills one block from x[rows, in]. Blocks may be filled by several threads.
  void fill(const RowBlocks& blocks, int block, const float* x, int in) {
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(blocks.begin(block)) * in;
    const int n = blocks.size(block);
    const float* from = x + begin;
    float* to = data_.data() + begin;
    for (int k = 0; k < in; ++k) {
      for (int r = 0; r < n; ++r) *to++ = from[static_cast<std::ptrdiff_t>(r) * in + k];
    }
  }

  [[nodiscard]] const float* data() const { return data_.data(); }

 private:
  HostBuffer<float> data_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

// SPDX-License-Identifier: MIT
/// kv::Paged: a pool of pages and a block table for each sequence.
///
/// Layout of a page: [n_layer][K, V][n_head][PageTokens][head_dim], and of its scales, if T has them: [n_layer][K, V]
/// [n_head][PageTokens]. A head's rows lie together, so that whoever walks one head reads memory in one stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/prefix_hash.hpp>
#include <gpt2ie/kv_cache/row_memory.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// One tile a page.
template <class T, int PageTokens>
struct PagedView {
  using element = T;

  StepView step;
  StoredRows<T> pages;
  const int* table;  ///< [runs][table_stride]: page numbers
  int table_stride, n_layer, n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int run) const {
    return (step.run_context[run] + PageTokens - 1) / PageTokens;
  }

  [[nodiscard]] GPT2IE_HD Tile<T> tile(int layer, int run, int index) const {
    const std::ptrdiff_t k = page(layer, run, index);
    const int first = index * PageTokens, left = step.run_context[run] - first;
    return pages.tile(k, k + plane(), heads(), first, left < PageTokens ? left : PageTokens);
  }

  [[nodiscard]] GPT2IE_HD Place<T> place(int layer, int row) const {
    const int position = step.position[row];
    const std::ptrdiff_t k = page(layer, step.row_run[row], position / PageTokens) +
                             static_cast<std::ptrdiff_t>(position % PageTokens) * head_dim;
    return pages.place(k, k + plane(), heads());
  }

 private:
  [[nodiscard]] GPT2IE_HD HeadLayout heads() const {
    return {head_dim, static_cast<std::ptrdiff_t>(PageTokens) * head_dim, head_dim};
  }
  [[nodiscard]] GPT2IE_HD std::ptrdiff_t plane() const { return static_cast<std::ptrdiff_t>(PageTokens) * n_embd; }
  /// The first element of K in the run's page `index`.
  [[nodiscard]] GPT2IE_HD std::ptrdiff_t page(int layer, int run, int index) const {
    const int number = table[static_cast<std::ptrdiff_t>(run) * table_stride + index];
    return (static_cast<std::ptrdiff_t>(number) * n_layer + layer) * 2 * plane();
  }
};

namespace detail {

template <class T, int PageTokens, class Hash, class B>
class PagedPool {
 public:
  using book = PageBook<PageTokens, Hash>;

  PagedPool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        table_stride_(book::pages_for(limits.max_length)),
        most_ahead_(limits.max_sequences),
        page_count_(limits.cache_units ? limits.cache_units : limits.max_sequences * table_stride_),
        page_(static_cast<std::size_t>(2 * PageTokens * config.n_layer) * static_cast<std::size_t>(config.n_embd)),
        pages_(backend, config, page_ * static_cast<std::size_t>(page_count_)),
        host_table_(static_cast<std::size_t>(limits.max_sequences) * static_cast<std::size_t>(table_stride_)),
        table_(backend.template allocate<int>(host_table_.size())) {}

  PagedView<T, PageTokens> stage(B& backend, const book& pages, const Step& step, StepView view) {
    if (!pages.moves().empty()) {
      const CopyTimer timer(copies_);
      for (const Move& move : pages.moves()) {
        pages_.copy(backend, page_ * static_cast<std::size_t>(move.to), pages_,
                    page_ * static_cast<std::size_t>(move.from), page_, copies_);
      }
    }
    auto row = host_table_.begin();
    for (const Run& run : step.runs) {
      const auto numbers = pages.pages(run.seq);
      std::copy(numbers.begin(), numbers.end(), row);
      row += table_stride_;
      for (const int number : numbers) used_ = std::max(used_, number + 1);
    }
    populate_ahead(backend, step.rows());
    backend.upload(table_.data(), host_table_.data(), static_cast<std::size_t>(row - host_table_.begin()));
    return {view, pages_.rows(), table_.data(), table_stride_, config_.n_layer, config_.n_embd, config_.head_dim()};
  }

  [[nodiscard]] const CopyCount& copies() const { return copies_; }

 private:
  /// A book hands out its pages in ascending order at first. The memory of a page that was never used comes from the
  /// system when it is first written, which takes as long as a good part of a step; sequences that began together
  /// would all want a new page in the same step, and all wait. So each step has the memory of some pages given before
  /// they are used: as many as its rows fill, and one to get ahead, up to a page for each sequence.
  void populate_ahead(B& backend, int rows) {
    populated_ = std::max(populated_, used_);
    const int wanted = std::min(used_ + most_ahead_, page_count_);
    const int count = std::min(wanted - populated_, rows / PageTokens + 1);
    if (count <= 0) return;
    pages_.populate(backend, page_ * static_cast<std::size_t>(populated_), page_ * static_cast<std::size_t>(count));
    populated_ += count;
  }

  ModelConfig config_;
  int table_stride_, most_ahead_, page_count_;
  int used_ = 0, populated_ = 0;  ///< pages below these numbers have been in use, have had their memory given
  std::size_t page_;
  RowMemory<T, B> pages_;
  std::vector<int> host_table_;
  buffer_of<B, int> table_;
  CopyCount copies_;
};

}  // namespace detail

namespace kv {

/// Sequences hold only the pages they use and share those of a common beginning; at most PageTokens - 1 tokens of each
/// are unused. An append copies nothing. T: float, bf16, f16, or int8 with a scale for each row and head. Hash says
/// where shared pages are looked up, see PageHash.
template <class T, int PageTokens = 16, class Hash = KeyedHash>
struct Paged {
  using element = T;
  using book = PageBook<PageTokens, Hash>;
  template <class B>
  using pool = detail::PagedPool<T, PageTokens, Hash, B>;
  static constexpr bool retains = true;
};

}  // namespace kv

template <class T, int PageTokens, class Hash>
inline constexpr bool detail::refused<kv::Paged<T, PageTokens, Hash>> = PageTokens < 1;

static_assert(RetainingStorage<kv::Paged<float, 16>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

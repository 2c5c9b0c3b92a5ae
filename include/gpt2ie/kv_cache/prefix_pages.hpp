// SPDX-License-Identifier: MIT
/// All pages of a cache: the free ones, the cached ones in the order of their last use, and who holds the rest.
///
/// After Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (SOSP 2023),
/// sections 4.3 (reference counts) and 4.4 (shared prefixes). As an addition, pages of closed sequences stay until
/// their room is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/kv_cache/prefix_hash.hpp>
#include <gpt2ie/kv_cache/prefix_index.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Pages in the order in which they were put here: a linked list through arrays. Every call costs O(1) and allocates
/// nothing.
class PageQueue {
 public:
  explicit PageQueue(int pages) : links_(static_cast<std::size_t>(pages) + 1) { links_.back() = {pages, pages}; }

  [[nodiscard]] int size() const { return size_; }
  /// The page that has been here longest. Precondition: size() > 0.
  [[nodiscard]] int oldest() const { return links_.back().newer; }

  /// Precondition: the page is not here.
  void push(int page) noexcept {
    const int end = static_cast<int>(links_.size()) - 1;
    at(page) = {at(end).older, end};
    at(at(end).older).newer = page;
    at(end).older = page;
    ++size_;
  }
  /// Precondition: the page is here.
  void remove(int page) noexcept {
    const Link link = at(page);
    at(link.older).newer = link.newer;
    at(link.newer).older = link.older;
    --size_;
  }

 private:
  struct Link {
    int older, newer;
  };

  [[nodiscard]] Link& at(int page) { return links_[static_cast<std::size_t>(page)]; }

  std::vector<Link> links_;  // [pages + 1]: the last stands for both ends
  int size_ = 0;
};

/// Every page is in exactly one state: held by `references(page)` > 0 owners; cached, held by nobody but registered
/// with what it contains; or free. Free and cached pages can be taken, the free ones first and then the cached one that
/// was released first. A registered page must not be written: forget it first. Calls cost O(1), those with a key
/// O(PageTokens) on average; nothing allocates after the constructor. One thread at a time.
template <int PageTokens, PageHash Hash>
class PrefixPages {
 public:
  static constexpr int none = PrefixIndex<PageTokens, Hash>::none;

  explicit PrefixPages(int total) : references_(static_cast<std::size_t>(total), 0), cached_(total), index_(total) {
    free_.reserve(references_.size());
    for (int page = total; page-- > 0;) free_.push_back(page);
  }

  [[nodiscard]] int total() const { return static_cast<int>(references_.size()); }
  /// Pages that can be taken, cached ones included.
  [[nodiscard]] int available() const { return static_cast<int>(free_.size()) + cached(); }
  [[nodiscard]] int cached() const { return cached_.size(); }
  [[nodiscard]] int references(int page) const { return references_[static_cast<std::size_t>(page)]; }

  /// A page to write, with one owner. Precondition: available() > 0.
  int take() {
    int page = none;
    if (!free_.empty()) {
      page = free_.back();
      free_.pop_back();
    } else {
      page = cached_.oldest();
      cached_.remove(page);
      index_.remove(page);
    }
    count(page) = 1;
    return page;
  }

  /// One owner more. Precondition: the page is held or cached.
  void hold(int page) {
    if (count(page)++ == 0) cached_.remove(page);
  }

  /// One owner less.
  void release(int page) noexcept {
    if (--count(page) > 0) return;
    if (index_.holds(page)) {
      cached_.push(page);
    } else {
      free_.push_back(page);
    }
  }

  /// The registered page with this key, held or cached; or none.
  [[nodiscard]] int find(const PageKey& key) { return index_.find(key); }

  /// Registers a held page, unless another has this key already. Returns the page that the key stands for now.
  int add(int page, const PageKey& key) { return index_.add(page, key); }

  /// The page is about to get other contents. Precondition: it is held.
  void forget(int page) {
    if (index_.holds(page)) index_.remove(page);
  }

  [[nodiscard]] const PrefixIndex<PageTokens, Hash>& index() const { return index_; }

 private:
  [[nodiscard]] int& count(int page) { return references_[static_cast<std::size_t>(page)]; }

  std::vector<int> references_, free_;
  PageQueue cached_;
  PrefixIndex<PageTokens, Hash> index_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

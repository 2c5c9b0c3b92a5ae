// SPDX-License-Identifier: MIT
/// The book of paged storages: block tables, reference counts, shared prefixes, forks, all with copy on write.
///
/// After Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (SOSP 2023),
/// sections 4.1 to 4.4. A page holds PageTokens tokens of one sequence in all layers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/prefix_hash.hpp>
#include <gpt2ie/kv_cache/prefix_pages.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Every page is free, cached, or held by `references(page)` block tables; the three together are always all pages.
///
/// Sharing: a page that is full, and whose tokens are committed, is registered under its tokens, the page before it and
/// the sequence's salt. A new sequence takes up the registered pages that its prompt begins with; a page that was
/// computed twice stays with its sequence. When nobody holds a registered page it stays cached until its room is
/// needed: least recently used first, and the end of a text before its beginning. A page is copied before it is written
/// while others hold it, and is registered no longer from when its only holder writes into it.
///
/// Cost: open O(max_sequences + prompt), whatever the number of cached prompts; the other calls O(pages and tokens
/// touched), fork O(length). Nothing is allocated after the constructor while moves are settled after each step.
/// Memory: for each page 76 bytes and its tokens, for each sequence 24 bytes a page and 4 bytes a token.
///
/// One thread at a time. Between reserve and commit or rollback a sequence of the step may be closed if the step is
/// then rolled back; it must not be cut.
template <int PageTokens, class Hash = KeyedHash>
class PageBook {
  static_assert(PageTokens > 0, "gpt2ie: kv::Paged<T, P>: P is the number of tokens in a page, and at least 1");
  static_assert(PageHash<Hash>,
                "gpt2ie: kv::Paged<T, P, Hash>: Hash does not meet PageHash: hash(PageKey) -> Hash128, and a default "
                "constructor");

 public:
  explicit PageBook(const Limits& limits)
      : sequences_(static_cast<std::size_t>(limits.max_sequences)),
        pages_(limits.cache_units ? limits.cache_units : limits.max_sequences * pages_for(limits.max_length)),
        max_length_(limits.max_length) {
    for (Sequence& sequence : sequences_) {
      sequence.tokens.reserve(static_cast<std::size_t>(max_length_));
      sequence.pages.reserve(static_cast<std::size_t>(pages_for(max_length_)));
      sequence.chain.reserve(sequence.pages.capacity());
    }
    undo_.reserve(static_cast<std::size_t>(pages_.total()));
    moves_.reserve(sequences_.size());
  }

  /// Takes up the pages that the cache holds of `tokens`, but never all tokens: the last one has to be run, for its
  /// logits. If the cache holds all of them the last page is shared too, and is copied when that token is run. No
  /// tokens: nothing is taken up.
  std::optional<Opened> open(std::span<const Token> tokens, std::uint64_t salt) {
    const auto free = std::find_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return !s.used; });
    if (free == sequences_.end()) return std::nullopt;
    free->used = true;
    free->salt = salt;
    take_up(*free, tokens);
    return Opened{static_cast<SeqId>(free - sequences_.begin()), free->length};
  }

  [[nodiscard]] int length(SeqId seq) const { return at(seq).length; }

  void truncate(SeqId seq, int n) noexcept { cut(at(seq), n); }

  std::optional<SeqId> fork(SeqId seq) {
    const Sequence& parent = at(seq);
    const std::optional<Opened> opened = open({}, parent.salt);
    if (!opened) return std::nullopt;
    Sequence& child = at(opened->seq);
    child.length = parent.length;
    child.tokens.assign(parent.tokens.begin(), parent.tokens.end());
    child.chain.assign(parent.chain.begin(), parent.chain.end());
    child.pages.assign(parent.pages.begin(), parent.pages.begin() + pages_for(parent.length));
    for (const int page : child.pages) pages_.hold(page);
    return opened->seq;
  }

  void close(SeqId seq) noexcept {
    for (const Undo& undo : undo_) {
      if (undo.seq != seq || undo.shared == none) continue;
      drop_move(undo.page);
      pages_.release(undo.shared);
    }
    std::erase_if(undo_, [seq](const Undo& undo) { return undo.seq == seq; });
    cut(at(seq), 0);
    at(seq).used = false;
  }

  /// Pages short for these runs together.
  [[nodiscard]] int missing(std::span<const Run> runs) const {
    int needed = 0;
    for (const Run& run : runs) {
      const Sequence& sequence = at(run.seq);
      needed += std::max(0, pages_for(run.first + run.count) - static_cast<int>(sequence.pages.size()));
      const int page = written_page(sequence, run);
      if (page != none && references(page) > 1) ++needed;
    }
    return std::max(0, needed - pages_.available());
  }

  bool reserve(std::span<const Run> runs) {
    for (const Run& run : runs) {
      if (!fits_alone(run.first + run.count)) return false;
    }
    if (missing(runs) != 0) return false;
    for (const Run& run : runs) {
      Sequence& sequence = at(run.seq);
      GPT2IE_ASSERT(run.first == sequence.length);
      if (const int page = written_page(sequence, run); page != none) {
        if (references(page) > 1) {
          copy_on_write(run);
        } else {
          pages_.forget(page);
        }
      }
      while (static_cast<int>(sequence.pages.size()) < pages_for(run.first + run.count)) {
        sequence.pages.push_back(pages_.take());
        undo_.push_back({run.seq, static_cast<int>(sequence.pages.size()) - 1, sequence.pages.back(), none});
      }
    }
    return true;
  }

  /// `tokens`: those of the step, [rows]. Or none: then no other sequence will share what these runs wrote, nor what
  /// comes after it.
  void commit(std::span<const Run> runs, std::span<const Token> tokens) {
    for (const Run& run : runs) {
      Sequence& sequence = at(run.seq);
      sequence.length = run.first + run.count;
      trim(sequence);
      if (tokens.empty() || static_cast<int>(sequence.tokens.size()) != run.first) continue;
      const auto written = tokens.subspan(static_cast<std::size_t>(run.row), static_cast<std::size_t>(run.count));
      sequence.tokens.insert(sequence.tokens.end(), written.begin(), written.end());
      register_pages(sequence);
    }
    for (const Undo& undo : undo_) {
      if (undo.shared != none) pages_.release(undo.shared);
    }
    undo_.clear();
  }

  void rollback() noexcept {
    for (; !undo_.empty(); undo_.pop_back()) {
      const Undo& undo = undo_.back();
      std::vector<int>& pages = at(undo.seq).pages;
      if (undo.shared == none) {
        pages.pop_back();
      } else {
        pages[static_cast<std::size_t>(undo.index)] = undo.shared;
        drop_move(undo.page);
      }
      pages_.release(undo.page);
    }
  }

  [[nodiscard]] Capacity capacity() const { return {pages_.total(), pages_.available(), max_length_, pages_.cached()}; }
  [[nodiscard]] bool fits_alone(int n) const { return n <= max_length_ && pages_for(n) <= pages_.total(); }
  [[nodiscard]] int units_for(int tokens) const { return pages_for(tokens); }
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  void settle() noexcept { moves_.clear(); }

  /// The block table of a sequence: page i holds positions [i * PageTokens, (i + 1) * PageTokens).
  [[nodiscard]] std::span<const int> pages(SeqId seq) const { return at(seq).pages; }
  /// How many block tables name this page; 0: it is free or cached.
  [[nodiscard]] int references(int page) const { return pages_.references(page); }
  /// The registered pages.
  [[nodiscard]] const PrefixIndex<PageTokens, Hash>& index() const { return pages_.index(); }

  [[nodiscard]] static constexpr int pages_for(int tokens) { return (tokens + PageTokens - 1) / PageTokens; }

 private:
  static constexpr int none = PrefixPages<PageTokens, Hash>::none;

  /// A registered page with the content of a sequence's page, which may be that page itself. It is still registered as
  /// long as its serial number is.
  struct Link {
    int page;
    std::uint64_t serial;
  };
  struct Sequence {
    bool used = false;
    int length = 0;
    std::uint64_t salt = 0;
    std::vector<Token> tokens;  // the first of them, as far as commits have told
    std::vector<int> pages;
    std::vector<Link> chain;  // the first full pages, as far as they are registered
  };
  /// One change that a reserve made: `page` was appended (shared is none), or took the place of a shared page. The
  /// sequence's reference to the shared page lives here until commit drops it or rollback gives it back.
  struct Undo {
    SeqId seq;
    int index, page, shared;
  };

  [[nodiscard]] Sequence& at(SeqId seq) { return sequences_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] const Sequence& at(SeqId seq) const { return sequences_[static_cast<std::size_t>(seq)]; }

  /// The page that a sequence has already and that a run writes into, or none.
  [[nodiscard]] int written_page(const Sequence& sequence, const Run& run) const {
    const auto index = static_cast<std::size_t>(run.first / PageTokens);
    return run.count > 0 && index < sequence.pages.size() ? sequence.pages[index] : none;
  }

  void copy_on_write(const Run& run) {
    const int index = run.first / PageTokens;
    int& slot = at(run.seq).pages[static_cast<std::size_t>(index)];
    const int shared = slot;
    slot = pages_.take();
    moves_.push_back({shared, slot});
    undo_.push_back({run.seq, index, slot, shared});
  }
  void drop_move(int to) noexcept {
    std::erase_if(moves_, [to](const Move& move) { return move.to == to; });
  }

  /// The last page first, so that of cached pages the end of a text is older than its beginning and goes before it.
  void trim(Sequence& sequence) noexcept {
    while (static_cast<int>(sequence.pages.size()) > pages_for(sequence.length)) {
      pages_.release(sequence.pages.back());
      sequence.pages.pop_back();
    }
  }
  void cut(Sequence& sequence, int n) noexcept {
    sequence.length = std::min(sequence.length, n);
    const auto length = static_cast<std::size_t>(sequence.length);
    sequence.tokens.resize(std::min(sequence.tokens.size(), length));
    sequence.chain.resize(std::min(sequence.chain.size(), length / PageTokens));
    trim(sequence);
  }

  /// The key of a sequence's next full page.
  [[nodiscard]] static PageKey next_key(const Sequence& sequence, std::span<const Token> tokens) {
    return {sequence.chain.empty() ? 0 : sequence.chain.back().serial, sequence.salt,
            tokens.subspan(sequence.chain.size() * PageTokens, PageTokens)};
  }
  void link(Sequence& sequence, int page) { sequence.chain.push_back({page, index().serial(page)}); }

  void take_up(Sequence& sequence, std::span<const Token> tokens) {
    while ((sequence.chain.size() + 1) * PageTokens <= tokens.size()) {
      const int page = pages_.find(next_key(sequence, tokens));
      if (page == none) break;
      pages_.hold(page);
      sequence.pages.push_back(page);
      link(sequence, page);
    }
    sequence.length = static_cast<int>(sequence.pages.size()) * PageTokens;
    sequence.tokens.assign(tokens.begin(), tokens.begin() + sequence.length);
    if (sequence.length > 0) cut(sequence, static_cast<int>(tokens.size()) - 1);
  }

  /// Registers pages that have become full. After a page that is registered no longer none is: no prompt could reach
  /// it.
  void register_pages(Sequence& sequence) {
    while ((sequence.chain.size() + 1) * PageTokens <= sequence.tokens.size()) {
      if (!sequence.chain.empty()) {
        const Link& parent = sequence.chain.back();
        if (index().serial(parent.page) != parent.serial) return;
      }
      const int page = sequence.pages[sequence.chain.size()];
      link(sequence, pages_.add(page, next_key(sequence, sequence.tokens)));
    }
  }

  std::vector<Sequence> sequences_;
  PrefixPages<PageTokens, Hash> pages_;
  std::vector<Move> moves_;
  std::vector<Undo> undo_;
  int max_length_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// What a simulator reads off a book: how much of the memory is held, written and free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>
#include <gpt2ie/planner/growing_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The state of a memory, in tokens of room.
struct MemoryUse {
  std::int64_t held;          ///< by sequences, written or not
  std::int64_t free;          ///< held by nobody
  std::int64_t largest_free;  ///< the most of it that one sequence could take
  std::int64_t moved = 0;     ///< tokens copied to another place so far
};

/// How a book divides a memory. A specialisation has units(memory_tokens, max_length), the units of that memory for
/// Limits::cache_units, and use(book).
template <class Book>
struct BookMemory;

/// Pages need not lie side by side, so one sequence could take all that are free.
template <int PageTokens, class Hash>
struct BookMemory<PageBook<PageTokens, Hash>> {
  static int units(int memory_tokens, int /*max_length*/) { return memory_tokens / PageTokens; }
  static MemoryUse use(const PageBook<PageTokens, Hash>& book) {
    const Capacity capacity = book.capacity();
    const std::int64_t free = std::int64_t{capacity.free_units} * PageTokens;
    return {std::int64_t{capacity.total_units} * PageTokens - free, free, free};
  }
};

/// Each sequence holds max_length tokens from its first to its last step. Slots are all alike, so whichever is free
/// serves the next sequence.
template <>
struct BookMemory<SlotBook> {
  static int units(int memory_tokens, int max_length) { return memory_tokens / max_length; }
  static MemoryUse use(const SlotBook& book) {
    const Capacity capacity = book.capacity();
    const std::int64_t free = std::int64_t{capacity.free_units} * capacity.max_length;
    return {std::int64_t{capacity.total_units} * capacity.max_length - free, free, free};
  }
};

template <>
struct BookMemory<GrowingBook> {
  static int units(int memory_tokens, int /*max_length*/) { return memory_tokens; }
  static MemoryUse use(const GrowingBook& book) {
    const FirstFit& memory = book.memory();
    return {memory.size() - memory.free(), memory.free(), memory.largest_hole(), book.moved_tokens()};
  }
};

/// A book that also counts the tokens written into it: the lengths of all open sequences together.
template <CacheBook Book>
class MeteredBook : public Book {
 public:
  using Book::Book;

  std::optional<Opened> open(std::span<const Token> tokens, std::uint64_t salt) {
    const std::optional<Opened> opened = Book::open(tokens, salt);
    if (opened) written_ += opened->matched;
    return opened;
  }
  void truncate(SeqId seq, int n) noexcept {
    written_ -= this->length(seq);
    Book::truncate(seq, n);
    written_ += this->length(seq);
  }
  std::optional<SeqId> fork(SeqId seq) {
    const std::optional<SeqId> forked = Book::fork(seq);
    if (forked) written_ += this->length(*forked);
    return forked;
  }
  void close(SeqId seq) noexcept {
    written_ -= this->length(seq);
    Book::close(seq);
  }
  void commit(std::span<const Run> runs, std::span<const Token> tokens) {
    for (const Run& run : runs) written_ -= this->length(run.seq);
    Book::commit(runs, tokens);
    for (const Run& run : runs) written_ += this->length(run.seq);
  }

  [[nodiscard]] std::int64_t written_tokens() const { return written_; }
  [[nodiscard]] MemoryUse use() const { return BookMemory<Book>::use(*this); }

 private:
  std::int64_t written_ = 0;
};

static_assert(CacheBook<MeteredBook<PageBook<16>>> && CacheBook<MeteredBook<SlotBook>> &&
              CacheBook<MeteredBook<GrowingBook>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

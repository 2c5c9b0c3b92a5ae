// SPDX-License-Identifier: MIT
/// Books under thousands of random calls, against a model that knows every token of every sequence. The memory that a
/// pool would own is simulated: a token is an int, and it has to be where its sequence looks for it.
#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie_test {
namespace {

/// Where a pool keeps the tokens of a paged book.
template <int PageTokens>
class PagedMemory {
 public:
  using Book = gpt2ie::PageBook<PageTokens>;

  explicit PagedMemory(const Book& book)
      : tokens_(static_cast<std::size_t>(book.capacity().total_units * PageTokens)) {}

  void move(const Book& /*book*/, const gpt2ie::Move& move) {
    std::copy_n(tokens_.begin() + move.from * PageTokens, PageTokens, tokens_.begin() + move.to * PageTokens);
  }
  int& at(const Book& book, gpt2ie::SeqId seq, int position) {
    const int page = book.pages(seq)[static_cast<std::size_t>(position / PageTokens)];
    return tokens_[static_cast<std::size_t>(page * PageTokens + position % PageTokens)];
  }

  /// Every page is free, or held by exactly the tables that name it, and no table is longer than it has to be.
  static void check(const Book& book, const std::vector<gpt2ie::SeqId>& open, bool reserved) {
    std::vector<int> named(static_cast<std::size_t>(book.capacity().total_units), 0);
    for (const gpt2ie::SeqId seq : open) {
      for (const int page : book.pages(seq)) ++named[static_cast<std::size_t>(page)];
      if (!reserved) {
        REQUIRE(static_cast<int>(book.pages(seq).size()) == Book::pages_for(book.length(seq)));
      }
    }
    int free = 0;
    for (int page = 0; page < book.capacity().total_units; ++page) {
      // Between reserve and commit a page that is being copied may be held for a rollback as well.
      const int count = named[static_cast<std::size_t>(page)];
      REQUIRE((reserved ? book.references(page) >= count : book.references(page) == count));
      free += book.references(page) == 0;
    }
    REQUIRE(book.capacity().free_units == free);
  }

 private:
  std::vector<int> tokens_;
};

/// Where a pool keeps the tokens of a book of slots.
class SlotMemory {
 public:
  using Book = gpt2ie::SlotBook;

  explicit SlotMemory(const Book& book) : tokens_(static_cast<std::size_t>(book.capacity().total_units)) {
    for (auto& slot : tokens_) slot.resize(static_cast<std::size_t>(book.capacity().max_length));
  }

  void move(const Book& book, const gpt2ie::Move& move) {
    std::copy_n(tokens_[static_cast<std::size_t>(move.from)].begin(), book.length(static_cast<gpt2ie::SeqId>(move.to)),
                tokens_[static_cast<std::size_t>(move.to)].begin());
  }
  int& at(const Book& /*book*/, gpt2ie::SeqId seq, int position) {
    return tokens_[static_cast<std::size_t>(seq)][static_cast<std::size_t>(position)];
  }

  static void check(const Book& book, const std::vector<gpt2ie::SeqId>& open, bool /*reserved*/) {
    REQUIRE(book.capacity().free_units == book.capacity().total_units - static_cast<int>(open.size()));
  }

 private:
  std::vector<std::vector<int>> tokens_;
};

/// One book, its simulated memory, and what every sequence ought to hold.
template <class Memory>
class Trial {
 public:
  using Book = typename Memory::Book;

  Trial(const gpt2ie::Limits& limits, unsigned seed) : random_(seed), book_(limits), memory_(book_) {}

  void run(int calls) {
    for (int i = 0; i < calls; ++i) {
      call();
      check(false);
    }
    while (!sequences_.empty()) close(0);
    check(false);
    REQUIRE(book_.capacity().free_units == book_.capacity().total_units);
  }

 private:
  struct Sequence {
    gpt2ie::SeqId seq;
    std::vector<int> tokens;
  };

  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  Sequence& any() { return sequences_[static_cast<std::size_t>(draw(static_cast<int>(sequences_.size())))]; }

  void call() {
    const int what = draw(10);
    if (what == 0 || sequences_.empty()) {
      if (const auto opened = book_.open({}, 0)) {
        REQUIRE(opened->matched == 0);
        sequences_.push_back({opened->seq, {}});
      }
    } else if (what == 1) {
      const Sequence parent = any();
      if (const auto forked = book_.fork(parent.seq)) sequences_.push_back({*forked, parent.tokens});
    } else if (what == 2) {
      Sequence& sequence = any();
      const int kept = draw(static_cast<int>(sequence.tokens.size()) + 1);
      book_.truncate(sequence.seq, kept);
      sequence.tokens.resize(static_cast<std::size_t>(kept));
    } else if (what == 3) {
      close(static_cast<std::size_t>(draw(static_cast<int>(sequences_.size()))));
    } else {
      step();
    }
  }

  void close(std::size_t index) {
    book_.close(sequences_[index].seq);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  /// A step over some of the sequences, which runs, fails or does not fit.
  void step() {
    std::vector<gpt2ie::Run> runs;
    std::vector<Sequence*> chosen;
    for (Sequence& sequence : sequences_) {
      if (draw(2) == 0) continue;
      runs.push_back(
          {.seq = sequence.seq, .first = book_.length(sequence.seq), .count = 1 + draw(draw(4) == 0 ? 40 : 4)});
      chosen.push_back(&sequence);
    }
    const gpt2ie::Capacity before = book_.capacity();
    const std::vector<gpt2ie::Move> moves(book_.moves().begin(), book_.moves().end());
    const int missing = book_.missing(runs);
    const bool fits = std::all_of(runs.begin(), runs.end(),
                                  [&](const gpt2ie::Run& run) { return book_.fits_alone(run.first + run.count); });
    const bool room = book_.reserve(runs);
    REQUIRE(room == (fits && missing == 0));
    if (!room || draw(5) == 0) {
      if (room) check(true);
      if (room) book_.rollback();
      REQUIRE(book_.capacity().free_units == before.free_units);
      REQUIRE(book_.moves().size() == moves.size());
      return;
    }
    check(true);
    for (const gpt2ie::Move& move : book_.moves()) memory_.move(book_, move);
    book_.settle();
    const int token_before = last_token_;
    for (const gpt2ie::Run& run : runs) {
      for (int i = 0; i < run.count; ++i) memory_.at(book_, run.seq, run.first + i) = ++last_token_;
    }
    // Rows are written before anyone reads, so a page that two sequences write shows here.
    int token = token_before;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      for (int i = 0; i < runs[r].count; ++i) chosen[r]->tokens.push_back(++token);
    }
    for (const Sequence& sequence : sequences_) {
      for (std::size_t p = 0; p < sequence.tokens.size(); ++p) {
        REQUIRE(memory_.at(book_, sequence.seq, static_cast<int>(p)) == sequence.tokens[p]);
      }
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const int accepted = draw(3) == 0 ? draw(runs[r].count + 1) : runs[r].count;
      chosen[r]->tokens.resize(static_cast<std::size_t>(runs[r].first + accepted));
      runs[r].count = accepted;
    }
    book_.commit(runs, {});
  }

  void check(bool reserved) {
    std::vector<gpt2ie::SeqId> open;
    for (const Sequence& sequence : sequences_) {
      open.push_back(sequence.seq);
      REQUIRE(book_.length(sequence.seq) == static_cast<int>(sequence.tokens.size()));
    }
    Memory::check(book_, open, reserved);
  }

  std::mt19937 random_;
  Book book_;
  Memory memory_;
  std::vector<Sequence> sequences_;
  int last_token_ = 0;
};

template <class Memory>
void try_many(const std::vector<gpt2ie::Limits>& all_limits) {
  for (const gpt2ie::Limits& limits : all_limits) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      INFO("seed ", seed, ", ", limits.max_sequences, " sequences of at most ", limits.max_length, " tokens in ",
           limits.cache_units, " units");
      Trial<Memory>(limits, seed).run(1000);
    }
  }
}

}  // namespace

TEST_CASE("a book of pages of 16 tokens accounts for every page and token") {
  try_many<PagedMemory<16>>({{.max_sequences = 6, .max_length = 100},
                             {.max_sequences = 6, .cache_units = 9, .max_length = 100},
                             {.max_sequences = 1, .max_length = 64}});
}

TEST_CASE("a book of pages of 3 tokens accounts for every page and token") {
  try_many<PagedMemory<3>>(
      {{.max_sequences = 5, .max_length = 50}, {.max_sequences = 5, .cache_units = 20, .max_length = 50}});
}

TEST_CASE("a book of pages of one token accounts for every page and token") {
  try_many<PagedMemory<1>>({{.max_sequences = 4, .cache_units = 60, .max_length = 50}});
}

TEST_CASE("a book of slots accounts for every slot and token") {
  try_many<SlotMemory>({{.max_sequences = 6, .max_length = 100}, {.max_sequences = 2, .max_length = 40}});
}

}  // namespace gpt2ie_test

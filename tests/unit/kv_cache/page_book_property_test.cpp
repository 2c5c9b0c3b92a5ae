// SPDX-License-Identifier: MIT
/// Books with shared prefixes under a million random calls, against a model that knows every token of every sequence.
/// The memory that a pool would own is simulated: K and V of a token depend on all tokens up to it and on the salt, so
/// that each place holds a number which stands for all of these.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie_test {
namespace {

using gpt2ie::Run;
using gpt2ie::SeqId;
using gpt2ie::Token;

/// What the model computes for a token after what it computed for those before it.
std::uint64_t computed(std::uint64_t before, Token token) {
  const std::uint64_t mixed = (before ^ static_cast<std::uint64_t>(token + 1)) * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 29;
}
constexpr std::uint64_t garbage = 0;

struct Sequence {
  SeqId seq;
  std::uint64_t salt;
  int text;
  std::vector<Token> tokens;
  std::vector<std::uint64_t> values{};  // computed from them

  void push(Token token) {
    values.push_back(computed(values.empty() ? salt + 1 : values.back(), token));
    tokens.push_back(token);
  }
  void cut(int n) {
    tokens.resize(static_cast<std::size_t>(n));
    values.resize(static_cast<std::size_t>(n));
  }
};

/// All prompts have the same hash.
struct ConstantHash {
  gpt2ie::Hash128 operator()(const gpt2ie::PageKey& /*key*/) const { return {1, 2}; }
};

template <int PageTokens, class Hash = gpt2ie::KeyedHash>
class PagedMemory {
 public:
  using Book = gpt2ie::PageBook<PageTokens, Hash>;

  explicit PagedMemory(const Book& book)
      : values_(static_cast<std::size_t>(book.capacity().total_units * PageTokens)),
        named_(static_cast<std::size_t>(book.capacity().total_units)) {}

  void move(const Book& /*book*/, const gpt2ie::Move& move) {
    std::copy_n(values_.begin() + move.from * PageTokens, PageTokens, values_.begin() + move.to * PageTokens);
  }
  std::uint64_t& at(const Book& book, SeqId seq, int position) {
    const int page = book.pages(seq)[static_cast<std::size_t>(position / PageTokens)];
    return values_[static_cast<std::size_t>(page * PageTokens + position % PageTokens)];
  }

  /// Pages that these runs need together: new ones, and copies of shared ones.
  static int needed(const Book& book, std::span<const Run> runs) {
    int needed = 0;
    for (const Run& run : runs) {
      const std::span<const int> pages = book.pages(run.seq);
      needed += Book::pages_for(run.first + run.count) - static_cast<int>(pages.size());
      if (run.first % PageTokens != 0) needed += book.references(pages.back()) > 1;
    }
    return needed;
  }
  static int missing(const Book& book, std::span<const Run> runs) {
    return std::max(0, needed(book, runs) - book.capacity().free_units);
  }

  /// A page is free, cached, or held by exactly the tables that name it, and no table is longer than it has to be.
  void check(const Book& book, const std::vector<Sequence>& open, bool reserved) {
    std::fill(named_.begin(), named_.end(), 0);
    bool tables = true, references = true;
    for (const Sequence& sequence : open) {
      for (const int page : book.pages(sequence.seq)) ++named_[static_cast<std::size_t>(page)];
      tables = tables && (reserved || static_cast<int>(book.pages(sequence.seq).size()) ==
                                          Book::pages_for(book.length(sequence.seq)));
    }
    int free = 0, cached = 0, held = 0;
    for (int page = 0; page < book.capacity().total_units; ++page) {
      const int count = book.references(page), named = named_[static_cast<std::size_t>(page)];
      // Between reserve and commit a page that is being copied is held for a rollback as well.
      references = references && (reserved ? count >= named : count == named);
      ++(count > 0 ? held : book.index().holds(page) ? cached : free);
    }
    REQUIRE(tables);
    REQUIRE(references);
    REQUIRE(free + cached + held == book.capacity().total_units);
    REQUIRE(book.capacity().free_units == free + cached);
    REQUIRE(book.capacity().cached_units == cached);
  }

 private:
  std::vector<std::uint64_t> values_;
  std::vector<int> named_;
};

class SlotMemory {
 public:
  using Book = gpt2ie::SlotBook;

  explicit SlotMemory(const Book& book)
      : length_(book.capacity().max_length),
        values_(static_cast<std::size_t>(book.capacity().total_units * book.capacity().max_length)) {}

  void move(const Book& book, const gpt2ie::Move& move) {
    std::copy_n(values_.begin() + move.from * length_, book.length(static_cast<SeqId>(move.to)),
                values_.begin() + move.to * length_);
  }
  std::uint64_t& at(const Book& /*book*/, SeqId seq, int position) {
    return values_[static_cast<std::size_t>(static_cast<int>(seq) * length_ + position)];
  }

  static int needed(const Book& /*book*/, std::span<const Run> /*runs*/) { return 0; }
  static int missing(const Book& book, std::span<const Run> runs) {
    return static_cast<int>(std::count_if(
        runs.begin(), runs.end(), [&](const Run& run) { return run.first + run.count > book.capacity().max_length; }));
  }
  static void check(const Book& book, const std::vector<Sequence>& open, bool /*reserved*/) {
    REQUIRE(book.capacity().free_units == book.capacity().total_units - static_cast<int>(open.size()));
    REQUIRE(book.capacity().cached_units == 0);
  }

 private:
  int length_;
  std::vector<std::uint64_t> values_;
};

/// How often what the test is about has happened.
struct Seen {
  int hits = 0, whole_hits = 0, copies = 0, cached = 0, full = 0;
};

/// One book, its simulated memory, and what every sequence ought to hold.
template <class Memory>
class Trial {
 public:
  using Book = typename Memory::Book;

  Trial(const gpt2ie::Limits& limits, unsigned seed) : random_(seed), book_(limits), memory_(book_) {}

  Seen run(int calls) {
    while (calls_ < calls) {
      call();
      check(false);
    }
    while (!sequences_.empty()) close(0);
    check(false);
    REQUIRE(book_.capacity().free_units == book_.capacity().total_units);
    return seen_;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  Sequence& any() { return sequences_[static_cast<std::size_t>(draw(static_cast<int>(sequences_.size())))]; }

  /// Four texts that begin alike, for 2, 7 or 12 tokens.
  static Token token_of(int text, int position) { return position < 5 * text - 3 ? position : 100 * text + position; }

  void call() {
    ++calls_;
    const int what = draw(16);
    if (what < 3 || sequences_.empty()) {
      open();
    } else if (what == 3) {
      const Sequence parent = any();
      if (const auto forked = book_.fork(parent.seq)) {
        sequences_.push_back(parent);
        sequences_.back().seq = *forked;
      }
    } else if (what == 4) {
      Sequence& sequence = any();
      const int kept = draw(static_cast<int>(sequence.tokens.size()) + 1);
      book_.truncate(sequence.seq, kept);
      sequence.cut(kept);
    } else if (what < 8) {
      close(static_cast<std::size_t>(draw(static_cast<int>(sequences_.size()))));
    } else {
      step();
    }
  }

  void open() {
    const int text = draw(4), n = draw(book_.capacity().max_length + 1);
    const auto salt = static_cast<std::uint64_t>(draw(4) / 3);
    std::vector<Token> prompt(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) prompt[static_cast<std::size_t>(i)] = token_of(text, i);
    const auto opened = book_.open(prompt, salt);
    seen_.full += !opened;
    if (!opened) return;
    REQUIRE(opened->matched == book_.length(opened->seq));
    REQUIRE(opened->matched <= std::max(0, n - 1));
    seen_.hits += opened->matched > 0;
    seen_.whole_hits += opened->matched > 0 && opened->matched == n - 1;
    sequences_.push_back({opened->seq, salt, text, {}});
    for (int i = 0; i < opened->matched; ++i) sequences_.back().push(prompt[static_cast<std::size_t>(i)]);
  }

  void close(std::size_t index) {
    book_.close(sequences_[index].seq);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  /// A step over some of the sequences, which runs, fails or does not fit.
  void step() {
    std::vector<Run> runs;
    std::vector<Sequence> after;  // with the tokens of the step
    std::vector<Token> tokens;
    for (const Sequence& sequence : sequences_) {
      if (draw(2) == 0) continue;
      const int first = static_cast<int>(sequence.tokens.size()), count = 1 + draw(draw(3) == 0 ? 12 : 3);
      runs.push_back({.seq = sequence.seq, .first = first, .count = count, .row = static_cast<int>(tokens.size())});
      after.push_back(sequence);
      for (int i = 0; i < count; ++i) {
        tokens.push_back(draw(12) == 0 ? draw(2) : token_of(sequence.text, first + i));
        after.back().push(tokens.back());
      }
    }
    const gpt2ie::Capacity before = book_.capacity();
    const std::size_t moves = book_.moves().size();
    const int needed = Memory::needed(book_, runs), missing = book_.missing(runs);
    const bool fits =
        std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return book_.fits_alone(run.first + run.count); });
    REQUIRE(missing == Memory::missing(book_, runs));
    const bool room = book_.reserve(runs);
    REQUIRE(room == (fits && missing == 0));
    REQUIRE(book_.capacity().free_units == before.free_units - (room ? needed : 0));
    if (!room) {
      REQUIRE(book_.capacity().cached_units == before.cached_units);
      REQUIRE(book_.moves().size() == moves);
      return;
    }
    check(true);
    ++calls_;
    const int outcome = draw(8);
    if (outcome == 0) {  // nothing ran
      book_.rollback();
      REQUIRE(book_.moves().size() == moves);
      REQUIRE(book_.capacity().free_units == before.free_units);
      return;
    }
    make_moves();
    for (const Sequence& sequence : after) write(sequence, outcome == 1);
    check(true);
    if (outcome == 1) {  // it broke off, perhaps because a request was cancelled
      if (draw(2) == 0) close(static_cast<std::size_t>(draw(static_cast<int>(sequences_.size()))));
      book_.rollback();
      return;
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (draw(4) == 0) runs[r].count = draw(runs[r].count + 1);
      after[r].cut(runs[r].first + runs[r].count);
      *std::find_if(sequences_.begin(), sequences_.end(),
                    [&](const Sequence& sequence) { return sequence.seq == runs[r].seq; }) = after[r];
    }
    book_.commit(runs, draw(16) == 0 ? std::span<const Token>() : tokens);
  }

  void make_moves() {
    for (const gpt2ie::Move& move : book_.moves()) memory_.move(book_, move);
    seen_.copies += static_cast<int>(book_.moves().size());
    book_.settle();
  }

  /// The rows of a step that sequence is part of.
  void write(const Sequence& sequence, bool broken) {
    for (int i = book_.length(sequence.seq); i < static_cast<int>(sequence.values.size()); ++i) {
      memory_.at(book_, sequence.seq, i) = broken ? garbage : sequence.values[static_cast<std::size_t>(i)];
    }
  }

  void check(bool reserved) {
    // Forks of slots owe their copy until the next step.
    const bool settled = book_.moves().empty();
    bool lengths = true, values = true;
    for (const Sequence& sequence : sequences_) {
      const int length = book_.length(sequence.seq);
      lengths = lengths && length == static_cast<int>(sequence.values.size());
      for (int i = 0; settled && i < length; ++i) {
        values = values && memory_.at(book_, sequence.seq, i) == sequence.values[static_cast<std::size_t>(i)];
      }
    }
    REQUIRE(lengths);
    REQUIRE(values);
    memory_.check(book_, sequences_, reserved);
    seen_.cached = std::max(seen_.cached, book_.capacity().cached_units);
  }

  std::mt19937 random_;
  Book book_;
  Memory memory_;
  std::vector<Sequence> sequences_;
  Seen seen_;
  int calls_ = 0;
};

template <class Memory>
Seen try_many(const std::vector<gpt2ie::Limits>& all_limits, int calls) {
  Seen all;
  for (const gpt2ie::Limits& limits : all_limits) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      CAPTURE(limits.max_sequences);
      CAPTURE(limits.cache_units);
      CAPTURE(limits.max_length);
      const Seen seen = Trial<Memory>(limits, seed).run(calls);
      all.hits += seen.hits;
      all.whole_hits += seen.whole_hits;
      all.copies += seen.copies;
      all.cached = std::max(all.cached, seen.cached);
      all.full += seen.full;
    }
  }
  return all;
}

template <class Memory>
void check_sharing(const std::vector<gpt2ie::Limits>& all_limits, int calls) {
  const Seen seen = try_many<Memory>(all_limits, calls);
  CHECK(seen.hits > calls / 10);
  CHECK(seen.whole_hits > calls / 100);
  CHECK(seen.copies > calls / 100);
  CHECK(seen.cached > 4);
  CHECK(seen.full > 0);
}

}  // namespace

TEST_CASE("sequences that share pages of 4 tokens each keep their own text") {
  check_sharing<PagedMemory<4>>({{.max_sequences = 5, .max_length = 24},
                                 {.max_sequences = 5, .cache_units = 11, .max_length = 24},
                                 {.max_sequences = 3, .cache_units = 40, .max_length = 32}},
                                50000);
}

TEST_CASE("sequences that share pages of 3 tokens, or of one, each keep their own text") {
  check_sharing<PagedMemory<3>>({{.max_sequences = 4, .cache_units = 14, .max_length = 20}}, 30000);
  const Seen seen = try_many<PagedMemory<1>>({{.max_sequences = 4, .cache_units = 24, .max_length = 14}}, 20000);
  CHECK(seen.hits > 1000);
  CHECK(seen.copies == 0);
}

TEST_CASE("K-3: sequences each keep their own text when all hashes are equal") {
  check_sharing<PagedMemory<4, ConstantHash>>({{.max_sequences = 5, .cache_units = 11, .max_length = 24},
                                               {.max_sequences = 3, .cache_units = 40, .max_length = 32}},
                                              20000);
}

TEST_CASE("sequences in slots each keep their own text, and share nothing") {
  const Seen seen = try_many<SlotMemory>({{.max_sequences = 5, .max_length = 24}}, 40000);
  CHECK(seen.hits == 0);
  CHECK(seen.cached == 0);
}

}  // namespace gpt2ie_test

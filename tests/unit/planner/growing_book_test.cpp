// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/planner/growing_book.hpp>

using namespace gpt2ie;

namespace {

GrowingBook book_of(int memory, int max_length = 100, int max_sequences = 8) {
  return GrowingBook(Limits{.max_sequences = max_sequences, .cache_units = memory, .max_length = max_length});
}

SeqId open(GrowingBook& book, std::size_t prompt) { return book.open(std::vector<Token>(prompt, 1), 0).value().seq; }

bool write(GrowingBook& book, SeqId seq, int count) {
  const Run run{.seq = seq, .first = book.length(seq), .count = count};
  CHECK((book.missing({&run, 1}) == 0) == book.reserve({&run, 1}));
  if (book.missing({&run, 1}) != 0) return false;
  book.commit({&run, 1}, {});
  return true;
}

FirstFit::Held run_of(const GrowingBook& book, SeqId seq) { return book.memory().run(static_cast<int>(seq)); }

/// Where sequences lie, as the book's comment says, found by looking at every place.
struct NaiveLayout {
  int memory, max_length;
  std::map<int, std::pair<int, int>> runs;  // begin, size

  bool is_free(int begin, int size, int without) const {
    if (begin + size > memory) return false;
    return std::all_of(runs.begin(), runs.end(), [&](const auto& entry) {
      const auto [other, run] = entry;
      return other == without || begin + size <= run.first || run.first + run.second <= begin;
    });
  }
  std::optional<int> first_place(int size, int without) const {
    for (int begin = 0; begin + size <= memory; ++begin) {
      if (is_free(begin, size, without)) return begin;
    }
    return std::nullopt;
  }
  bool grow(int seq, int needed, int written, long& moved) {
    auto& [begin, size] = runs.at(seq);
    if (needed <= size) return true;
    if (needed > std::min(max_length, memory)) return false;
    const int wanted = std::max(needed, std::min(size * 3 / 2, max_length));
    for (int in_place = wanted; in_place >= needed; --in_place) {
      if (!is_free(begin, in_place, seq)) continue;
      size = in_place;
      return true;
    }
    for (const int at_new_place : {wanted, needed}) {
      if (const auto place = first_place(at_new_place, seq)) {
        runs.at(seq) = {*place, at_new_place};
        moved += written;
        return true;
      }
    }
    return false;
  }
};

}  // namespace

TEST_CASE("a sequence opens with room for its prompt, where first fit finds it") {
  GrowingBook book = book_of(50);
  const SeqId a = open(book, 20), b = open(book, 20);
  CHECK(run_of(book, a) == FirstFit::Held{static_cast<int>(a), 0, 20});
  CHECK(run_of(book, b) == FirstFit::Held{static_cast<int>(b), 20, 20});
  CHECK_FALSE(book.open(std::vector<Token>(11, 1), 0).has_value());
  CHECK(run_of(book, open(book, 0)).size == 1);
  CHECK(book.capacity().free_units == 50);  // nothing is written
  CHECK_FALSE(book.fork(a).has_value());
  CHECK(book.moves().empty());
}

TEST_CASE("a sequence grows by half: in place, in what is left there, elsewhere, or by what it needs") {
  GrowingBook book = book_of(130);
  const SeqId a = open(book, 20), b = open(book, 20);
  CHECK(write(book, a, 20));
  CHECK(write(book, b, 20));
  CHECK(write(book, b, 1));
  CHECK(run_of(book, b).size == 30);  // in place
  CHECK(book.moved_tokens() == 0);
  CHECK(write(book, a, 1));
  CHECK(run_of(book, a) == FirstFit::Held{static_cast<int>(a), 50, 30});  // b lies behind it
  CHECK(book.moved_tokens() == 20);
  const SeqId c = open(book, 15);
  CHECK(run_of(book, c).begin == 0);
  CHECK(write(book, c, 16));
  CHECK(run_of(book, c).size == 20);  // 22 wanted, 20 there
  CHECK(write(book, b, 9));
  CHECK(write(book, b, 1));
  CHECK(run_of(book, b) == FirstFit::Held{static_cast<int>(b), 80, 45});
  CHECK(book.moved_tokens() == 20 + 30);
  CHECK(write(book, a, 9));
  CHECK(write(book, a, 16));
  CHECK(run_of(book, a) == FirstFit::Held{static_cast<int>(a), 20, 46});  // 45 wanted, 46 needed, over its own place
  CHECK_FALSE(write(book, a, 15));                                        // 60 between c and b
  CHECK(write(book, a, 14));
  CHECK(run_of(book, a).size == 60);
  book.close(c);
  CHECK(write(book, a, 1));
  CHECK(run_of(book, a) == FirstFit::Held{static_cast<int>(a), 0, 61});  // 90 wanted, 80 before b
  CHECK(book.capacity().free_units == 130 - 61 - 31);
  book.close(a);
  book.close(b);
  CHECK(book.memory().largest_hole() == 130);
  CHECK(book.capacity().free_units == 130);
}

TEST_CASE("a sequence alone has room for all that the memory holds, wherever it lies") {
  GrowingBook book = book_of(100);
  const SeqId before = open(book, 60), alone = open(book, 40);
  CHECK(write(book, alone, 40));
  CHECK_FALSE(write(book, alone, 1));
  const Run one{.seq = alone, .first = 40, .count = 1};
  CHECK(book.missing({&one, 1}) > 0);
  book.close(before);
  CHECK(write(book, alone, 1));
  CHECK(run_of(book, alone) == FirstFit::Held{static_cast<int>(alone), 0, 60});
  CHECK(write(book, alone, 59));
  CHECK(book.length(alone) == 100);
  CHECK(book.fits_alone(100));
  CHECK_FALSE(book.fits_alone(101));
  const Run more{.seq = alone, .first = 100, .count = 1};
  CHECK(book.missing({&more, 1}) > 0);
}

TEST_CASE("a rollback puts everything back where it was") {
  GrowingBook book = book_of(100);
  const SeqId a = open(book, 20), b = open(book, 20);
  CHECK(write(book, a, 20));
  const Run runs[] = {{.seq = a, .first = 20, .count = 1, .row = 0}, {.seq = b, .first = 0, .count = 20, .row = 1}};
  CHECK(book.reserve(runs));
  CHECK(run_of(book, a).begin == 40);
  CHECK(book.moved_tokens() == 20);
  book.close(b);
  book.rollback();
  CHECK(run_of(book, a) == FirstFit::Held{static_cast<int>(a), 0, 20});
  CHECK(book.memory().free() == 80);
  CHECK(book.moved_tokens() == 0);
  CHECK(book.length(a) == 20);
}

TEST_CASE("a growing book agrees with a naive layout over random calls") {
  constexpr int memory = 150, max_length = 90;
  std::mt19937 random(7);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  GrowingBook book = book_of(memory, max_length);
  NaiveLayout naive{memory, max_length, {}};
  std::map<int, int> lengths;
  long moved = 0;
  for (int i = 0; i < 20000; ++i) {
    const int action = draw(0, 9);
    if (action == 0) {
      const int prompt = draw(0, 40);
      const auto opened = book.open(std::vector<Token>(static_cast<std::size_t>(prompt), 1), 0);
      const auto place = naive.first_place(std::max(prompt, 1), -1);
      REQUIRE(opened.has_value() == (place.has_value() && lengths.size() < 8));
      if (opened) {
        naive.runs[static_cast<int>(opened->seq)] = {*place, std::max(prompt, 1)};
        lengths[static_cast<int>(opened->seq)] = 0;
      }
    } else if (lengths.empty()) {
      continue;
    } else if (action == 1) {
      const int seq = std::next(lengths.begin(), draw(0, static_cast<int>(lengths.size()) - 1))->first;
      book.close(static_cast<SeqId>(seq));
      naive.runs.erase(seq);
      lengths.erase(seq);
    } else {
      std::vector<Run> runs;
      for (const auto& [seq, length] : lengths) {
        if (draw(0, 2) > 0) runs.push_back({.seq = static_cast<SeqId>(seq), .first = length, .count = draw(1, 6)});
      }
      NaiveLayout after = naive;
      long moved_after = moved;
      bool fits = true;
      for (const Run& run : runs) {
        fits = after.grow(static_cast<int>(run.seq), run.first + run.count, run.first, moved_after) && fits;
      }
      REQUIRE((book.missing(runs) == 0) == fits);
      REQUIRE(book.reserve(runs) == fits);
      if (!fits) continue;
      if (action == 2) {
        book.rollback();
      } else {
        book.commit(runs, {});
        naive = after;
        moved = moved_after;
        for (const Run& run : runs) lengths[static_cast<int>(run.seq)] = run.first + run.count;
      }
    }
    int written = 0;
    for (const auto& [seq, length] : lengths) {
      const auto [begin, size] = naive.runs.at(seq);
      REQUIRE(run_of(book, static_cast<SeqId>(seq)) == FirstFit::Held{seq, begin, size});
      REQUIRE(book.length(static_cast<SeqId>(seq)) == length);
      written += length;
    }
    REQUIRE(book.capacity().free_units == memory - written);
    REQUIRE(book.moved_tokens() == moved);
  }
}

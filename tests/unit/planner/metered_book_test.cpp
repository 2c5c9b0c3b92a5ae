// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/planner/metered_book.hpp>

using namespace gpt2ie;

namespace {

constexpr int memory = 64, max_length = 32;

template <class Book>
MeteredBook<Book> metered() {
  return MeteredBook<Book>(
      Limits{.max_sequences = 4, .cache_units = BookMemory<Book>::units(memory, max_length), .max_length = max_length});
}

template <class Book>
void write(Book& book, SeqId seq, int count) {
  const Run run{.seq = seq, .first = book.length(seq), .count = count};
  const std::vector<Token> tokens(static_cast<std::size_t>(count), 5);
  REQUIRE(book.reserve({&run, 1}));
  book.commit({&run, 1}, tokens);
  book.settle();
}

void check(const MemoryUse& use, int held, int free, int largest_free) {
  CHECK(use.held == held);
  CHECK(use.free == free);
  CHECK(use.largest_free == largest_free);
}

}  // namespace

TEST_CASE("pages hold whole pages, and all that are free are one run") {
  auto book = metered<PageBook<16>>();
  const SeqId a = book.open({}, 0)->seq, b = book.open({}, 0)->seq;
  check(book.use(), 0, 64, 64);
  write(book, a, 17);
  write(book, b, 3);
  CHECK(book.written_tokens() == 20);
  check(book.use(), 48, 16, 16);
  book.truncate(a, 5);
  CHECK(book.written_tokens() == 8);
  check(book.use(), 32, 32, 32);
  const SeqId c = book.fork(a).value();
  CHECK(book.written_tokens() == 13);
  for (const SeqId seq : {a, b, c}) book.close(seq);
  CHECK(book.written_tokens() == 0);
  check(book.use(), 0, 64, 64);
}

TEST_CASE("tokens that a sequence takes up from the cache count as written") {
  auto book = metered<PageBook<16>>();
  const std::vector<Token> prompt(20, 5);
  const SeqId a = book.open(prompt, 0)->seq;
  write(book, a, 20);
  book.close(a);
  CHECK(book.written_tokens() == 0);
  check(book.use(), 0, 64, 64);  // cached pages are free to others
  CHECK(book.open(prompt, 0)->matched == 16);
  CHECK(book.written_tokens() == 16);
  check(book.use(), 16, 48, 48);
}

TEST_CASE("slots hold the longest sequence from the first step on") {
  auto book = metered<SlotBook>();
  const SeqId a = book.open({}, 0)->seq;
  write(book, a, 3);
  CHECK(book.written_tokens() == 3);
  check(book.use(), 32, 32, 32);
  book.close(a);
  check(book.use(), 0, 64, 64);
  CHECK(BookMemory<SlotBook>::units(63, 32) == 1);
}

TEST_CASE("growing runs leave holes of which the largest counts") {
  auto book = metered<GrowingBook>();
  const std::vector<Token> prompt(10, 5);
  const SeqId a = book.open(prompt, 0)->seq, b = book.open(prompt, 0)->seq;
  write(book, a, 10);
  write(book, b, 4);
  CHECK(book.written_tokens() == 14);
  check(book.use(), 20, 44, 44);
  book.close(a);
  CHECK(book.written_tokens() == 4);
  check(book.use(), 10, 54, 44);
  CHECK(book.use().moved == 0);
  CHECK_FALSE(book.fork(b).has_value());
}

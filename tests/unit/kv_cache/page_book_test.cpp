// SPDX-License-Identifier: MIT
/// Pages: taken when they are needed, shared by forks, copied before they are written.
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/page_book.hpp>

using gpt2ie::Run;
using gpt2ie::SeqId;
using Book = gpt2ie::PageBook<4>;

namespace {

SeqId open(Book& book) {
  const auto opened = book.open({}, 0);
  REQUIRE(opened.has_value());
  return opened->seq;
}

/// `count` more tokens of a sequence.
std::vector<Run> more(const Book& book, SeqId seq, int count) {
  return {{.seq = seq, .first = book.length(seq), .count = count}};
}

void append(Book& book, SeqId seq, int count) {
  const std::vector<Run> runs = more(book, seq, count);
  REQUIRE(book.reserve(runs));
  book.commit(runs, {});
  book.settle();
}

int free_pages(const Book& book) { return book.capacity().free_units; }

}  // namespace

TEST_CASE("pages are enough for every sequence, or as many as are given") {
  CHECK(Book({.max_sequences = 3, .max_length = 10}).capacity().total_units == 9);
  CHECK(Book({.max_sequences = 3, .cache_units = 5, .max_length = 10}).capacity().total_units == 5);
  CHECK(Book::pages_for(0) == 0);
  CHECK(Book::pages_for(4) == 1);
  CHECK(Book::pages_for(5) == 2);
}

TEST_CASE("a sequence holds only the pages that it uses") {
  Book book({.max_sequences = 1, .max_length = 20});
  const SeqId seq = open(book);
  CHECK(free_pages(book) == 5);
  append(book, seq, 4);
  CHECK(book.pages(seq).size() == 1);
  append(book, seq, 1);
  CHECK(book.pages(seq).size() == 2);
  book.truncate(seq, 4);
  CHECK(book.pages(seq).size() == 1);
  CHECK(free_pages(book) == 4);
  book.close(seq);
  CHECK(free_pages(book) == 5);
}

TEST_CASE("a reservation is all or nothing, and is undone by rollback") {
  Book book({.max_sequences = 2, .cache_units = 3, .max_length = 12});
  const SeqId first = open(book), second = open(book);
  const std::vector<Run> both = {{.seq = first, .first = 0, .count = 8}, {.seq = second, .first = 0, .count = 8}};
  CHECK(book.missing(both) == 1);
  CHECK_FALSE(book.reserve(both));
  CHECK(free_pages(book) == 3);
  const std::vector<Run> fits = {{.seq = first, .first = 0, .count = 8}, {.seq = second, .first = 0, .count = 4}};
  CHECK(book.missing(fits) == 0);
  CHECK(book.reserve(fits));
  CHECK(free_pages(book) == 0);
  book.rollback();
  CHECK(free_pages(book) == 3);
  CHECK(book.pages(first).empty());
}

TEST_CASE("a commit of fewer tokens gives the pages of the rest back") {
  Book book({.max_sequences = 1, .max_length = 20});
  const SeqId seq = open(book);
  std::vector<Run> runs = more(book, seq, 9);
  CHECK(book.reserve(runs));
  runs[0].count = 4;
  book.commit(runs, {});
  CHECK(book.length(seq) == 4);
  CHECK(book.pages(seq).size() == 1);
  CHECK(free_pages(book) == 4);
}

TEST_CASE("K-9: a fork shares pages, and the first to write into a shared one gets its own copy") {
  Book book({.max_sequences = 2, .cache_units = 4, .max_length = 16});
  const SeqId parent = open(book);
  append(book, parent, 6);
  const auto child = book.fork(parent);
  REQUIRE(child.has_value());
  CHECK(book.length(*child) == 6);
  CHECK(free_pages(book) == 2);
  const int shared = book.pages(parent)[1];
  CHECK(book.pages(*child)[1] == shared);
  CHECK(book.references(shared) == 2);

  const std::vector<Run> runs = more(book, *child, 1);
  CHECK(book.missing(runs) == 0);
  REQUIRE(book.reserve(runs));
  REQUIRE(book.moves().size() == 1);
  CHECK(book.moves()[0].from == shared);
  CHECK(book.moves()[0].to == book.pages(*child)[1]);
  CHECK(book.pages(*child)[1] != shared);
  book.commit(runs, {});
  book.settle();
  CHECK(book.references(shared) == 1);
  CHECK(book.pages(parent)[0] == book.pages(*child)[0]);

  append(book, parent, 1);  // the page is the parent's alone now
  CHECK(book.pages(parent)[1] == shared);
  book.close(parent);
  book.close(*child);
  CHECK(free_pages(book) == 4);
}

TEST_CASE("a rolled-back copy leaves the page shared and owes nothing") {
  Book book({.max_sequences = 2, .max_length = 8});
  const SeqId parent = open(book);
  append(book, parent, 2);
  const auto child = book.fork(parent);
  REQUIRE(child.has_value());
  const int free = free_pages(book);
  REQUIRE(book.reserve(more(book, *child, 3)));
  book.rollback();
  CHECK(book.moves().empty());
  CHECK(book.references(book.pages(parent)[0]) == 2);
  CHECK(free_pages(book) == free);
}

TEST_CASE("a fork of whole pages copies nothing") {
  Book book({.max_sequences = 2, .max_length = 12});
  const SeqId parent = open(book);
  append(book, parent, 8);
  const auto child = book.fork(parent);
  REQUIRE(child.has_value());
  REQUIRE(book.reserve(more(book, *child, 1)));
  CHECK(book.moves().empty());
}

TEST_CASE("B-4: what can never fit is known from the start") {
  const Book book({.max_sequences = 1, .cache_units = 3, .max_length = 100});
  CHECK(book.fits_alone(12));
  CHECK_FALSE(book.fits_alone(13));
  CHECK_FALSE(Book({.max_sequences = 1, .max_length = 8}).fits_alone(9));
}

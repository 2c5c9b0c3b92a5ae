// SPDX-License-Identifier: MIT
/// Slots: one a sequence, lengths that follow commits, forks that owe a copy.
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/slot_book.hpp>

using gpt2ie::Run;
using gpt2ie::SeqId;
using gpt2ie::SlotBook;

namespace {

SeqId open(SlotBook& book) {
  const auto opened = book.open({}, 0);
  REQUIRE(opened.has_value());
  CHECK(opened->matched == 0);
  return opened->seq;
}

}  // namespace

TEST_CASE("there are as many slots as sequences, or as units if they are given") {
  CHECK(SlotBook({.max_sequences = 3, .max_length = 8}).capacity().total_units == 3);
  CHECK(SlotBook({.max_sequences = 3, .cache_units = 2, .max_length = 8}).capacity().total_units == 2);
}

TEST_CASE("a sequence takes a slot and gives it back") {
  SlotBook book({.max_sequences = 2, .max_length = 8});
  const SeqId first = open(book), second = open(book);
  CHECK(first != second);
  CHECK(book.capacity().free_units == 0);
  CHECK_FALSE(book.open({}, 0).has_value());
  CHECK_FALSE(book.fork(first).has_value());
  book.close(first);
  CHECK(book.capacity().free_units == 1);
  CHECK(open(book) == first);
}

TEST_CASE("lengths follow commits and cuts, not reservations") {
  SlotBook book({.max_sequences = 1, .max_length = 8});
  const SeqId seq = open(book);
  std::vector<Run> runs = {{.seq = seq, .first = 0, .count = 6}};
  CHECK(book.reserve(runs));
  CHECK(book.length(seq) == 0);
  book.rollback();
  CHECK(book.length(seq) == 0);
  CHECK(book.reserve(runs));
  runs[0].count = 4;  // two drafts were not accepted
  book.commit(runs, {});
  CHECK(book.length(seq) == 4);
  book.truncate(seq, 5);
  CHECK(book.length(seq) == 4);
  book.truncate(seq, 1);
  CHECK(book.length(seq) == 1);
}

TEST_CASE("a slot holds max_length tokens and no more") {
  SlotBook book({.max_sequences = 1, .max_length = 8});
  const SeqId seq = open(book);
  const std::vector<Run> fits = {{.seq = seq, .first = 3, .count = 5}},
                         long_one = {{.seq = seq, .first = 3, .count = 6}};
  CHECK(book.missing(fits) == 0);
  CHECK(book.missing(long_one) == 1);
  CHECK_FALSE(book.reserve(long_one));
  CHECK(book.fits_alone(8));
  CHECK_FALSE(book.fits_alone(9));
}

TEST_CASE("a fork owes one copy until it is settled, and none if it closes first") {
  SlotBook book({.max_sequences = 3, .max_length = 8});
  const SeqId parent = open(book);
  book.commit(std::vector<Run>{{.seq = parent, .first = 0, .count = 5}}, {});
  const auto child = book.fork(parent), other = book.fork(parent);
  REQUIRE((child.has_value() && other.has_value()));
  CHECK(book.length(*child) == 5);
  REQUIRE(book.moves().size() == 2);
  CHECK(book.moves()[0].from == static_cast<int>(parent));
  CHECK(book.moves()[0].to == static_cast<int>(*child));
  book.close(*other);
  CHECK(book.moves().size() == 1);
  book.settle();
  CHECK(book.moves().empty());
}

TEST_CASE("a book that does not retain keeps every length at 0") {
  gpt2ie::NoCacheBook book({.max_sequences = 1, .max_length = 8});
  const auto opened = book.open({}, 0);
  REQUIRE(opened.has_value());
  book.commit(std::vector<Run>{{.seq = opened->seq, .first = 0, .count = 5}}, {});
  CHECK(book.length(opened->seq) == 0);
}

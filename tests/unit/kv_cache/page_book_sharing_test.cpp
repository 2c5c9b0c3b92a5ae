// SPDX-License-Identifier: MIT
/// Prompts that begin alike share pages, while they run and after; whatever is done to one does not show in another.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/page_book.hpp>

#include "support/count_allocations.hpp"

using gpt2ie::Run;
using gpt2ie::SeqId;
using gpt2ie::Token;
using Tokens = std::vector<Token>;

namespace {

struct ConstantHash {
  gpt2ie::Hash128 operator()(const gpt2ie::PageKey& /*key*/) const { return {5, 6}; }
};

constexpr gpt2ie::Limits limits{.max_sequences = 4, .cache_units = 16, .max_length = 128};

/// Tokens first, first + 1, and so on.
Tokens text(int count, Token first = 0) {
  Tokens tokens(static_cast<std::size_t>(count));
  for (Token& token : tokens) token = first++;
  return tokens;
}

Tokens joined(Tokens tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

/// A sequence opened with a prompt.
struct Started {
  SeqId seq;
  int matched;
};
template <class Book>
Started open(Book& book, const Tokens& prompt, std::uint64_t salt = 0) {
  const auto opened = book.open(prompt, salt);
  REQUIRE(opened.has_value());
  CHECK(book.length(opened->seq) == opened->matched);
  return {opened->seq, opened->matched};
}

/// Runs what is missing of `tokens`, at most `chunk` a step. Returns how many were run.
template <class Book>
int run(Book& book, SeqId seq, const Tokens& tokens, int chunk = 1000) {
  const int before = book.length(seq), total = static_cast<int>(tokens.size());
  for (int first = before; first < total; first = book.length(seq)) {
    const int count = std::min(chunk, total - first);
    const Run runs[] = {{.seq = seq, .first = first, .count = count}};
    REQUIRE(book.missing(runs) == 0);
    REQUIRE(book.reserve(runs));
    book.settle();
    book.commit(runs, std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  }
  return total - before;
}

/// Opens, runs and closes.
template <class Book>
int once(Book& book, const Tokens& tokens, std::uint64_t salt = 0) {
  const Started started = open(book, tokens, salt);
  const int ran = run(book, started.seq, tokens);
  book.close(started.seq);
  return ran;
}

template <class Book>
std::vector<int> table(const Book& book, SeqId seq) {
  return {book.pages(seq).begin(), book.pages(seq).end()};
}

}  // namespace

TEST_CASE("a prompt takes up the full pages that it begins with") {
  gpt2ie::PageBook<16> book(limits);
  const Started first = open(book, text(40));
  CHECK(first.matched == 0);
  run(book, first.seq, text(40));
  const Started second = open(book, joined(text(36), text(20, 500)));
  CHECK(second.matched == 32);
  CHECK(table(book, second.seq) == std::vector<int>{book.pages(first.seq)[0], book.pages(first.seq)[1]});
  CHECK(book.references(book.pages(first.seq)[0]) == 2);
  CHECK(open(book, text(15)).matched == 0);
  CHECK(open(book, {}).matched == 0);
}

TEST_CASE("pages are shared from when they are committed, not before") {
  gpt2ie::PageBook<16> book(limits);
  const Started writer = open(book, text(40));
  const Run runs[] = {{.seq = writer.seq, .first = 0, .count = 40}};
  REQUIRE(book.reserve(runs));
  CHECK(open(book, text(40)).matched == 0);
  const Run accepted[] = {{.seq = writer.seq, .first = 0, .count = 20}};
  book.commit(accepted, text(40));
  CHECK(open(book, text(40)).matched == 16);
}

TEST_CASE("a run's tokens are found by its row") {
  gpt2ie::PageBook<4> book(limits);
  const Started a = open(book, {}), b = open(book, {});
  const Run runs[] = {{.seq = a.seq, .first = 0, .count = 4, .row = 0},
                      {.seq = b.seq, .first = 0, .count = 5, .row = 4}};
  REQUIRE(book.reserve(runs));
  book.commit(runs, text(9));
  CHECK(open(book, text(5, 4)).matched == 4);
}

TEST_CASE("what was committed without its tokens is shared with nobody, and neither is what follows") {
  gpt2ie::PageBook<4> book(limits);
  const Started blind = open(book, {});
  const Run runs[] = {{.seq = blind.seq, .first = 0, .count = 6}};
  REQUIRE(book.reserve(runs));
  book.commit(runs, {});
  run(book, blind.seq, text(12));
  book.close(blind.seq);
  CHECK(book.capacity().cached_units == 0);
  CHECK(open(book, text(12)).matched == 0);
}

TEST_CASE("K-3: prompts with equal hashes share only what they have in common") {
  gpt2ie::PageBook<16, ConstantHash> book(limits);
  CHECK(once(book, text(40)) == 40);
  CHECK(once(book, text(40, 100)) == 40);
  CHECK(once(book, joined(text(16), text(24, 100))) == 24);
  CHECK(once(book, text(40), 1) == 40);
  CHECK(once(book, text(40)) == 8);
  CHECK(once(book, text(40, 100)) == 8);
}

TEST_CASE("K-4: equal tokens after different beginnings are different pages") {
  gpt2ie::PageBook<16> book(limits);
  const Tokens same = text(16, 300);
  once(book, joined(joined(text(16, 100), same), {1}));
  once(book, joined(text(16, 200), {1}));
  CHECK(open(book, joined(joined(text(16, 200), same), {1})).matched == 16);
  CHECK(open(book, joined(same, {1})).matched == 0);
  CHECK(open(book, joined(joined(text(16, 100), same), {1})).matched == 32);
}

TEST_CASE("K-4: a prompt run in chunks is found like one run whole") {
  for (const int chunk : {1, 5, 16, 17, 100}) {
    CAPTURE(chunk);
    gpt2ie::PageBook<16> book(limits);
    const Started chunked = open(book, text(50));
    run(book, chunked.seq, text(50), chunk);
    CHECK(open(book, text(50)).matched == 48);
  }
}

TEST_CASE("K-6, K-7: of a prompt that is cached whole one token is run, and its length is right") {
  for (const int n : {16, 32}) {
    for (const bool still_open : {true, false}) {
      CAPTURE(n);
      CAPTURE(still_open);
      gpt2ie::PageBook<16> book(limits);
      const Started first = open(book, text(n));
      run(book, first.seq, text(n));
      const int last = book.pages(first.seq).back();
      if (!still_open) book.close(first.seq);

      const Started second = open(book, text(n));
      CHECK(second.matched == n - 1);
      CHECK(book.pages(second.seq).back() == last);
      const Run runs[] = {{.seq = second.seq, .first = n - 1, .count = 1}};
      const int free = book.capacity().free_units;
      REQUIRE(book.reserve(runs));
      // Copied if the first still reads it, else written where it is.
      CHECK(book.moves().size() == (still_open ? 1 : 0));
      CHECK((book.pages(second.seq).back() == last) == !still_open);
      CHECK(book.capacity().free_units == free - (still_open ? 1 : 0));
      book.settle();
      book.commit(runs, text(1, n - 1));
      CHECK(book.length(second.seq) == n);
      CHECK(static_cast<int>(book.pages(second.seq).size()) == n / 16);
      CHECK(open(book, text(n)).matched == n - 1);
    }
  }
}

TEST_CASE("K-6: a whole prompt that is cached fits where it has just fitted") {
  gpt2ie::PageBook<16> book({.max_sequences = 2, .cache_units = 2, .max_length = 32});
  once(book, text(32));
  CHECK(book.capacity().cached_units == 2);
  CHECK(once(book, text(32)) == 1);
  // While another holds the pages, the copy has no room: an ordinary answer.
  const Started holder = open(book, text(32));
  CHECK(run(book, holder.seq, text(32)) == 1);
  const Started second = open(book, text(32));
  const Run runs[] = {{.seq = second.seq, .first = 31, .count = 1}};
  CHECK(book.missing(runs) == 1);
  CHECK_FALSE(book.reserve(runs));
  book.close(holder.seq);
  CHECK(book.missing(runs) == 0);
  CHECK(run(book, second.seq, text(32)) == 1);
}

TEST_CASE("K-9: two prompts that share 10 of a page's 16 tokens share no page") {
  gpt2ie::PageBook<16> book(limits);
  const Started a = open(book, text(16)), b = open(book, joined(text(10), text(6, 50)));
  run(book, a.seq, text(16));
  run(book, b.seq, joined(text(10), text(6, 50)));
  CHECK(book.pages(a.seq)[0] != book.pages(b.seq)[0]);
  CHECK(open(book, text(20)).matched == 16);
}

TEST_CASE("K-9: four holders of a page, one of which is cut into it, leave it alone") {
  gpt2ie::PageBook<16> book(limits);
  const Started parent = open(book, text(32));
  run(book, parent.seq, text(32));
  const SeqId forks[] = {book.fork(parent.seq).value(), book.fork(parent.seq).value(), book.fork(parent.seq).value()};
  const std::vector<int> before = table(book, parent.seq);
  book.truncate(forks[0], 20);
  run(book, forks[0], joined(text(20), text(20, 900)));
  CHECK(book.pages(forks[0])[1] != before[1]);
  CHECK(table(book, parent.seq) == before);
  run(book, forks[1], text(33));
  CHECK(table(book, forks[1])[1] == before[1]);
  book.close(parent.seq);
  CHECK(open(book, joined(text(20), text(20, 900))).matched == 32);
}

TEST_CASE("a fork's own pages are found under the whole of its text") {
  gpt2ie::PageBook<16> book(limits);
  const Started parent = open(book, {}, 7);
  run(book, parent.seq, text(20));
  const SeqId child = book.fork(parent.seq).value();
  run(book, child, text(40));
  book.close(child);
  CHECK(open(book, text(40), 7).matched == 32);
  CHECK(open(book, text(40)).matched == 0);
}

TEST_CASE("a sequence cut into its own cached page writes there, and the page is found no longer") {
  gpt2ie::PageBook<16> book(limits);
  const Started started = open(book, text(32));
  run(book, started.seq, text(32));
  const int page = book.pages(started.seq)[1];
  book.truncate(started.seq, 20);
  CHECK(book.index().holds(page));
  const Run runs[] = {{.seq = started.seq, .first = 20, .count = 5}};
  CHECK(book.missing(runs) == 0);
  REQUIRE(book.reserve(runs));
  CHECK(book.moves().empty());
  CHECK(book.pages(started.seq)[1] == page);
  CHECK_FALSE(book.index().holds(page));
  book.rollback();  // it may have been written in part
  CHECK_FALSE(book.index().holds(page));
  CHECK(open(book, text(33)).matched == 16);
  run(book, started.seq, joined(text(20), text(12, 700)));
  CHECK(open(book, joined(text(20), text(13, 700))).matched == 32);
}

TEST_CASE("a page that was computed twice stays private, and what follows is found after the first of the two") {
  gpt2ie::PageBook<16> book(limits);
  const Started a = open(book, text(40)), b = open(book, text(40));
  run(book, a.seq, text(16));
  run(book, b.seq, text(40));
  CHECK(book.pages(a.seq)[0] != book.pages(b.seq)[0]);
  const Started c = open(book, text(40));
  CHECK(c.matched == 32);
  CHECK(table(book, c.seq) == std::vector<int>{book.pages(a.seq)[0], book.pages(b.seq)[1]});
}

TEST_CASE("after a page that is gone nothing more is registered") {
  gpt2ie::PageBook<4> book({.max_sequences = 3, .cache_units = 5, .max_length = 20});
  const Started a = open(book, text(4)), b = open(book, text(4));
  run(book, a.seq, text(4));
  run(book, b.seq, text(4));  // the same page again
  book.close(a.seq);
  CHECK(book.capacity().cached_units == 1);
  const Started filler = open(book, {});
  run(book, filler.seq, text(16, 100));  // takes the cached page
  CHECK(book.capacity().cached_units == 0);
  book.truncate(filler.seq, 3);
  run(book, b.seq, text(12));
  book.close(b.seq);
  CHECK(book.capacity().cached_units == 1);  // the last one of the filler
  CHECK(open(book, text(12)).matched == 0);
}

TEST_CASE("K-10: a hit on a cached page takes it from the free ones, and room is counted exactly") {
  gpt2ie::PageBook<16> book({.max_sequences = 3, .cache_units = 4, .max_length = 64});
  once(book, text(32));
  const Started other = open(book, {});
  run(book, other.seq, text(16, 800));
  CHECK(book.capacity().free_units == 3);
  CHECK(book.capacity().cached_units == 2);

  const Started hit = open(book, text(48));
  CHECK(hit.matched == 32);
  CHECK(book.capacity().free_units == 1);
  CHECK(book.capacity().cached_units == 0);
  const Run fits[] = {{.seq = hit.seq, .first = 32, .count = 16}},
            more[] = {{.seq = hit.seq, .first = 32, .count = 17}};
  CHECK(book.missing(more) == 1);
  CHECK_FALSE(book.reserve(more));
  CHECK(book.missing(fits) == 0);
  REQUIRE(book.reserve(fits));
  book.rollback();
  book.close(hit.seq);
  CHECK(book.capacity().free_units == 3);
  CHECK(book.capacity().cached_units == 2);
  CHECK(open(book, text(48)).matched == 32);
}

TEST_CASE("K-15: prompts with different salts share nothing, with the same salt they share") {
  gpt2ie::PageBook<16> book(limits);
  once(book, text(40), 1);
  CHECK(open(book, text(40), 2).matched == 0);
  CHECK(open(book, text(40), 0).matched == 0);
  CHECK(open(book, text(40), 1).matched == 32);
}

TEST_CASE("R-5: cached pages give way, least recently used first and the end of a text before its beginning") {
  gpt2ie::PageBook<4> book({.max_sequences = 2, .cache_units = 6, .max_length = 24});
  once(book, text(12));
  once(book, text(12, 100));
  CHECK(book.capacity().cached_units == 6);
  CHECK(once(book, text(12)) == 1);  // used again
  once(book, text(8, 200));          // takes the end of the second text
  CHECK(book.capacity().cached_units == 6);
  const auto matched = [&book](Token first) {
    const Started started = open(book, text(12, first));
    book.close(started.seq);
    return started.matched;
  };
  CHECK(matched(0) == 11);
  CHECK(matched(100) == 4);
  CHECK(matched(200) == 8);
}

TEST_CASE("a sequence may be closed between reserve and rollback, and its place taken") {
  gpt2ie::PageBook<16> book(limits);
  const Started first = open(book, text(32));
  run(book, first.seq, text(32));
  const Started second = open(book, text(32));
  const Run runs[] = {{.seq = second.seq, .first = 31, .count = 20}};
  REQUIRE(book.reserve(runs));
  CHECK(book.moves().size() == 1);
  book.close(second.seq);
  CHECK(book.moves().empty());
  const Started third = open(book, text(32));
  CHECK(third.seq == second.seq);
  book.rollback();
  CHECK(table(book, third.seq) == table(book, first.seq));
  book.close(first.seq);
  book.close(third.seq);
  CHECK(book.capacity().free_units == 16);
  CHECK(book.capacity().cached_units == 2);
}

TEST_CASE("looking up a prompt among 10,000 cached ones visits as few pages as among ten") {
  const auto visits = [](int prompts) {
    gpt2ie::PageBook<16> book({.max_sequences = 1, .cache_units = 2 * prompts, .max_length = 48});
    for (int i = 0; i < prompts; ++i) REQUIRE(once(book, text(32, 100 * i)) == 32);
    const std::uint64_t before = book.index().visited();
    for (int i = 0; i < prompts; ++i) {
      const Started started = open(book, text(33, 100 * i));
      REQUIRE(started.matched == 32);
      book.close(started.seq);
    }
    return static_cast<double>(book.index().visited() - before) / prompts;
  };
  CHECK(visits(10) < 6);
  CHECK(visits(10000) < 3.5);  // two pages, each at the first look or the second
}

TEST_CASE("nothing is allocated once a book stands") {
  gpt2ie::PageBook<4> book({.max_sequences = 3, .cache_units = 20, .max_length = 32});
  const Tokens long_text = text(32), other = joined(text(10), text(22, 100));
  const std::size_t before = gpt2ie_test::allocations;
  for (int i = 0; i < 20; ++i) {
    const SeqId a = book.open(long_text, 0)->seq;
    run(book, a, long_text, 5);
    const SeqId b = book.open(other, 0)->seq, c = book.fork(a).value();
    book.truncate(c, 14);
    run(book, c, other, 1);
    book.close(c);
    run(book, b, other, 3);
    book.close(a);
    book.close(b);
  }
  CHECK(gpt2ie_test::allocations == before);
}

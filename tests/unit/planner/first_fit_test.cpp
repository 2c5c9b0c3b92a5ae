// SPDX-License-Identifier: MIT
#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/planner/first_fit.hpp>

using gpt2ie::FirstFit;

namespace {

/// The same memory with an owner for each token, 0 for none.
struct NaiveMemory {
  std::vector<int> owner;

  int first_hole(int tokens) const {
    for (int begin = 0, length = 0, i = 0; i < static_cast<int>(owner.size()); ++i) {
      length = owner[static_cast<std::size_t>(i)] == 0 ? length + 1 : 0;
      if (length == 1) begin = i;
      if (length == tokens) return begin;
    }
    return -1;
  }
  int largest() const {
    int largest = 0;
    while (first_hole(largest + 1) >= 0) ++largest;
    return largest;
  }
  int begin_of(int who) const { return static_cast<int>(std::find(owner.begin(), owner.end(), who) - owner.begin()); }
  int size_of(int who) const { return static_cast<int>(std::count(owner.begin(), owner.end(), who)); }
  void fill(int begin, int tokens, int who) { std::fill_n(owner.begin() + begin, tokens, who); }
};

}  // namespace

TEST_CASE("first fit takes the first hole that is large enough") {
  FirstFit memory(100);
  CHECK(memory.largest_hole() == 100);
  CHECK(memory.allocate(1, 30));
  CHECK(memory.allocate(2, 20));
  CHECK(memory.allocate(3, 50));
  CHECK_FALSE(memory.allocate(4, 1));
  memory.release(1);
  memory.release(3);
  CHECK(memory.free() == 80);
  CHECK(memory.largest_hole() == 50);
  CHECK_FALSE(memory.allocate(4, 51));
  CHECK(memory.allocate(4, 31));
  CHECK(memory.run(4) == FirstFit::Held{4, 50, 31});
  CHECK(memory.allocate(5, 30));
  CHECK(memory.run(5) == FirstFit::Held{5, 0, 30});
  CHECK(memory.run(6).size == 0);
}

TEST_CASE("a run grows in place as far as it may, and moves over its own place") {
  FirstFit memory(100);
  CHECK(memory.allocate(1, 10));
  CHECK(memory.allocate(2, 40));
  CHECK_FALSE(memory.extend(1, 11, 15));
  CHECK(memory.extend(2, 45, 60));
  CHECK(memory.run(2) == FirstFit::Held{2, 10, 60});
  CHECK(memory.allocate(3, 20));
  CHECK(memory.extend(3, 21, 40));
  CHECK(memory.run(3) == FirstFit::Held{3, 70, 30});  // no more than there is
  CHECK_FALSE(memory.move(2, 61));
  CHECK(memory.run(2) == FirstFit::Held{2, 10, 60});
  memory.release(1);
  CHECK(memory.move(2, 61));
  CHECK(memory.run(2) == FirstFit::Held{2, 0, 61});
  CHECK(memory.free() == 9);
}

TEST_CASE("a memory agrees with a naive one over random calls") {
  std::mt19937 random(7);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  FirstFit memory(200);
  NaiveMemory naive{std::vector<int>(200, 0)};
  for (int i = 0; i < 20000; ++i) {
    const int who = draw(1, 12), held = naive.size_of(who), begin = naive.begin_of(who);
    if (held == 0) {
      const int tokens = draw(1, 40), hole = naive.first_hole(tokens);
      REQUIRE(memory.allocate(who, tokens) == (hole >= 0));
      if (hole >= 0) naive.fill(hole, tokens, who);
    } else if (const int action = draw(0, 3); action == 0) {
      memory.release(who);
      naive.fill(begin, held, 0);
    } else if (action == 1) {
      const int least = held + draw(1, 5), wanted = least + draw(0, 20);
      int room = held;
      while (begin + room < 200 && naive.owner[static_cast<std::size_t>(begin + room)] == 0) ++room;
      REQUIRE(memory.extend(who, least, wanted) == (room >= least));
      if (room >= least) naive.fill(begin, std::min(room, wanted), who);
    } else {
      const int tokens = draw(1, 60);
      naive.fill(begin, held, 0);
      const int hole = naive.first_hole(tokens);
      REQUIRE(memory.move(who, tokens) == (hole >= 0));
      naive.fill(hole >= 0 ? hole : begin, hole >= 0 ? tokens : held, who);
    }
    REQUIRE(memory.free() == naive.size_of(0));
    REQUIRE(memory.largest_hole() == naive.largest());
    if (const int size = naive.size_of(who); size > 0) {
      REQUIRE(memory.run(who) == FirstFit::Held{who, naive.begin_of(who), size});
    } else {
      REQUIRE(memory.run(who).size == 0);
    }
  }
}

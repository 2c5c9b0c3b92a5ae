// SPDX-License-Identifier: MIT
/// Models and near misses of CacheView, CacheBook and CacheStorage, each without one atom.
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/policies.hpp>

#include "concepts/archetypes.hpp"

namespace near_miss {

using namespace gpt2ie;

struct ViewOfDouble : archetype::View {
  using element = double;
};
struct ViewWithoutTileCount : archetype::View {
  void tile_count();
};
struct ViewWithTilesOfAnotherElement : archetype::View {
  using element = bf16;
};
struct ViewWithoutPlace : archetype::View {
  void place();
};
struct ViewWithoutStep : archetype::View {
  void step();
};
struct ViewThatOwns : archetype::View {
  std::vector<float> memory;
};

struct BookWithoutFork : archetype::Book {
  using archetype::Book::Book;
  void fork();
};
struct BookWhoseCloseMayThrow : archetype::Book {
  using archetype::Book::Book;
  void close(SeqId seq);
};
struct BookThatReservesInPart : archetype::Book {
  using archetype::Book::Book;
  int reserve(std::span<const Run> runs);
};
struct BookWhoseRollbackMayThrow : archetype::Book {
  using archetype::Book::Book;
  void rollback();
};
struct BookWithoutMoves : archetype::Book {
  using archetype::Book::Book;
  void moves();
};
struct BookThatNeedsMore : archetype::Book {
  BookThatNeedsMore(const Limits& limits, int more);
};

template <class Changed>
struct PoolOf {
  template <class B>
  struct pool {
    pool(B& backend, const ModelConfig& config, const Limits& limits);
    Changed stage(B& backend, const archetype::Book& book, const Step& step, StepView view);
  };
};
struct StorageWithoutPool {
  using element = float;
  using book = archetype::Book;
  static constexpr bool retains = true;
};
struct StorageWithoutRetains : PoolOf<archetype::View> {
  using element = float;
  using book = archetype::Book;
};
struct StorageThatRetainsAtRunTime : PoolOf<archetype::View> {
  using element = float;
  using book = archetype::Book;
  bool retains = true;
};
struct StorageWithoutElement : PoolOf<archetype::View> {
  using book = archetype::Book;
  static constexpr bool retains = true;
};
struct StorageWithoutTiles : PoolOf<ViewWithoutTileCount> {
  using element = float;
  using book = archetype::Book;
  static constexpr bool retains = true;
};
struct StorageOfAWrongBook : PoolOf<archetype::View> {
  using element = float;
  using book = BookWithoutMoves;
  static constexpr bool retains = true;
};

}  // namespace near_miss

using namespace near_miss;

TEST_CASE("shipped storages and the archetype are storages") {
  storages::for_each([]<class S>() { CHECK(CacheStorage<S>); });
  CHECK(RetainingStorage<archetype::Storage>);
  CHECK(CacheStorage<kv::NoCache>);
  CHECK_FALSE(RetainingStorage<kv::NoCache>);
  CHECK(CacheBook<SlotBook>);
  CHECK(CacheBook<NoCacheBook>);
  CHECK(CacheBook<PageBook<16>>);
}

TEST_CASE("what lacks one atom is no view") {
  CHECK(CacheView<archetype::View>);
  CHECK((!HasElement<ViewOfDouble> && !CacheView<ViewOfDouble>));
  CHECK((!HasTiles<ViewWithoutTileCount> && HasPlaces<ViewWithoutTileCount> && !CacheView<ViewWithoutTileCount>));
  CHECK((!HasTiles<ViewWithTilesOfAnotherElement> && !CacheView<ViewWithTilesOfAnotherElement>));
  CHECK((!HasPlaces<ViewWithoutPlace> && HasTiles<ViewWithoutPlace> && !CacheView<ViewWithoutPlace>));
  CHECK((HasTiles<ViewWithoutStep> && !CacheView<ViewWithoutStep>));
  CHECK((HasTiles<ViewThatOwns> && HasPlaces<ViewThatOwns> && !CacheView<ViewThatOwns>));
}

TEST_CASE("what lacks one atom is no book") {
  CHECK(CacheBook<archetype::Book>);
  CHECK((!HasSequences<BookWithoutFork> && HasCapacity<BookWithoutFork> && !CacheBook<BookWithoutFork>));
  CHECK((!HasSequences<BookWhoseCloseMayThrow> && !CacheBook<BookWhoseCloseMayThrow>));
  CHECK((!HasCapacity<BookThatReservesInPart> && !CacheBook<BookThatReservesInPart>));
  CHECK((!HasCapacity<BookWhoseRollbackMayThrow> && !CacheBook<BookWhoseRollbackMayThrow>));
  CHECK((!HasMoves<BookWithoutMoves> && HasSequences<BookWithoutMoves> && !CacheBook<BookWithoutMoves>));
  CHECK((HasMoves<BookThatNeedsMore> && !CacheBook<BookThatNeedsMore>));
}

TEST_CASE("what lacks one atom is no storage") {
  CHECK((!HasPool<StorageWithoutPool> && HasBook<StorageWithoutPool> && !CacheStorage<StorageWithoutPool>));
  CHECK((HasPool<StorageWithoutRetains> && !CacheStorage<StorageWithoutRetains>));
  CHECK((HasPool<StorageThatRetainsAtRunTime> && !CacheStorage<StorageThatRetainsAtRunTime>));
  CHECK((!HasElement<StorageWithoutElement> && HasPool<StorageWithoutElement> && !CacheStorage<StorageWithoutElement>));
  CHECK((!HasPool<StorageWithoutTiles> && HasBook<StorageWithoutTiles> && !CacheStorage<StorageWithoutTiles>));
  CHECK((!HasBook<StorageOfAWrongBook> && !CacheStorage<StorageOfAWrongBook>));
  CHECK_FALSE(CacheStorage<attention::Standard>);
  CHECK_FALSE(CacheStorage<int>);
}

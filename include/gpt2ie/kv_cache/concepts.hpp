// SPDX-License-Identifier: MIT
/// What a cache is: a book that counts, a pool that owns memory, and a view that attention reads.
///
/// Legend: E = n_head * head_dim. A unit is what a book hands out: a slot for one sequence, or a page of tokens.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// K and V rows of positions [first, first + count) of one sequence in one layer. Element d of head h at position p is
/// k[(p - first) * row_stride + h * head_stride + d]; v alike. Rows at or past count are unspecified and may be NaN.
template <class T>
struct Tile {
  const T *k, *v;
  /// One for each row and head, in the order of the heads: that of row p and head h of K is
  /// k_scale[((p - first) * row_stride + h * head_stride) / head_dim]. Null: the elements stand for themselves.
  const float *k_scale, *v_scale;
  std::ptrdiff_t row_stride, head_stride;
  int first, count;
};

/// Where K and V of one row of the step go. Element d of head h: k[h * head_stride + d]; v alike.
template <class T>
struct Place {
  T *k, *v;
  float *k_scale, *v_scale;  ///< that of head h: k_scale[h * head_stride / head_dim]; null as in Tile
  std::ptrdiff_t head_stride;
};

/// A copy of one unit, all layers, that the pool owes before the next step (fork, copy on write).
struct Move {
  int from, to;
};

/// Returned by open: the sequence, and how many of its first tokens the cache already holds.
struct Opened {
  SeqId seq;
  int matched;
};

struct Capacity {
  int total_units, free_units;
  int max_length;        ///< longest sequence in tokens
  int cached_units = 0;  ///< the free units that hold tokens of closed sequences, for a new prompt to take up
};

template <class V>
concept HasElement = requires {
  typename V::element;
  requires CacheElement<typename V::element>;
};

template <class V>
concept HasTiles = HasElement<V> && requires(const V view, int layer, int run, int tile) {
  { view.tile_count(run) } -> std::same_as<int>;
  { view.tile(layer, run, tile) } -> std::same_as<Tile<typename V::element>>;
};

template <class V>
concept HasPlaces = HasElement<V> && requires(const V view, int layer, int row) {
  { view.place(layer, row) } -> std::same_as<Place<typename V::element>>;
};

/// What attention sees of a cache for one step. Trivially copyable: host and device code take it by value. Tiles of a
/// run are in ascending, gapless order of positions from 0 to first + count of the run. `step` is the step it was
/// staged for.
template <class V>
concept CacheView = std::is_trivially_copyable_v<V> && HasTiles<V> && HasPlaces<V> && requires(const V view) {
  { view.step } -> std::convertible_to<StepView>;
};

/// Sequences come and go.
template <class B>
concept HasSequences = requires(B b, const B c, SeqId seq, std::span<const Token> tokens, std::uint64_t salt, int n) {
  { b.open(tokens, salt) } -> std::same_as<std::optional<Opened>>;  // nullopt: no sequence free
  { c.length(seq) } -> std::same_as<int>;                           // positions kept; the next run starts here
  { b.truncate(seq, n) }
  noexcept->std::same_as<void>;                           // forgets positions >= n
  { b.fork(seq) } -> std::same_as<std::optional<SeqId>>;  // a second sequence with the same past
  { b.close(seq) }
  noexcept->std::same_as<void>;
};

/// Room is asked for before a step is run.
template <class B>
concept HasCapacity = requires(B b, const B c, std::span<const Run> runs, std::span<const Token> tokens, int n) {
  { c.missing(runs) } -> std::same_as<int>;          // units short for these runs together; 0: they fit
  { b.reserve(runs) } -> std::same_as<bool>;         // all or nothing; false changes nothing
  { b.commit(runs, tokens) } -> std::same_as<void>;  // the step ran; a run's count may be lowered to what was accepted
  { b.rollback() }
  noexcept->std::same_as<void>;  // the reserved step did not run
  { c.capacity() } -> std::same_as<Capacity>;
  { c.fits_alone(n) } -> std::same_as<bool>;  // could a sequence of n tokens ever be held
  { c.units_for(n) } -> std::same_as<int>;    // units that a sequence of n tokens takes, shared ones included
};

/// Copies pass from the book to its pools.
template <class B>
concept HasMoves = requires(B b, const B c) {
  { c.moves() } -> std::same_as<std::span<const Move>>;
  { b.settle() }
  noexcept->std::same_as<void>;  // every pool has made the copies
};

/// Lengths, units, sharing and forks, with no tensor memory: schedulers and simulators use it too. One thread at a
/// time.
template <class B>
concept CacheBook =
    std::movable<B> && std::constructible_from<B, const Limits&> && HasSequences<B> && HasCapacity<B> && HasMoves<B>;

namespace detail {
/// The least backend that a pool may be asked to work with.
struct ProbeBackend : HostBackend {
  using HostBackend::HostBackend;
};
}  // namespace detail

template <class S>
concept HasBook = requires {
  typename S::book;
  requires CacheBook<typename S::book>;
};

/// pool<Backend>(backend, config, limits) owns the memory; stage makes the moves, writes the tables and returns the
/// view of one step, in the backend's order of execution.
template <class S>
concept HasPool = HasBook<S> &&
    requires(typename S::template pool<detail::ProbeBackend> pool, detail::ProbeBackend& backend,
             const typename S::book& book, const Step& step, StepView view) {
  { pool.stage(backend, book, step, view) } -> CacheView;
};

/// A storage: an element type, a book, a pool in any backend's memory, and whether it keeps the past between steps.
template <class S>
concept CacheStorage = HasElement<S> && HasBook<S> && HasPool<S> && requires {
  typename std::bool_constant<S::retains>;
};

/// Keeps K and V between steps. kv::NoCache does not: each run starts at position 0.
template <class S>
concept RetainingStorage = CacheStorage<S> && S::retains;

/// What a pool has copied so far, apart from writing new rows. Seconds are host time and count only copies that waited.
struct CopyCount {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

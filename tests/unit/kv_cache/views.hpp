// SPDX-License-Identifier: MIT
/// Writes rows through a storage's view and reads them back through its tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie_test {

/// A book and its pool over a small shape: 2 layers, 2 heads of 3 elements. What is stored, scales included, says where
/// it belongs, so a row in the wrong place shows.
template <class Storage, class B = gpt2ie::backend::SimdCpu<float>>
class Cache {
 public:
  using Element = typename Storage::element;
  using Backend = B;

  explicit Cache(const gpt2ie::Limits& limits) : book_(limits), pool_(backend_, config(), limits) {}

  gpt2ie::SeqId open() {
    const auto opened = book_.open({}, 0);
    REQUIRE(opened.has_value());
    return opened->seq;
  }

  /// Appends `count` rows to each sequence in one step, then holds every tile of the step's runs against what was
  /// written, in this step and before. `text` tells the sequences' contents apart and is inherited by forks.
  void step(const std::vector<std::pair<gpt2ie::SeqId, int>>& parts) {
    gpt2ie::Step step;
    std::vector<int> row_run, run_row, run_first, run_context;
    for (const auto& [seq, count] : parts) {
      const int first = book_.length(seq);
      step.runs.push_back({.seq = seq, .first = first, .count = count, .row = step.rows()});
      run_row.push_back(step.rows());
      run_first.push_back(first);
      run_context.push_back(first + count);
      for (int i = 0; i < count; ++i) {
        row_run.push_back(static_cast<int>(step.runs.size()) - 1);
        step.tokens.push_back(0);
        step.positions.push_back(first + i);
      }
    }
    REQUIRE(book_.reserve(step.runs));
    const auto view = pool_.stage(backend_, book_, step,
                                  {.token = step.tokens.data(),
                                   .position = step.positions.data(),
                                   .row_run = row_run.data(),
                                   .run_row = run_row.data(),
                                   .run_first = run_first.data(),
                                   .run_context = run_context.data(),
                                   .rows = step.rows(),
                                   .runs = static_cast<int>(step.runs.size())});
    book_.settle();
    for (int layer = 0; layer < config().n_layer; ++layer) {
      for (int row = 0; row < step.rows(); ++row) write(view.place(layer, row), layer, step, row_run, row);
      for (int run = 0; run < static_cast<int>(step.runs.size()); ++run) check(view, layer, step, run);
    }
    book_.commit(step.runs, step.tokens);
  }

  Backend& backend() { return backend_; }
  typename Storage::book& book() { return book_; }
  [[nodiscard]] const gpt2ie::CopyCount& copies() const { return pool_.copies(); }

  /// Bytes of K and V of one row in all layers.
  [[nodiscard]] static std::uint64_t row_bytes() {
    const auto planes = static_cast<std::uint64_t>(2 * config().n_layer);
    const std::uint64_t scales = scaled ? static_cast<std::uint64_t>(config().n_head) * sizeof(float) : 0;
    return planes * (static_cast<std::uint64_t>(config().n_embd) * sizeof(Element) + scales);
  }

  /// From here on `child` has what `parent` wrote.
  void inherit(gpt2ie::SeqId parent, gpt2ie::SeqId child) { written(child) = written(parent); }

 private:
  static gpt2ie::ModelConfig config() {
    gpt2ie::ModelConfig config;
    config.n_layer = 2;
    config.n_head = 2;
    config.n_embd = 6;
    return config;
  }

  static constexpr bool scaled = !gpt2ie::PlainElement<Element>;

  static Element element(float x) {
    if constexpr (scaled) {
      return {static_cast<std::int8_t>(x)};
    } else {
      return gpt2ie::from_float<Element>(x);
    }
  }

  /// Of K; that of V is one more.
  static float scale(int stamp, int layer, int head) {
    return static_cast<float>(1 + 2 * (4 * stamp + 2 * layer + head));
  }

  /// Small whole numbers, which every element type keeps.
  static float value(int stamp, int layer, int head, int d) {
    return static_cast<float>(stamp % 64 + 64 * ((layer * 2 + head) * 3 + d) % 128);
  }

  std::vector<int>& written(gpt2ie::SeqId seq) { return written_[static_cast<std::size_t>(seq)]; }

  template <class Place>
  void write(const Place& place, int layer, const gpt2ie::Step& step, const std::vector<int>& row_run, int row) {
    const gpt2ie::Run& run = step.runs[static_cast<std::size_t>(row_run[static_cast<std::size_t>(row)])];
    std::vector<int>& stamps = written(run.seq);
    if (layer == 0) {
      stamps.resize(static_cast<std::size_t>(step.positions[static_cast<std::size_t>(row)]));
      stamps.push_back(++stamp_);
    }
    const int stamp = stamps[static_cast<std::size_t>(step.positions[static_cast<std::size_t>(row)])];
    for (int head = 0; head < 2; ++head) {
      for (int d = 0; d < 3; ++d) {
        place.k[head * place.head_stride + d] = element(value(stamp, layer, head, d));
        place.v[head * place.head_stride + d] = element(-value(stamp, layer, head, d));
      }
      if constexpr (scaled) {
        place.k_scale[head * place.head_stride / 3] = scale(stamp, layer, head);
        place.v_scale[head * place.head_stride / 3] = scale(stamp, layer, head) + 1;
      } else {
        CHECK((place.k_scale == nullptr && place.v_scale == nullptr));
      }
    }
  }

  template <class View>
  void check(const View& view, int layer, const gpt2ie::Step& step, int run) {
    const gpt2ie::Run& r = step.runs[static_cast<std::size_t>(run)];
    const std::vector<int>& stamps = written(r.seq);
    int position = 0, wrong = 0;
    for (int j = 0; j < view.tile_count(run); ++j) {
      const auto tile = view.tile(layer, run, j);
      CHECK(tile.first == position);
      CHECK(tile.count > 0);
      for (int i = 0; i < tile.count; ++i, ++position) {
        const int stamp = stamps[static_cast<std::size_t>(position)];
        for (int head = 0; head < 2; ++head) {
          if constexpr (scaled) {
            const std::ptrdiff_t at = (i * tile.row_stride + head * tile.head_stride) / 3;
            wrong += tile.k_scale[at] != scale(stamp, layer, head);
            wrong += tile.v_scale[at] != scale(stamp, layer, head) + 1;
          } else {
            wrong += tile.k_scale != nullptr || tile.v_scale != nullptr;
          }
          for (int d = 0; d < 3; ++d) {
            const std::ptrdiff_t at = i * tile.row_stride + head * tile.head_stride + d;
            const float expected = value(stamp, layer, head, d);
            wrong += gpt2ie::to_float(tile.k[at]) != expected || gpt2ie::to_float(tile.v[at]) != -expected;
          }
        }
      }
    }
    CHECK(position == r.first + r.count);
    CHECK(wrong == 0);
  }

  Backend backend_{1};
  typename Storage::book book_;
  typename Storage::template pool<Backend> pool_;
  std::vector<int> written_[8];
  int stamp_ = 0;
};

/// What every retaining storage does: rows come back in order from one run or many, from forks, cuts and reopened
/// sequences.
template <class Storage, class B = gpt2ie::backend::SimdCpu<float>>
void check_retaining_storage() {
  Cache<Storage, B> cache({.max_sequences = 4, .max_rows = 64, .max_length = 40});
  const auto a = cache.open(), b = cache.open();
  cache.step({{a, 7}});
  cache.step({{b, 5}, {a, 1}});
  cache.step({{a, 9}, {b, 16}});
  const auto child = cache.book().fork(a);
  REQUIRE(child.has_value());
  cache.inherit(a, *child);
  cache.step({{*child, 2}, {a, 3}, {b, 1}});
  cache.step({{a, 1}, {*child, 1}});
  cache.book().truncate(b, 3);
  cache.step({{b, 4}});
  cache.book().close(a);
  const auto again = cache.open();
  cache.step({{again, 20}, {*child, 1}});
  cache.step({{again, 20}});  // to max_length
}

}  // namespace gpt2ie_test

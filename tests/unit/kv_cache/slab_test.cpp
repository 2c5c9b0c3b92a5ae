// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/slab.hpp>

TEST_CASE("tiles and places of a slab lie as its layout says: [n_layer][K, V][rows][E]") {
  constexpr int n_embd = 6, head_dim = 3, slab_rows = 4;
  std::vector<float> slab(static_cast<std::size_t>(2 * 2 * slab_rows * n_embd));
  const gpt2ie::SlabRows<float> slabs[] = {{{slab.data(), nullptr}, slab_rows * n_embd}};
  const int position[] = {2}, row_run[] = {0}, run_row[] = {0}, run_first[] = {2}, run_context[] = {3};
  const gpt2ie::StepView step{.token = nullptr,
                              .position = position,
                              .row_run = row_run,
                              .run_row = run_row,
                              .run_first = run_first,
                              .run_context = run_context,
                              .rows = 1,
                              .runs = 1};
  const gpt2ie::SlabView<float> view{step, slabs, n_embd, head_dim};
  CHECK(view.tile_count(0) == 1);
  const auto tile = view.tile(1, 0, 0);
  CHECK(tile.k == slab.data() + 2 * slab_rows * n_embd);
  CHECK(tile.v == slab.data() + 3 * slab_rows * n_embd);
  CHECK(tile.row_stride == n_embd);
  CHECK(tile.head_stride == head_dim);
  CHECK(tile.first == 0);
  CHECK(tile.count == 3);
  CHECK(tile.k_scale == nullptr);
  const auto place = view.place(1, 0);
  CHECK(place.k == tile.k + 2 * n_embd);
  CHECK(place.v == tile.v + 2 * n_embd);
}

TEST_CASE("a copy timer adds its own life") {
  gpt2ie::CopyCount copies{.bytes = 3, .seconds = 1};
  { const gpt2ie::detail::CopyTimer timer(copies); }
  CHECK(copies.seconds >= 1);
  CHECK(copies.bytes == 3);
}

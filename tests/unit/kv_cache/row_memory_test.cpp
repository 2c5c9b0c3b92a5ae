// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/host_backend.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/kv_cache/row_memory.hpp>

#include "support/count_allocations.hpp"

namespace {

using gpt2ie::HostBackend;
using gpt2ie::int8;

/// Heads of 3 elements.
gpt2ie::ModelConfig config() {
  gpt2ie::ModelConfig config;
  config.n_head = 2;
  config.n_embd = 6;
  return config;
}

}  // namespace

TEST_CASE("scales lie in the order of their heads") {
  int8 elements[24] = {};
  float scales[8] = {};
  const gpt2ie::StoredRows<int8> rows{elements, scales};
  const gpt2ie::Tile<int8> tile = rows.tile(6, 18, {6, 3, 3}, 5, 1);
  CHECK(tile.k == elements + 6);
  CHECK(tile.v == elements + 18);
  CHECK(tile.k_scale == scales + 2);
  CHECK(tile.v_scale == scales + 6);
  CHECK(tile.row_stride == 6);
  CHECK(tile.head_stride == 3);
  CHECK(tile.first == 5);
  CHECK(tile.count == 1);
  const gpt2ie::Place<int8> place = rows.place(12, 0, {6, 3, 3});
  CHECK(place.k == elements + 12);
  CHECK(place.v == elements);
  CHECK(place.k_scale == scales + 4);
  CHECK(place.v_scale == scales);
  CHECK(place.head_stride == 3);
}

TEST_CASE("copies take the scales along and count them") {
  HostBackend backend(1);
  gpt2ie::CopyCount copies;
  gpt2ie::detail::RowMemory<int8, HostBackend> from(backend, config(), 12), to(backend, config(), 24);
  for (int i = 0; i < 12; ++i) from.rows().element[i] = {static_cast<signed char>(i)};
  for (int i = 0; i < 4; ++i) from.rows().scale[i] = static_cast<float>(10 * i);
  to.copy(backend, 15, from, 3, 6, copies);
  for (int i = 0; i < 6; ++i) CHECK(to.rows().element[15 + i].value == 3 + i);
  CHECK(to.rows().scale[5] == 10);
  CHECK(to.rows().scale[6] == 20);
  CHECK(copies.bytes == 6 + 2 * sizeof(float));
  to.copy(backend, 0, {}, 0, 0, copies);
  CHECK(copies.bytes == 6 + 2 * sizeof(float));
}

TEST_CASE("plain elements have no scales and pay for none") {
  HostBackend backend(1);
  gpt2ie::CopyCount copies;
  const std::size_t before = gpt2ie_test::allocations;
  gpt2ie::detail::RowMemory<float, HostBackend> memory(backend, config(), 12);
  CHECK(gpt2ie_test::allocations == before + 1);
  CHECK(memory.rows().tile(6, 0, {6, 3, 3}, 0, 1).k_scale == nullptr);
  CHECK(memory.rows().place(6, 0, {6, 3, 3}).v_scale == nullptr);
  memory.rows().element[7] = 5;
  memory.copy(backend, 0, memory, 6, 6, copies);
  CHECK(memory.rows().element[1] == 5);
  CHECK(copies.bytes == 6 * sizeof(float));
}

TEST_CASE("memory is given for elements and scales, by backends that can") {
  struct Recording : HostBackend {
    using HostBackend::HostBackend;
    void populate(int8* data, std::size_t n) { elements = data, element_count = n; }
    void populate(float* data, std::size_t n) { scales = data, scale_count = n; }

    int8* elements = nullptr;
    float* scales = nullptr;
    std::size_t element_count = 0, scale_count = 0;
  };
  Recording backend(1);
  gpt2ie::detail::RowMemory<int8, Recording> memory(backend, config(), 24);
  memory.populate(backend, 6, 12);
  CHECK(backend.elements == memory.rows().element + 6);
  CHECK(backend.scales == memory.rows().scale + 2);
  CHECK(backend.element_count == 12);
  CHECK(backend.scale_count == 4);
}

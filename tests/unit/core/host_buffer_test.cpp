// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <gpt2ie/core/host_buffer.hpp>

using gpt2ie::HostBuffer;

static_assert(!std::is_copy_constructible_v<HostBuffer<float>> &&
              std::is_nothrow_move_constructible_v<HostBuffer<float>>);

TEST_CASE("memory begins at a multiple of 64 bytes and holds what is written") {
  for (const std::size_t size : {1u, 3u, 16u, 1000u, 3000000u}) {
    HostBuffer<float> buffer(size);
    CHECK(buffer.size() == size);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    buffer.data()[0] = 1;
    buffer.data()[size - 1] = 2;
    CHECK(std::as_const(buffer).data()[size - 1] == 2);
  }
}

TEST_CASE("no elements are no memory") {
  CHECK(HostBuffer<int>().data() == nullptr);
  CHECK(HostBuffer<int>(0).data() == nullptr);
  CHECK(HostBuffer<int>(0).size() == 0);
}

TEST_CASE("moving hands the memory over") {
  HostBuffer<int> from(4);
  int* const memory = from.data();
  HostBuffer<int> to = std::move(from);
  CHECK(to.data() == memory);
  CHECK(to.size() == 4);
  HostBuffer<int> assigned(2);
  assigned = std::move(to);
  CHECK(assigned.data() == memory);
  CHECK(assigned.size() == 4);
}

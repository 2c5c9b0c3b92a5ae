// SPDX-License-Identifier: MIT
#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include <gpt2ie/backend/panel_memory.hpp>

using gpt2ie::detail::PanelMemory;

TEST_CASE("its own memory moves along; that of someone else is kept as long as it is needed") {
  PanelMemory<int> own(5);
  own.own()[4] = 7;
  const int* at = own.data();
  const PanelMemory<int> moved = std::move(own);
  CHECK(moved.data() == at);
  CHECK(moved.size() == 5);

  const auto owner = std::make_shared<int>(3);
  PanelMemory<int> other(owner.get(), 1, owner);
  CHECK(owner.use_count() == 2);
  CHECK(*other.data() == 3);
  CHECK(other.own() == nullptr);
  other = PanelMemory<int>();
  CHECK(owner.use_count() == 1);
}

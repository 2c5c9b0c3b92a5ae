// SPDX-License-Identifier: MIT
#include <concepts>

#include <doctest/doctest.h>

#include <gpt2ie/scheduler/scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>

namespace slots = gpt2ie::slots;

TEST_CASE("slot policies say how many run and whether a free slot is refilled") {
  CHECK(slots::Sequential::count == 1);
  CHECK(slots::Static<4>::count == 4);
  CHECK_FALSE(slots::Static<4>::refills);
  CHECK(slots::Continuous<4>::count == 4);
  CHECK(slots::Continuous<4>::refills);
}

TEST_CASE("a scheduler names its slot policy") {
  CHECK(std::same_as<gpt2ie::Scheduler<slots::Static<3>>::slot_policy, slots::Static<3>>);
  CHECK(gpt2ie::Scheduler<slots::Sequential>::valid);
  CHECK(gpt2ie::detail::has_slots<slots::Continuous<1>>());
  CHECK_FALSE(gpt2ie::detail::has_slots<slots::Continuous<0>>());
  CHECK_FALSE(gpt2ie::detail::has_slots<int>());
}

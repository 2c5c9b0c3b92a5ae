// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <gpt2ie/engine/stats.hpp>

TEST_CASE("statistics begin at nothing and are values") {
  gpt2ie::EngineStats stats;
  CHECK_FALSE(stats.dead);
  CHECK(stats.used_units + stats.cached_units + stats.free_units == 0);
  CHECK(stats.scheduler.steps + stats.submitted + stats.generated == 0);
  stats.first_token.add(0.25);
  const gpt2ie::EngineStats copy = stats;
  stats.first_token.add(0.5);
  CHECK(copy.first_token.count() == 1);
}

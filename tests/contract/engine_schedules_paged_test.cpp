// SPDX-License-Identifier: MIT
/// The same answer over pages: alone, among others, in chunks, preempted, and from shared prefixes.
#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/paged.hpp>

#include "contract/schedule_trials.hpp"
#include "support/test_seed.hpp"

namespace gpt2ie_test {

TEST_CASE("known requests are answered alone as a generator answers them") {
  Tales tales = make_tales();
  for (const KnownRequest& request : known_requests()) {
    CHECK(known_choice(tales.generate(request.prompt, request.options)) == request.choices[0]);
  }
}

TEST_CASE("over pages each request gets the tokens and log-probabilities that it gets alone") {
  const unsigned seed = test_seed();
  const ScheduleSeen one = try_schedules<gpt2ie::kv::Paged<float, 16>>(seed, 1, 400);
  CHECK(one.answers > 5000);
  CHECK(one.preemptions > 500);
  CHECK(one.prefix_hits > 5000);
  CHECK(one.forks > 500);
  CHECK(one.scored > 1000);
  const ScheduleSeen two = try_schedules<gpt2ie::kv::Paged<float, 16>>(seed + 1, 2, 60);
  CHECK(two.preemptions > 100);
}

}  // namespace gpt2ie_test

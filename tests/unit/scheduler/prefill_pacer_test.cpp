// SPDX-License-Identifier: MIT
/// How many rows of prompts go beside running streams.
#include <limits>

#include <doctest/doctest.h>

#include <gpt2ie/scheduler/prefill_pacer.hpp>

using gpt2ie::PrefillPacer;

TEST_CASE("a step with prompts is kept within its factor of a step without") {
  PrefillPacer pacer(3.0);
  CHECK(pacer.rows() == 16);  // nothing is known yet
  pacer.observe(8, 0, 0.010);
  CHECK(pacer.rows() == 16);
  pacer.observe(0, 100, 0.050);                               // 0.5 ms a row
  CHECK(pacer.rows() == 40);                                  // 20 ms more
  for (int i = 0; i < 100; ++i) pacer.observe(8, 20, 0.030);  // 1 ms a row
  CHECK(pacer.rows() == doctest::Approx(20).epsilon(0.06));
}

TEST_CASE("prompts always go on") {
  PrefillPacer pacer(2.0);
  pacer.observe(1, 0, 0.001);
  pacer.observe(0, 1, 1.0);
  CHECK(pacer.rows() == 1);
}

TEST_CASE("a mixed step that took no longer than one without prompts asks for no division by nothing") {
  PrefillPacer pacer(2.0);
  pacer.observe(4, 9, 0.5);  // a mixed step teaches nothing before the others
  CHECK(pacer.rows() == 16);
  pacer.observe(1, 0, 0.010);
  pacer.observe(1, 10, 0.005);
  CHECK(pacer.rows() == 16);
  pacer.observe(0, 10, 0.010);
  CHECK(pacer.rows() == 10);
  for (int i = 0; i < 1000; ++i) pacer.observe(1, 10, 0.005);
  CHECK(pacer.rows() == 1000000);
}

TEST_CASE("factor 0 is no limit") { CHECK(PrefillPacer(0).rows() == std::numeric_limits<int>::max()); }

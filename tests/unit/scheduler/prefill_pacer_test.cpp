// SPDX-License-Identifier: MIT
/// How many rows of prompts go beside running streams.
#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include <gpt2ie/scheduler/prefill_pacer.hpp>

using gpt2ie::PrefillPacer;

namespace {

/// The next step beside streams: what a machine takes that needs `decode` seconds without prompts and `row` more for
/// each of their rows. Returns the rows.
int run_step(PrefillPacer& pacer, double decode, double row) {
  const int rows = pacer.rows();
  pacer.observe(8, rows, decode + row * rows);
  return rows;
}

}  // namespace

TEST_CASE("a step with prompts is kept within its factor of a step without") {
  PrefillPacer pacer(3.0);
  CHECK(pacer.rows() == 16);  // nothing is known yet
  pacer.observe(8, 0, 0.010);
  CHECK(pacer.rows() == 16);
  pacer.observe(0, 100, 0.050);  // 0.5 ms a row
  CHECK(pacer.rows() == 40);     // 20 ms more
  int rows = 0;
  for (int i = 0; i < 200; ++i) rows = std::max(rows, run_step(pacer, 0.010, 0.001));
  CHECK(rows == 40);  // at first, until a row is known to take 1 ms
  for (int i = 0; i < 8; ++i) {
    const int now = run_step(pacer, 0.010, 0.001);
    CHECK((now == 0 || now == doctest::Approx(20).epsilon(0.06)));
  }
}

TEST_CASE("decoding that slows is not held against the prompt") {
  PrefillPacer pacer(1.5);
  pacer.observe(8, 0, 0.024);
  pacer.observe(0, 64, 0.064);  // 1 ms a row
  for (int i = 0; i < 200; ++i) run_step(pacer, 0.036, 0.0015);
  int without = 0;
  for (int i = 0; i < 80; ++i) {
    const int rows = run_step(pacer, 0.036, 0.0015);
    without += rows == 0;
    if (rows != 0) CHECK(rows == doctest::Approx(12).epsilon(0.15));
  }
  CHECK(without == 10);
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
  int most = 0;
  for (int i = 0; i < 1000; ++i) {
    pacer.observe(1, 10, 0.005);
    most = std::max(most, pacer.rows());
  }
  CHECK(most == 1000000);
}

TEST_CASE("factor 0 is no limit") { CHECK(PrefillPacer(0).rows() == std::numeric_limits<int>::max()); }

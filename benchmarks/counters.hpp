// SPDX-License-Identifier: MIT
/// What benchmarks report beside time.
#pragma once

#include <cstdint>

#include <benchmark/benchmark.h>

namespace gpt2ie_benchmark {

/// Bytes read and floating-point operations of one iteration, as rates.
inline void count_work(benchmark::State& state, std::int64_t bytes, double operations) {
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["FLOP/s"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace gpt2ie_benchmark

// SPDX-License-Identifier: MIT
#include "bench/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/core/float4.hpp>
#include <gpt2ie/core/host_buffer.hpp>
#include <gpt2ie/core/thread_pool.hpp>

namespace gpt2ie_example {

using namespace gpt2ie;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Reads four neighbouring quarters in turn, as the fastest readers do. The sum keeps the reads alive.
float read_all(const float* from, std::size_t count) {
  const std::size_t quarter = count / 4 / 16 * 16;
  Float4 sum[4] = {};
  for (std::size_t i = 0; i < quarter; i += 16) {
    for (std::size_t stream = 0; stream < 4; ++stream) {
      for (std::size_t j = 0; j < 16; j += 4) sum[stream] += load4(from + stream * quarter + i + j);
    }
  }
  const Float4 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return all[0] + all[1] + all[2] + all[3];
}

constexpr long rounds = 2'000'000;
constexpr int chains = 12;  // more than latency times the units there are, fewer than registers

/// Chains of fused pairs that wait for nothing but the units; folds, so that every compiler keeps them in registers.
/// Returns a value that depends on all of them.
template <class Unused = void>
struct PeakLoop {
  static constexpr int width = 4;

  template <int... I>
  static float run(float seed, std::integer_sequence<int, I...> /*chains*/) {
    Float4 sum[] = {broadcast4(seed * static_cast<float>(I))...};
    const Float4 factor = broadcast4(0.999f), term = broadcast4(1e-3f);
    for (long round = 0; round < rounds; ++round) ((sum[I] = madd4(sum[I], factor, term)), ...);
    return (sum[I][0] + ...);
  }
};

#if GPT2IE_X86_KERNELS
template <class Unused = void>
struct PeakLoopAvx2 {
  static constexpr int width = 8;

  template <int... I>
  __attribute__((target("avx2,fma"))) static float run(float seed, std::integer_sequence<int, I...> /*chains*/) {
    __m256 sum[] = {_mm256_set1_ps(seed * static_cast<float>(I))...};
    const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(1e-3f);
    for (long round = 0; round < rounds; ++round) ((sum[I] = _mm256_fmadd_ps(sum[I], factor, term)), ...);
    return (_mm256_cvtss_f32(sum[I]) + ...);
  }
};

/// Products of unsigned by signed bytes, summed by fours: two instructions for 32 products.
template <class Unused = void>
struct BytePeakLoopAvx2 {
  static constexpr int width = 32;

  template <int... I>
  __attribute__((target("avx2,fma"))) static float run(float seed, std::integer_sequence<int, I...> /*chains*/) {
    __m256i sum[] = {_mm256_set1_epi32(static_cast<int>(seed * 1000) + I)...};
    const __m256i factor = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    for (long round = 0; round < rounds; ++round) {
      ((sum[I] = _mm256_madd_epi16(_mm256_maddubs_epi16(factor, sum[I]), ones)), ...);
    }
    return static_cast<float>((_mm256_extract_epi32(sum[I], 0) + ...));
  }
};

template <class Unused = void>
struct PeakLoopAvx512 {
  static constexpr int width = 16;

  template <int... I>
  GPT2IE_TARGET_AVX512 static float run(float seed, std::integer_sequence<int, I...> /*chains*/) {
    __m512 sum[] = {_mm512_set1_ps(seed * static_cast<float>(I))...};
    const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(1e-3f);
    for (long round = 0; round < rounds; ++round) ((sum[I] = _mm512_fmadd_ps(sum[I], factor, term)), ...);
    return (_mm512_cvtss_f32(sum[I]) + ...);
  }
};

template <class Unused = void>
struct BytePeakLoopAvx512 {
  static constexpr int width = 64;

  template <int... I>
  GPT2IE_TARGET_AVX512 static float run(float seed, std::integer_sequence<int, I...> /*chains*/) {
    __m512i sum[] = {_mm512_set1_epi32(static_cast<int>(seed * 1000) + I)...};
    const __m512i factor = _mm512_set1_epi8(3), bytes = _mm512_set1_epi8(-5);
    for (long round = 0; round < rounds; ++round) ((sum[I] = _mm512_dpbusd_epi32(sum[I], factor, bytes)), ...);
    return static_cast<float>((_mm512_cvtsi512_si32(sum[I]) + ...));
  }
};
#endif

template <class Loop>
double peak(ThreadPool& pool) {
  std::vector<double> rates;
  std::vector<float> results(static_cast<std::size_t>(pool.threads()));
  for (int attempt = 0; attempt < 7; ++attempt) {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(pool.threads(), 1, [&](int i) {
      results[static_cast<std::size_t>(i)] =
          Loop::run(static_cast<float>(attempt + i) * 1e-3f, std::make_integer_sequence<int, chains>{});
    });
    rates.push_back(2.0 * Loop::width * chains * rounds * pool.threads() / seconds_since(start));
  }
  return middle(std::move(rates));
}

}  // namespace

MachineLimits measure_machine(int threads) {
  ThreadPool pool(threads);
  MachineLimits limits;

  constexpr std::size_t floats = std::size_t{128} << 20;
  HostBuffer<float> memory(floats);
  const int parts = threads * 8;
  const std::size_t part = floats / static_cast<std::size_t>(parts);
  std::fill_n(memory.data(), floats, 1.0f);
  std::vector<float> sums(static_cast<std::size_t>(parts));
  std::vector<double> rates;
  for (int attempt = 0; attempt < 9; ++attempt) {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(parts, 1, [&](int i) {
      sums[static_cast<std::size_t>(i)] = read_all(memory.data() + static_cast<std::size_t>(i) * part, part);
    });
    rates.push_back(static_cast<double>(part) * parts * sizeof(float) / seconds_since(start));
  }
  limits.bytes_per_second = middle(std::move(rates));

#if GPT2IE_X86_KERNELS
  if (best_isa() == Isa::avx512) {
    limits.operations_per_second = peak<PeakLoopAvx512<>>(pool);
    limits.byte_operations_per_second = peak<BytePeakLoopAvx512<>>(pool);
    return limits;
  }
  if (best_isa() == Isa::avx2) {
    limits.operations_per_second = peak<PeakLoopAvx2<>>(pool);
    limits.byte_operations_per_second = peak<BytePeakLoopAvx2<>>(pool);
    return limits;
  }
#endif
  limits.operations_per_second = peak<PeakLoop<>>(pool);
  limits.byte_operations_per_second = limits.operations_per_second;
  return limits;
}

}  // namespace gpt2ie_example

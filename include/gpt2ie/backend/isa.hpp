// SPDX-License-Identifier: MIT
/// Which instruction set the kernels of backend::SimdCpu use: chosen when the program runs, in one binary for all.
#pragma once

#include <array>
#include <string_view>

#include <gpt2ie/config.hpp>

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
#define GPT2IE_X86_KERNELS 1
#include <cpuid.h>
#else
#define GPT2IE_X86_KERNELS 0
#endif

namespace gpt2ie::inline GPT2IE_ABI {

namespace detail {

/// Not all compilers know the name of F16C.
[[nodiscard]] inline bool has_f16c() {
#if GPT2IE_X86_KERNELS
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
#else
  return false;
#endif
}

}  // namespace detail

enum class Isa {
  portable,  ///< what the compiler makes of plain code
  avx2,      ///< AVX2 with FMA and F16C
  avx512,    ///< AVX-512 F, BW, DQ, VL and VNNI beside those
};

inline constexpr std::array all_isas = {Isa::portable, Isa::avx2, Isa::avx512};

[[nodiscard]] inline std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::portable:
      break;
  }
  return "portable";
}

/// Whether this processor runs it. Safe from any thread.
[[nodiscard]] inline bool has_isa(Isa isa) {
  if (isa == Isa::portable) return true;
#if GPT2IE_X86_KERNELS
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && detail::has_f16c();
  if (isa == Isa::avx2 || !avx2) return avx2;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

[[nodiscard]] inline Isa best_isa() {
  return has_isa(Isa::avx512) ? Isa::avx512 : has_isa(Isa::avx2) ? Isa::avx2 : Isa::portable;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

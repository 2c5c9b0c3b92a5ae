// SPDX-License-Identifier: MIT
/// The CPU backends, for tests and benchmarks to iterate over.
#pragma once

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

using backends = type_list<backend::SimdCpu<float>, backend::EigenCpu<float>>;

static_assert(Backend<backend::SimdCpu<float>> && Backend<backend::EigenCpu<float>>);

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// The shipped sampling orders: contract tests and benchmarks iterate over them.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>

namespace gpt2ie::inline GPT2IE_ABI::sampling {

using Orders = type_list<HuggingFaceOrder, LlamaCppOrder>;

}  // namespace gpt2ie::inline GPT2IE_ABI::sampling

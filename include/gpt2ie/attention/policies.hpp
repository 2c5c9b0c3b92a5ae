// SPDX-License-Identifier: MIT
/// The shipped attention policies, for tests and benchmarks to iterate over. A new one is its header and one line here.
#pragma once

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/attention/standard_eigen.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

using attentions = type_list<attention::Standard,       //
                             attention::Flash<64, 64>,  //
                             attention::Flash<32, 48>>;

}  // namespace gpt2ie::inline GPT2IE_ABI

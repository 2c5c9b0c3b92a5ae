// SPDX-License-Identifier: MIT
/// std::bit_cast for host and device alike.
#pragma once

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The bits of `from` as a To of the same size.
template <class To, class From>
GPT2IE_HD constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Small compile-time tools that every family of policies uses.
#pragma once

#include <concepts>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// T is one of Ts.
template <class T, class... Ts>
concept one_of = (std::same_as<T, Ts> || ...);

/// A list of policies; tests and benchmarks iterate over it.
template <class... Ts>
struct type_list {
  /// Calls `f.template operator()<T>()` for each T in order.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Ts>(), ...);
  }
};

/// A false that depends on template parameters: for static_assert in templates that must not be used.
template <class...>
inline constexpr bool always_false = false;

namespace detail {

/// True for a class whose own template refuses its parameters with a sentence. Clang goes on as if such a class had no
/// members, and no second sentence should blame it for that.
template <class>
inline constexpr bool refused = false;

}  // namespace detail

}  // namespace gpt2ie::inline GPT2IE_ABI

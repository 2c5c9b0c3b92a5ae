// SPDX-License-Identifier: MIT
/// What a call fails with, as a value that tests can compare.
#pragma once

#include <optional>
#include <string>

#include <gpt2ie/core/error.hpp>

namespace gpt2ie_test {

/// The code of the Error that the call throws; nothing if it throws none.
template <class Call>
std::optional<gpt2ie::errc> error_code(const Call& call) {
  try {
    call();
  } catch (const gpt2ie::Error& error) {
    return error.code();
  }
  return std::nullopt;
}

/// The text of the Error that the call throws; empty if it throws none.
template <class Call>
std::string error_text(const Call& call) {
  try {
    call();
  } catch (const gpt2ie::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace gpt2ie_test

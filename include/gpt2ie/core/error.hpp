// SPDX-License-Identifier: MIT
/// The one exception type of the library and the one function that every failure goes through.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What kind of thing went wrong. A program decides by the code; people read the text.
enum class errc {
  bad_config,           ///< config.json names sizes or options that do not make a GPT-2
  bad_file,             ///< a file is missing, truncated, malformed or hostile
  bad_shape,            ///< a tensor has another shape than the configuration asks for
  missing_tensor,       ///< a tensor that the configuration asks for is not in the checkpoint
  unsupported,          ///< well-formed, but not something that this library runs
  bad_request,          ///< an argument of a call is outside its range; nothing was done
  bad_text,             ///< text that the tokenizer's vocabulary can't represent
  no_fit,               ///< a request that can never fit in the memory or the context given
  busy,                 ///< the object is answering another request
  unavailable,          ///< the engine is draining, stopped or dead
  bad_logits,           ///< the model gave NaN or +infinity, or the settings left no token to pick
  broken_precondition,  ///< the caller broke a documented precondition (checked builds only)
};

/// Thrown before anything is half done. `expected` and `found` are complete phrases and carry the numbers.
class Error : public std::runtime_error {
 public:
  Error(errc code, std::string expected, std::string found)
      : std::runtime_error("gpt2ie: expected " + expected + ", found " + found),
        code_(code),
        expected_(std::move(expected)),
        found_(std::move(found)) {}

  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& expected() const noexcept { return expected_; }
  [[nodiscard]] const std::string& found() const noexcept { return found_; }

 private:
  errc code_;
  std::string expected_, found_;
};

/// Every failure of the library leaves through here.
[[noreturn]] inline void fail(errc code, std::string expected, std::string found) {
  Error error(code, std::move(expected), std::move(found));
#if GPT2IE_EXCEPTIONS
  throw error;
#else
#if defined(GPT2IE_ERROR_HANDLER)
  GPT2IE_ERROR_HANDLER(error);
#endif
  std::terminate();
#endif
}

}  // namespace gpt2ie::inline GPT2IE_ABI

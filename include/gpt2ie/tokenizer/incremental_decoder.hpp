// SPDX-License-Identifier: MIT
/// Tokens to text, one token at a time, in whole characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/utf8.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Gives out text as soon as it is certain, and always valid UTF-8. A token may end inside a character: its bytes wait
/// (three at most) until the next token finishes it or shows that none can. Bytes that can't become a character turn
/// into U+FFFD, one for each maximal subpart, as the Unicode Standard (section 3.9) recommends and WHATWG requires; so
/// all chunks together are what such a decoder makes of all bytes at once.
///
/// One stream, one thread at a time. The tokenizer must outlive it. Time: linear in the bytes.
class IncrementalDecoder {
 public:
  explicit IncrementalDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that became certain with this token. A special token gives its name; an id outside the vocabulary (a row
  /// of padding in the model's table) gives nothing, and an unfinished character goes on waiting.
  std::string push(Token token) {
    std::string text;
    if (!tokenizer_->contains(token)) return text;
    waiting_ += tokenizer_->token_bytes(token);
    std::string_view rest = waiting_;
    while (!rest.empty()) {
      const detail::Utf8Step step = detail::utf8_step(rest);
      if (step.kind == detail::Utf8Step::Kind::unfinished) break;
      const auto length = static_cast<std::size_t>(step.length);
      text += step.kind == detail::Utf8Step::Kind::character ? rest.substr(0, length) : replacement;
      rest.remove_prefix(length);
    }
    waiting_.erase(0, waiting_.size() - rest.size());
    return text;
  }

  /// The end of the stream: an unfinished character becomes one U+FFFD. Then the decoder is as new.
  std::string finish() {
    const bool unfinished = !waiting_.empty();
    waiting_.clear();
    return std::string(unfinished ? replacement : std::string_view());
  }

  /// Bytes that wait for the rest of their character, 0 to 3.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  static constexpr std::string_view replacement = "\xef\xbf\xbd";

  const Tokenizer* tokenizer_;
  std::string waiting_;  // the front of one valid character, or nothing
};

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Finds stop strings in a stream of text and holds back what may yet belong to one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/utf8.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The stream ends before the stop string that begins first. What is sent does not depend on how the text is cut into
/// pushes: while a stop string that begins before a complete one may still become complete, the answer waits for it.
/// Where two begin at one place the shorter counts, as it is complete first; of two equal ones the first given.
///
/// Searches with one automaton a stop string (Knuth, Morris, Pratt 1977). Time: amortised O(stops) a byte, however long
/// the text. Memory: 9 bytes a byte of the stop strings, and the text held back, which is shorter than the longest.
///
/// One stream, one thread at a time.
class StopMatcher {
 public:
  /// Never stops.
  StopMatcher() = default;

  /// Errors: bad_request for a stop string that is empty, or not UTF-8 (it would cut characters).
  explicit StopMatcher(std::vector<std::string> stops) {
    patterns_.reserve(stops.size());
    for (std::string& stop : stops) {
      if (stop.empty() || !detail::is_utf8(stop)) {
        fail(errc::bad_request, "stop strings of valid UTF-8, one character or more each",
             stop.empty() ? "an empty one" : "one that is not UTF-8");
      }
      patterns_.emplace_back(std::move(stop));
    }
  }

  /// The text that may be sent now: everything but the longest suffix that could still become a stop string. After a
  /// match: the rest of the text before it, and from then on nothing.
  std::string push(std::string_view text) {
    if (match_) return {};
    for (const char byte : text) {
      held_.push_back(byte);
      if (advance(byte)) return stop();
    }
    const std::size_t begin = std::min(candidate_ ? candidate_->begin : held_.size(), held_.size() - longest_prefix());
    return release(begin);
  }

  /// The end of the stream: what was held back, or, when a complete stop string was waiting for a longer one, the text
  /// before it.
  std::string finish() {
    if (match_) return {};
    if (candidate_) return stop();
    for (Pattern& pattern : patterns_) pattern.matched = 0;
    return release(held_.size());
  }

  /// Which stop string ended the stream (an index into those given).
  [[nodiscard]] std::optional<std::size_t> match() const { return match_; }

  /// Text that waits, as it came.
  [[nodiscard]] std::string_view held() const { return held_; }

 private:
  /// One stop string and how much of it the text ends with.
  struct Pattern {
    explicit Pattern(std::string stop) : text(std::move(stop)), fallback(text.size() + 1, 0) {
      for (std::size_t i = 1, length = 0; i < text.size(); ++i) {
        while (length > 0 && text[i] != text[length]) length = fallback[length];
        if (text[i] == text[length]) ++length;
        fallback[i + 1] = length;
      }
    }

    /// Takes one byte; true when the text now ends with the stop string.
    bool advance(char byte) {
      if (matched == text.size()) matched = fallback[matched];
      while (matched > 0 && text[matched] != byte) matched = fallback[matched];
      if (text[matched] == byte) ++matched;
      return matched == text.size();
    }

    std::string text;
    std::vector<std::size_t> fallback;  // [n]: the longest shorter prefix that the first n bytes end with
    std::size_t matched = 0;
  };
  struct Candidate {
    std::size_t begin;  // in held_
    std::size_t pattern;
  };

  /// Takes one byte, which held_ has already; true when the candidate is certain.
  bool advance(char byte) {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].advance(byte)) continue;
      const std::size_t begin = held_.size() - patterns_[i].text.size();
      if (!candidate_ || begin < candidate_->begin) candidate_ = {begin, i};
    }
    return candidate_ && held_.size() - longest_prefix() >= candidate_->begin;
  }

  /// How much of the text's end is the beginning of a stop string that is not complete yet.
  [[nodiscard]] std::size_t longest_prefix() const {
    std::size_t longest = 0;
    for (const Pattern& pattern : patterns_) {
      const bool complete = pattern.matched == pattern.text.size();
      longest = std::max(longest, complete ? pattern.fallback[pattern.matched] : pattern.matched);
    }
    return longest;
  }

  std::string stop() {
    match_ = candidate_->pattern;
    std::string text = release(candidate_->begin);
    held_.clear();
    return text;
  }

  /// Hands out the first `count` held bytes.
  std::string release(std::size_t count) {
    std::string text = held_.substr(0, count);
    held_.erase(0, count);
    if (candidate_ && count <= candidate_->begin) candidate_->begin -= count;
    return text;
  }

  std::vector<Pattern> patterns_;
  std::string held_;
  std::optional<Candidate> candidate_;  // the complete stop string that begins first so far
  std::optional<std::size_t> match_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

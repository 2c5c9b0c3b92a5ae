// SPDX-License-Identifier: MIT
/// Reads requests for the simulator from a text: one a line, `arrival_s prompt_tokens answer_tokens`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/planner/workload.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

/// One line of a trace. What is wrong with it is said with the name of the file and the number of the line.
class TraceLine {
 public:
  TraceLine(std::string_view name, std::size_t number, std::string_view text)
      : place_(std::string(name) + ", line " + std::to_string(number)), text_(text) {
    constexpr std::string_view blanks = " \t\r";
    const std::string_view data = text.substr(0, text.find('#'));
    for (std::size_t at = data.find_first_not_of(blanks); at != data.npos; at = data.find_first_not_of(blanks, at)) {
      const std::size_t end = std::min(data.find_first_of(blanks, at), data.size());
      words_.push_back(data.substr(at, end - at));
      at = end;
    }
  }

  [[nodiscard]] bool empty() const { return words_.empty(); }

  [[nodiscard]] SimulatedRequest request(int max_length) const {
    if (words_.size() != 3) refuse("arrival_s prompt_tokens answer_tokens");
    SimulatedRequest request;
    const auto arrival = number(words_[0]);
    if (!arrival.is_number() || !(arrival.get<double>() >= 0)) refuse("an arrival in seconds, 0 or more");
    request.arrival_s = arrival.get<double>();
    request.prompt_tokens = tokens(words_[1], max_length);
    request.answer_tokens = tokens(words_[2], max_length);
    if (request.prompt_tokens + request.answer_tokens > max_length) {
      refuse("prompt and answer of at most " + std::to_string(max_length) + " tokens together");
    }
    return request;
  }

 private:
  /// Numbers of JSON: decimal, whatever the locale. What is out of a double's range is no number.
  [[nodiscard]] static nlohmann::json number(std::string_view word) {
    return nlohmann::json::parse(word, nullptr, false);
  }

  [[nodiscard]] int tokens(std::string_view word, int max_length) const {
    const auto value = number(word);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
        value.get<std::uint64_t>() >= static_cast<std::uint64_t>(max_length)) {
      refuse("a whole number of tokens from 1 to " + std::to_string(max_length - 1));
    }
    return value.get<int>();
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    fail(errc::bad_file, expected + " in " + place_, excerpt(text_));
  }

  std::string place_;
  std::string_view text_;
  std::vector<std::string_view> words_;
};

}  // namespace detail

/// The requests of a trace, in order of arrival; of those that arrive together, in order of lines. `#` begins a
/// comment; lines without a request are passed over. `name`: of the file, for messages. Errors: bad_file for a line
/// that is no request or one of more than max_length tokens, and for a trace without requests.
inline std::vector<SimulatedRequest> parse_trace(std::string_view text, std::string_view name, int max_length) {
  std::vector<SimulatedRequest> requests;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const detail::TraceLine line(name, ++number, text.substr(at, end - at));
    if (!line.empty()) requests.push_back(line.request(max_length));
    at = end;
  }
  if (requests.empty()) fail(errc::bad_file, "at least one request in " + std::string(name), "none");
  std::stable_sort(requests.begin(), requests.end(),
                   [](const SimulatedRequest& a, const SimulatedRequest& b) { return a.arrival_s < b.arrival_s; });
  return requests;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

// SPDX-License-Identifier: MIT
/// Parses small JSON files of a model without exceptions, deep recursion or surprises in types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The largest JSON file of a model that is read, in bytes.
inline constexpr std::size_t json_limit = 64 << 20;

/// Levels of nesting that are read; a model's files need a few.
inline constexpr int json_depth_limit = 64;

/// Walks over a JSON text only to find where and why it is malformed.
struct JsonFault : nlohmann::json_sax<nlohmann::json> {
  std::string text = "malformed JSON";

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) override {
    text += " at byte " + std::to_string(position) + ", near " + excerpt(token);
    return false;
  }
};

/// What a JSON value is, for an error message.
inline std::string json_kind(const nlohmann::json& value) { return std::string("a JSON ") + value.type_name(); }

/// Parses a JSON object. Errors: `bad_file`, naming `name` and the place.
inline nlohmann::json parse_json_object(std::string_view text, std::string_view name) {
  const std::string expected = "a JSON object in " + std::string(name);
  if (text.size() > json_limit) {
    fail(errc::bad_file, expected + " of at most " + std::to_string(json_limit) + " bytes",
         std::to_string(text.size()) + " bytes");
  }
  bool too_deep = false;
  const auto within_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep |= depth > json_depth_limit;
    return depth <= json_depth_limit;
  };
  auto json = nlohmann::json::parse(text, within_depth, false);
  if (too_deep) {
    fail(errc::bad_file, expected + " nested at most " + std::to_string(json_depth_limit) + " levels deep",
         "deeper nesting");
  }
  if (json.is_discarded()) {
    JsonFault fault;
    nlohmann::json::sax_parse(text, &fault);
    fail(errc::bad_file, expected, fault.text);
  }
  if (!json.is_object()) fail(errc::bad_file, expected, json_kind(json));
  return json;
}

/// A value as a message shows it, cut short.
inline std::string json_text(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 100) text = text.substr(0, 100) + "...";
  return text;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

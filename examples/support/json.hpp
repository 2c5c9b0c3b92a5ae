// SPDX-License-Identifier: MIT
/// JSON as the example programs print it: keys in the order given, always valid.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace gpt2ie_example {

using Json = nlohmann::ordered_json;

/// On one line. Bytes that are not UTF-8 become U+FFFD, numbers that are not finite become null.
inline std::string json_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace gpt2ie_example

// SPDX-License-Identifier: MIT
/// The name of a type as the compiler spells it, so that a failing test says which policy it was.
#pragma once

#include <string>
#include <string_view>

namespace gpt2ie_test {

/// "kv::Paged<float, 16>" for that type: the library's own namespaces are left out.
template <class T>
std::string type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  std::string name(text.substr(0, text.find_first_of(";]")));
  for (const std::string_view space : {"gpt2ie::", "v0_avx512::", "v0_avx2::", "v0_avx::", "v0::"}) {
    for (auto at = name.find(space); at != std::string::npos; at = name.find(space)) name.erase(at, space.size());
  }
  return name;
}

}  // namespace gpt2ie_test

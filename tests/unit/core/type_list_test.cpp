// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/type_list.hpp>

TEST_CASE("a list visits its types in order") {
  std::vector<std::size_t> sizes;
  gpt2ie::type_list<char, double, float>::for_each([&]<class T>() { sizes.push_back(sizeof(T)); });
  CHECK(sizes == std::vector<std::size_t>{1, 8, 4});
  gpt2ie::type_list<>::for_each([&]<class T>() { sizes.push_back(sizeof(T)); });
  CHECK(sizes.size() == 3);
}

TEST_CASE("one_of asks for the very type") {
  CHECK(gpt2ie::one_of<int, char, int>);
  CHECK_FALSE(gpt2ie::one_of<const int, char, int>);
  CHECK_FALSE(gpt2ie::one_of<int>);
}

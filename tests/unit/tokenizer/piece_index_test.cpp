// SPDX-License-Identifier: MIT
/// Short pieces are told apart by every byte and by their length.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/piece_index.hpp>

using gpt2ie::detail::PieceIndex;

TEST_CASE("an empty index finds nothing") { CHECK(PieceIndex().find("a") == PieceIndex::none); }

TEST_CASE("pieces that differ in one byte, or in length alone, are different") {
  std::vector<std::string> pieces;
  for (std::size_t length = 1; length <= PieceIndex::longest; ++length) {
    pieces.push_back(std::string(length, '\0'));
    for (std::size_t at = 0; at < length; ++at) {
      for (const char byte : {'a', 'b', '\xff'}) {
        pieces.push_back(std::string(length, '\0'));
        pieces.back()[at] = byte;
      }
    }
  }
  PieceIndex index(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    REQUIRE(index.find(pieces[i]) == PieceIndex::none);
    index.insert(pieces[i], static_cast<gpt2ie::Token>(i));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) REQUIRE(index.find(pieces[i]) == static_cast<gpt2ie::Token>(i));
  CHECK(index.find("zz") == PieceIndex::none);
}

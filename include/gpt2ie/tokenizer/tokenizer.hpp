// SPDX-License-Identifier: MIT
/// GPT-2's byte-level byte-pair encoding: text to token ids and back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/tokenizer/byte_pairs.hpp>
#include <gpt2ie/tokenizer/merge_table.hpp>
#include <gpt2ie/tokenizer/piece_index.hpp>
#include <gpt2ie/tokenizer/pretokenizer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What the name of a special token means when it stands in a text.
enum class SpecialTokens {
  as_text,  ///< plain text like any other: what a user types never becomes a control token
  allow,    ///< the control token; for text that the program wrote itself
};

/// Text is bytes: any byte string may be encoded, valid UTF-8 or not, and decode(encode(s)) == s. Nothing is added to a
/// text, trimmed or normalised.
///
/// Const after construction, with no cache inside: any number of threads may use one tokenizer. Movable and copyable.
class Tokenizer {
 public:
  /// tokens:  the bytes of each token, by id; none empty.
  /// merges:  in order of rank; `merged` is the token of the joined bytes.
  /// special: ids of control tokens. No text becomes one of them unless `SpecialTokens::allow` asks for it.
  ///
  /// name:    where they come from, for messages.
  ///
  /// `load_tokenizer` reads all of it from files. Errors: bad_file for ids outside the vocabulary, a merge whose bytes
  /// do not join, a pair that is listed twice, a merge that makes or takes a special token.
  Tokenizer(std::span<const std::string> tokens, std::span<const Merge> merges, std::vector<Token> special,
            std::string_view name = "a tokenizer in memory")
      : special_(std::move(special)), merges_(merges) {
    const std::string in = " in " + std::string(name);
    store_bytes(tokens, in);
    check_special(in);
    check_merges(merges, in);
    find_byte_tokens();
    index_pieces();
  }

  /// The ids of `text`. Time: O(n log n) in the longest piece, in practice linear in the text. Errors: bad_text for a
  /// byte that the vocabulary has no token for.
  [[nodiscard]] std::vector<Token> encode(std::string_view text, SpecialTokens mode = SpecialTokens::as_text) const {
    std::vector<Token> ids;
    encode_to(text, ids, mode);
    return ids;
  }

  /// Appends the ids of `text` to `out`, which on an error holds the ids up to it.
  void encode_to(std::string_view text, std::vector<Token>& out, SpecialTokens mode = SpecialTokens::as_text) const {
    if (mode == SpecialTokens::allow && !special_.empty()) return encode_with_special(text, out);
    encode_text(text, out);
  }

  /// The exact bytes of the tokens, special ones included, which need not be valid UTF-8 (IncrementalDecoder makes
  /// valid text). Errors: bad_request for an id outside the vocabulary.
  [[nodiscard]] std::string decode(std::span<const Token> tokens) const {
    std::size_t length = 0;
    for (const Token token : tokens) length += token_bytes(token).size();
    std::string bytes;
    bytes.reserve(length);
    for (const Token token : tokens) bytes += token_bytes(token);
    return bytes;
  }

  /// The bytes of one token; valid while the tokenizer is. Errors: bad_request for an id outside the vocabulary.
  [[nodiscard]] std::string_view token_bytes(Token token) const {
    if (!contains(token)) {
      fail(errc::bad_request, "a token id from 0 to " + std::to_string(size() - 1), std::to_string(token));
    }
    const auto at = static_cast<std::size_t>(token);
    return std::string_view(bytes_).substr(begins_[at], begins_[at + 1] - begins_[at]);
  }

  /// Tokens in the vocabulary, special ones included. A model's table may have more rows (padding).
  [[nodiscard]] int size() const { return static_cast<int>(begins_.size()) - 1; }

  [[nodiscard]] bool contains(Token token) const { return token >= 0 && token < size(); }

  /// Ids of the special tokens, ascending.
  [[nodiscard]] std::span<const Token> special_tokens() const { return special_; }

  [[nodiscard]] bool is_special(Token token) const {
    return std::binary_search(special_.begin(), special_.end(), token);
  }

  /// The special token of that name.
  [[nodiscard]] std::optional<Token> special_token(std::string_view name) const {
    for (const Token token : special_) {
      if (token_bytes(token) == name) return token;
    }
    return std::nullopt;
  }

  /// GPT-2's one control token: it ends a text, and begins one where there is no prompt.
  [[nodiscard]] std::optional<Token> end_of_text() const { return special_token("<|endoftext|>"); }

 private:
  static constexpr Token no_token = -1;

  void store_bytes(std::span<const std::string> tokens, const std::string& in) {
    if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<Token>::max())) {
      fail(errc::bad_file, "a vocabulary of fewer than 2^31 tokens" + in, std::to_string(tokens.size()));
    }
    begins_.reserve(tokens.size() + 1);
    begins_.push_back(0);
    for (const std::string& token : tokens) {
      if (token.empty()) {
        fail(errc::bad_file, "tokens of at least one byte" + in,
             "the empty token " + std::to_string(begins_.size() - 1));
      }
      bytes_ += token;
      begins_.push_back(bytes_.size());
    }
  }

  void check_special(const std::string& in) {
    std::sort(special_.begin(), special_.end());
    special_.erase(std::unique(special_.begin(), special_.end()), special_.end());
    for (const Token token : special_) check_in_vocabulary(token, "special tokens", in);
  }

  void check_in_vocabulary(Token token, const char* what, const std::string& in) const {
    if (contains(token)) return;
    fail(errc::bad_file, std::string(what) + " among the " + std::to_string(size()) + " tokens of the vocabulary" + in,
         "id " + std::to_string(token));
  }

  void check_merges(std::span<const Merge> merges, const std::string& in) const {
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const Merge& merge = merges[rank];
      for (const Token token : {merge.left, merge.right, merge.merged}) {
        check_in_vocabulary(token, "merges of tokens", in);
        if (is_special(token)) {
          fail(errc::bad_file, "merges of plain tokens only" + in,
               "special token " + std::to_string(token) + " in merge " + std::to_string(rank));
        }
      }
      const std::string_view left = token_bytes(merge.left), merged = token_bytes(merge.merged);
      if (!merged.starts_with(left) || merged.substr(left.size()) != token_bytes(merge.right)) {
        fail(errc::bad_file, "merges into the token of the joined bytes" + in,
             "token " + std::to_string(merge.merged) + " in merge " + std::to_string(rank));
      }
    }
    if (merges_.size() != merges.size()) {
      fail(errc::bad_file, "each merge once" + in,
           std::to_string(merges_.size()) + " different ones among " + std::to_string(merges.size()));
    }
  }

  void find_byte_tokens() {
    byte_tokens_.fill(no_token);
    for (Token token = 0; token < size(); ++token) {
      const std::string_view bytes = token_bytes(token);
      if (bytes.size() == 1 && !is_special(token)) byte_tokens_[static_cast<unsigned char>(bytes[0])] = token;
    }
  }

  /// A token may be looked up whole only where merging its bytes gives that token: a vocabulary may hold tokens that
  /// no merges lead to, or that others come before.
  void index_pieces() {
    pieces_ = detail::PieceIndex(begins_.size());
    for (Token token = 0; token < size(); ++token) {
      const std::string_view bytes = token_bytes(token);
      if (bytes.size() > detail::PieceIndex::longest) continue;
      std::array<Token, detail::PieceIndex::longest> tokens;
      bool known = true;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        tokens[i] = byte_tokens_[static_cast<unsigned char>(bytes[i])];
        known = known && tokens[i] != no_token;
      }
      if (!known) continue;
      const std::size_t left = detail::merge_short_piece(merges_, std::span(tokens).first(bytes.size()));
      if (left == 1 && tokens[0] == token) pieces_.insert(bytes, token);
    }
  }

  void encode_text(std::string_view text, std::vector<Token>& out) const {
    while (!text.empty()) {
      const std::size_t length = detail::piece_length(text);
      encode_piece(text.substr(0, length), out);
      text.remove_prefix(length);
    }
  }

  void encode_piece(std::string_view piece, std::vector<Token>& out) const {
    if (piece.size() <= detail::PieceIndex::longest) {
      const Token whole = pieces_.find(piece);
      if (whole != detail::PieceIndex::none) return out.push_back(whole);
    }
    if (piece.size() <= detail::short_piece) {
      std::array<Token, detail::short_piece> tokens;
      for (std::size_t i = 0; i < piece.size(); ++i) tokens[i] = byte_token(piece[i]);
      const auto left = detail::merge_short_piece(merges_, std::span(tokens).first(piece.size()));
      out.insert(out.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(left));
      return;
    }
    if (piece.size() >= std::numeric_limits<std::uint32_t>::max()) {
      fail(errc::bad_text, "words of fewer than 2^32 - 1 bytes", "one of " + std::to_string(piece.size()));
    }
    std::vector<Token> tokens;
    tokens.reserve(piece.size());
    for (const char byte : piece) tokens.push_back(byte_token(byte));
    detail::merge_long_piece(merges_, tokens, out);
  }

  [[nodiscard]] Token byte_token(char byte) const {
    const auto value = static_cast<unsigned char>(byte);
    if (byte_tokens_[value] == no_token) {
      fail(errc::bad_text, "text of bytes that the vocabulary holds", "byte " + std::to_string(value));
    }
    return byte_tokens_[value];
  }

  /// Cuts the text at the names of special tokens: the leftmost first, the longest among those that begin there.
  void encode_with_special(std::string_view text, std::vector<Token>& out) const {
    struct Name {
      Token token;
      std::string_view bytes;
      std::size_t next;  // where it stands next in the text
    };
    std::vector<Name> names;
    for (const Token token : special_) names.push_back({token, token_bytes(token), text.find(token_bytes(token))});
    std::size_t at = 0;
    while (true) {
      const Name* first = &names[0];
      for (const Name& name : names) {
        if (name.next < first->next || (name.next == first->next && name.bytes.size() > first->bytes.size())) {
          first = &name;
        }
      }
      if (first->next == std::string_view::npos) break;
      encode_text(text.substr(at, first->next - at), out);
      out.push_back(first->token);
      at = first->next + first->bytes.size();
      for (Name& name : names) {
        if (name.next < at) name.next = text.find(name.bytes, at);
      }
    }
    encode_text(text.substr(at), out);
  }

  std::string bytes_;                // of all tokens, in order of their ids
  std::vector<std::size_t> begins_;  // [size + 1]: where each token begins in bytes_
  std::vector<Token> special_;       // ascending
  detail::MergeTable merges_;
  detail::PieceIndex pieces_;
  std::array<Token, 256> byte_tokens_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

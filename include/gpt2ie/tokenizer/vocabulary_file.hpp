// SPDX-License-Identifier: MIT
/// Vocabularies and merges as GPT-2's files write them: vocab.json, merges.txt, and the same inside tokenizer.json.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/core/json.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/tokenizer/byte_alphabet.hpp>
#include <gpt2ie/tokenizer/merge_table.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A token id out of JSON. Errors: bad_file for what is no integer from 0 on that a Token holds.
inline Token token_id(const nlohmann::json& value, std::string_view of, const std::string& file) {
  const bool integer = value.is_number_integer();  // signed or unsigned
  if (!integer ||
      (value.is_number_unsigned() ? value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<Token>::max()}
                                  : value.get<std::int64_t>() < 0)) {
    fail(errc::bad_file, "an id from 0 to 2^31 - 1 for token " + excerpt(of) + " of " + file,
         integer ? value.dump() : json_kind(value) + " that is no such integer");
  }
  return static_cast<Token>(value.get<std::int64_t>());
}

/// Tokens under construction.
struct Vocabulary {
  std::vector<std::string> tokens;                  // bytes, by id
  std::unordered_map<std::string_view, Token> ids;  // by the name in the file
  std::vector<Token> special;
};

/// Tokens whose names are their bytes, as added_tokens has them: name to id.
using AddedTokens = std::map<std::string, Token, std::less<>>;

/// Reads `{name: id, ...}` and what was added. The ids must be 0, 1, ... in any order, each once, so that memory is
/// bounded by the file. Names in `ids` point into `names`, which must stay. Errors: bad_file.
inline Vocabulary read_vocabulary(const nlohmann::json& names, const AddedTokens& added, const std::string& file) {
  if (!names.is_object() || names.empty()) {
    fail(errc::bad_file, "an object of token names and ids as the vocabulary of " + file,
         names.is_object() ? "an empty one" : json_kind(names));
  }
  const auto& entries = names.get_ref<const nlohmann::json::object_t&>();
  std::size_t count = entries.size();
  for (const auto& [name, id] : added) count += entries.contains(name) ? 0 : 1;

  Vocabulary vocabulary;
  vocabulary.tokens.resize(count);
  const auto add = [&](std::string_view name, Token id, std::string bytes) {
    if (static_cast<std::size_t>(id) >= count) {
      fail(errc::bad_file,
           "ids from 0 to " + std::to_string(count - 1) + " for the " + std::to_string(count) + " tokens of " + file,
           "id " + std::to_string(id) + " for token " + excerpt(name));
    }
    std::string& place = vocabulary.tokens[static_cast<std::size_t>(id)];
    if (!place.empty()) {
      fail(errc::bad_file, "an id of its own for each token of " + file,
           "id " + std::to_string(id) + " for token " + excerpt(name) + " and another");
    }
    if (bytes.empty()) fail(errc::bad_file, "tokens with names in " + file, "token " + std::to_string(id) + " without");
    place = std::move(bytes);
  };
  vocabulary.ids.reserve(entries.size());
  for (const auto& [name, value] : entries) {
    const Token id = token_id(value, name, file);
    if (const auto same = added.find(name); same != added.end()) {
      if (same->second != id) {
        fail(errc::bad_file, "one id for token " + excerpt(name) + " of " + file,
             std::to_string(id) + " and " + std::to_string(same->second));
      }
      continue;
    }
    std::optional<std::string> bytes = bytes_from_alphabet(name);
    if (!bytes) {
      fail(errc::bad_file, "token names in the byte alphabet of GPT-2 in " + file,
           excerpt(name) + " with id " + std::to_string(id));
    }
    add(name, id, std::move(*bytes));
    vocabulary.ids.emplace(name, id);
  }
  for (const auto& [name, id] : added) {
    add(name, id, name);
    vocabulary.special.push_back(id);
  }
  return vocabulary;
}

/// Looks up both sides of a merge and their joining. Errors: bad_file naming what is not in the vocabulary.
inline Merge read_merge(const Vocabulary& vocabulary, std::string_view left, std::string_view right, std::size_t rank,
                        const std::string& file) {
  const auto id = [&](std::string_view name) {
    const auto found = vocabulary.ids.find(name);
    if (found != vocabulary.ids.end()) return found->second;
    fail(errc::bad_file, "merges of tokens of the vocabulary in " + file,
         excerpt(name) + " in merge " + std::to_string(rank));
  };
  std::string joined;
  joined.reserve(left.size() + right.size());
  joined.append(left).append(right);
  return {id(left), id(right), id(joined)};
}

/// The merge written as "left right".
inline Merge read_merge_line(const Vocabulary& vocabulary, std::string_view line, std::size_t rank,
                             const std::string& file) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    fail(errc::bad_file, "two tokens with one space between as merge " + std::to_string(rank) + " of " + file,
         excerpt(line));
  }
  return read_merge(vocabulary, line.substr(0, space), line.substr(space + 1), rank, file);
}

/// Reads the text of a merges.txt: one merge a line, in order of rank. Only a first line that begins with "#version" is
/// a header, since merges of "#" are real. Lines end with "\n" or "\r\n" and with nothing else; empty ones mean
/// nothing.
inline std::vector<Merge> read_merges(const Vocabulary& vocabulary, std::string_view text, const std::string& file) {
  std::vector<Merge> merges;
  if (text.starts_with("#version")) text.remove_prefix(std::min(text.find('\n'), text.size()));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) merges.push_back(read_merge_line(vocabulary, line, merges.size(), file));
  }
  return merges;
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

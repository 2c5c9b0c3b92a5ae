// SPDX-License-Identifier: MIT
/// Reads GPT-2's tokenizer from a model's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/json.hpp>
#include <gpt2ie/tokenizer/merge_table.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>
#include <gpt2ie/tokenizer/tokenizer_json.hpp>
#include <gpt2ie/tokenizer/vocabulary_file.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

inline bool is_tokenizer_file(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error);
}

/// All bytes of a file. Errors: bad_file.
inline std::string read_tokenizer_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) fail(errc::bad_file, "a readable file " + file.string(), error.message());
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!stream) {
    fail(errc::bad_file, std::to_string(size) + " bytes in " + file.string(),
         std::to_string(stream.gcount()) + " that could be read");
  }
  return bytes;
}

inline nlohmann::json read_tokenizer_json_file(const std::filesystem::path& file) {
  return parse_json_object(read_tokenizer_file(file), file.string());
}

inline Tokenizer load_vocabulary_and_merges(const std::filesystem::path& folder) {
  const std::filesystem::path vocabulary_file = folder / "vocab.json", merges_file = folder / "merges.txt";
  const nlohmann::json names = read_tokenizer_json_file(vocabulary_file);
  // These files don't say which tokens are special; GPT-2 has one.
  AddedTokens added;
  constexpr const char* end_of_text = "<|endoftext|>";
  if (const nlohmann::json& id = member(names, end_of_text); !id.is_null()) {
    added.emplace(end_of_text, token_id(id, end_of_text, vocabulary_file.string()));
  }
  Vocabulary vocabulary = read_vocabulary(names, added, vocabulary_file.string());
  const std::vector<Merge> merges = read_merges(vocabulary, read_tokenizer_file(merges_file), merges_file.string());
  return Tokenizer(vocabulary.tokens, merges, std::move(vocabulary.special), merges_file.string());
}

}  // namespace detail

/// Whether `folder` holds the files that `load_tokenizer` reads.
inline bool has_tokenizer(const std::filesystem::path& folder) {
  return (detail::is_tokenizer_file(folder / "vocab.json") && detail::is_tokenizer_file(folder / "merges.txt")) ||
         detail::is_tokenizer_file(folder / "tokenizer.json");
}

/// Reads vocab.json and merges.txt where `folder` has both, else tokenizer.json. Memory stays within a constant times
/// the sizes of the files, whatever they hold. Errors, which name the file: bad_file for files that are missing,
/// malformed or contradict themselves; unsupported for a tokenizer.json of another kind than GPT-2's byte-level
/// byte-pair encoding.
inline Tokenizer load_tokenizer(const std::filesystem::path& folder) {
  const bool vocabulary = detail::is_tokenizer_file(folder / "vocab.json");
  const bool merges = detail::is_tokenizer_file(folder / "merges.txt");
  if (vocabulary && merges) return detail::load_vocabulary_and_merges(folder);
  const std::filesystem::path file = folder / "tokenizer.json";
  if (!detail::is_tokenizer_file(file)) {
    fail(errc::bad_file, "vocab.json and merges.txt, or tokenizer.json, in " + folder.string(),
         vocabulary ? "vocab.json without merges.txt"
         : merges   ? "merges.txt without vocab.json"
                    : "none of them");
  }
  return detail::read_tokenizer_json(detail::read_tokenizer_json_file(file), file.string());
}

}  // namespace gpt2ie::inline GPT2IE_ABI

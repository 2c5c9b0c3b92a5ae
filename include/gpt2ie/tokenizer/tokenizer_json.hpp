// SPDX-License-Identifier: MIT
/// The tokenizer.json of Hugging Face's fast tokenizers, as far as it describes GPT-2's tokenizer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/core/json.hpp>
#include <gpt2ie/tokenizer/merge_table.hpp>
#include <gpt2ie/tokenizer/tokenizer.hpp>
#include <gpt2ie/tokenizer/vocabulary_file.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A member of an object; null where there is none, or no object.
inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

/// Names the `type` of what was found where it has one, else the value itself where it is short.
[[noreturn]] inline void fail_unsupported(const std::string& file, const std::string& expected,
                                          const nlohmann::json& found) {
  const nlohmann::json& type = member(found, "type");
  const nlohmann::json& shown = type.is_null() ? found : type;
  fail(errc::unsupported, expected + " in " + file,
       shown.is_string()      ? excerpt(shown.get_ref<const std::string&>())
       : shown.is_primitive() ? json_text(shown)
                              : json_kind(shown));
}

/// Refuses what would give other ids than GPT-2's tokenizer, under GPT-2's defaults for what is left out.
inline void check_tokenizer_json(const nlohmann::json& root, const std::string& file) {
  const nlohmann::json& model = member(root, "model");
  if (!model.is_object()) {
    fail(errc::bad_file, "an object \"model\" in " + file, json_kind(model));
  }
  const nlohmann::json& type = member(model, "type");
  if (!type.is_null() && type != "BPE") fail_unsupported(file, "a model of type \"BPE\"", model);
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const nlohmann::json& value = member(model, affix);
    if (!value.is_null() && value != "") fail_unsupported(file, std::string("no ") + affix, value);
  }
  const nlohmann::json& dropout = member(model, "dropout");
  if (!dropout.is_null() && dropout != 0.0) fail_unsupported(file, "no dropout of merges", dropout);
  for (const char* option : {"byte_fallback", "ignore_merges"}) {
    const nlohmann::json& value = member(model, option);
    if (!value.is_null() && value != false) fail_unsupported(file, std::string("no ") + option, value);
  }
  if (const auto& normalizer = member(root, "normalizer"); !normalizer.is_null()) {
    fail_unsupported(file, "no normalizer", normalizer);
  }
  const nlohmann::json& pieces = member(root, "pre_tokenizer");
  if (member(pieces, "type") != "ByteLevel") fail_unsupported(file, "the pre_tokenizer \"ByteLevel\"", pieces);
  if (member(pieces, "add_prefix_space") != false) {
    fail_unsupported(file, "a pre_tokenizer with add_prefix_space false", member(pieces, "add_prefix_space"));
  }
  const nlohmann::json& pattern = member(pieces, "use_regex");
  if (!pattern.is_null() && pattern != true) fail_unsupported(file, "a pre_tokenizer with use_regex true", pattern);
}

/// `added_tokens`: [{"id": 50256, "content": "<|endoftext|>", ...}, ...].
inline AddedTokens read_added_tokens(const nlohmann::json& list, const std::string& file) {
  AddedTokens added;
  if (list.is_null()) return added;
  if (!list.is_array()) fail(errc::bad_file, "an array \"added_tokens\" in " + file, json_kind(list));
  for (const nlohmann::json& token : list) {
    const nlohmann::json& content = member(token, "content");
    if (!content.is_string()) {
      fail(errc::bad_file, "a string \"content\" in each of the added_tokens of " + file, json_kind(content));
    }
    const auto& name = content.get_ref<const std::string&>();
    for (const char* option : {"single_word", "lstrip", "rstrip"}) {
      const nlohmann::json& value = member(token, option);
      if (!value.is_null() && value != false) {
        fail_unsupported(file, std::string("no ") + option + " of the added token " + excerpt(name), value);
      }
    }
    if (!added.emplace(name, token_id(member(token, "id"), name, file)).second) {
      fail(errc::bad_file, "each of the added_tokens of " + file + " once", "two named " + excerpt(name));
    }
  }
  return added;
}

/// `merges`: ["a b", ...] or [["a", "b"], ...].
inline std::vector<Merge> read_merge_list(const Vocabulary& vocabulary, const nlohmann::json& list,
                                          const std::string& file) {
  if (!list.is_array()) {
    fail(errc::bad_file, "an array \"merges\" in the model of " + file, json_kind(list));
  }
  std::vector<Merge> merges;
  merges.reserve(list.size());
  for (const nlohmann::json& merge : list) {
    const std::size_t rank = merges.size();
    if (merge.is_string()) {
      merges.push_back(read_merge_line(vocabulary, merge.get_ref<const std::string&>(), rank, file));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.push_back(read_merge(vocabulary, merge[0].get_ref<const std::string&>(),
                                  merge[1].get_ref<const std::string&>(), rank, file));
    } else {
      fail(errc::bad_file, "a string or two strings as merge " + std::to_string(rank) + " of " + file,
           json_kind(merge));
    }
  }
  return merges;
}

/// The tokenizer that a tokenizer.json describes. `post_processor`, `decoder`, `padding` and `truncation` do not change
/// which ids the text itself has, and are passed over.
inline Tokenizer read_tokenizer_json(const nlohmann::json& root, const std::string& file) {
  check_tokenizer_json(root, file);
  const nlohmann::json& model = member(root, "model");
  const AddedTokens added = read_added_tokens(member(root, "added_tokens"), file);
  Vocabulary vocabulary = read_vocabulary(member(model, "vocab"), added, file);
  const std::vector<Merge> merges = read_merge_list(vocabulary, member(model, "merges"), file);
  return Tokenizer(vocabulary.tokens, merges, std::move(vocabulary.special), file);
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

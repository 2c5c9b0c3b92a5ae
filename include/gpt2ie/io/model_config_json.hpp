// SPDX-License-Identifier: MIT
/// Reads Hugging Face's config.json and generation_config.json of a GPT-2.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/excerpt.hpp>
#include <gpt2ie/core/json.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/check_model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The function of this name in Hugging Face's configurations; `where` says in messages which one has it. Errors:
/// `unsupported`, with the name.
[[nodiscard]] inline Activation activation_from_name(std::string_view name,
                                                     std::string_view where = "a configuration") {
  static constexpr std::array<std::pair<std::string_view, Activation>, 8> names = {{
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu", Activation::gelu},
      {"quick_gelu", Activation::quick_gelu},
      {"relu", Activation::relu},
      {"silu", Activation::silu},
      {"tanh", Activation::tanh},
  }};
  for (const auto& [known, activation] : names) {
    if (known == name) return activation;
  }
  fail(errc::unsupported,
       "gelu_new, gelu_fast, gelu_pytorch_tanh, gelu, quick_gelu, relu, silu or tanh as activation_function in " +
           std::string(where),
       detail::excerpt(name));
}

namespace detail {

/// Typed access to the keys of one JSON object. A value of another type is an error that names the key.
class ConfigReader {
 public:
  ConfigReader(std::string_view text, std::string_view name) : json_(parse_json_object(text, name)), name_(name) {}

  /// The key is there and not null.
  [[nodiscard]] bool has(std::string_view key) const {
    const auto found = json_.find(key);
    return found != json_.end() && !found->is_null();
  }

  [[nodiscard]] int integer(std::string_view key) const {
    if (!has(key)) refuse(key, "an integer", "no such key");
    return integer(key, *json_.find(key));
  }

  [[nodiscard]] float number(std::string_view key, float otherwise) const {
    if (!has(key)) return otherwise;
    const nlohmann::json& value = *json_.find(key);
    if (!value.is_number()) refuse(key, "a number", json_text(value));
    return static_cast<float>(value.get<double>());
  }

  [[nodiscard]] bool boolean(std::string_view key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const nlohmann::json& value = *json_.find(key);
    if (!value.is_boolean()) refuse(key, "true or false", json_text(value));
    return value.get<bool>();
  }

  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise) const {
    if (!has(key)) return std::string(otherwise);
    const nlohmann::json& value = *json_.find(key);
    if (!value.is_string()) refuse(key, "a text", json_text(value));
    return value.get<std::string>();
  }

  /// A token id or a list of them; `otherwise` if the key is absent, none if it is null.
  [[nodiscard]] std::vector<Token> tokens(std::string_view key, std::vector<Token> otherwise) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return otherwise;
    if (found->is_null()) return {};
    std::vector<Token> ids;
    if (found->is_array()) {
      for (const nlohmann::json& id : *found) ids.push_back(token(key, id));
    } else {
      ids.push_back(token(key, *found));
    }
    return ids;
  }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view expected, std::string found) const {
    fail(errc::bad_config, std::string(expected) + " as " + std::string(key) + " in " + name_, std::move(found));
  }

  [[nodiscard]] int integer(std::string_view key, const nlohmann::json& value) const {
    constexpr std::int64_t least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    const bool fits = value.is_number_unsigned()  ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                      : value.is_number_integer() ? value.get<std::int64_t>() >= least
                                                  : false;
    if (!fits) refuse(key, "an integer of 32 bits", json_text(value));
    return static_cast<int>(value.get<std::int64_t>());
  }

  [[nodiscard]] Token token(std::string_view key, const nlohmann::json& value) const {
    const int id = integer(key, value);
    if (id < 0) refuse(key, "token ids of 0 and more", std::to_string(id));
    return id;
  }

  nlohmann::json json_;
  std::string name_;
};

/// The ids of `more` that the vocabulary has and `ids` has not are appended.
inline void add_tokens(std::vector<Token>& ids, const std::vector<Token>& more, int vocab) {
  for (const Token id : more) {
    if (id < vocab && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
}

}  // namespace detail

/// Reads the text of a config.json; `name` is its path, for messages. `n_inner` null or absent means 4 * n_embd,
/// `n_ctx` stands in for a missing `n_positions`, and sizes have no defaults. Token ids that the vocabulary does not
/// have are dropped, as nothing can produce them (Hugging Face writes 50256 whatever the vocabulary).
/// `reorder_and_upcast_attn` changes nothing in float and is accepted. Unknown keys are ignored.
/// Errors: `bad_file` for malformed JSON, `bad_config` for wrong types and sizes, `unsupported` for other models, other
/// activation functions, cross-attention and heads wider than 256.
[[nodiscard]] inline ModelConfig parse_model_config(std::string_view json, std::string_view name) {
  const detail::ConfigReader reader(json, name);
  const std::string type = reader.text("model_type", "gpt2");
  if (type != "gpt2") {
    fail(errc::unsupported, "model_type gpt2 in " + std::string(name), detail::excerpt(type));
  }
  if (reader.boolean("add_cross_attention", false)) {
    fail(errc::unsupported, "a model without cross-attention in " + std::string(name), "add_cross_attention true");
  }
  static_cast<void>(reader.boolean("reorder_and_upcast_attn", false));

  ModelConfig config;
  config.n_layer = reader.integer("n_layer");
  config.n_head = reader.integer("n_head");
  config.n_embd = reader.integer("n_embd");
  config.n_positions = reader.integer(!reader.has("n_positions") && reader.has("n_ctx") ? "n_ctx" : "n_positions");
  config.vocab = reader.integer("vocab_size");
  // A width outside the limits is refused below, whatever the product is.
  const int width = std::clamp(config.n_embd, 0, ModelLimits::n_embd);
  config.n_inner = reader.has("n_inner") ? reader.integer("n_inner") : 4 * width;
  config.activation = activation_from_name(reader.text("activation_function", "gelu_new"), name);
  config.layer_norm_epsilon = reader.number("layer_norm_epsilon", 1e-5f);
  config.scale_attn_weights = reader.boolean("scale_attn_weights", true);
  config.scale_attn_by_inverse_layer_idx = reader.boolean("scale_attn_by_inverse_layer_idx", false);
  config.tie_word_embeddings = reader.boolean("tie_word_embeddings", true);

  const std::vector<Token> bos = reader.tokens("bos_token_id", {50256});
  if (bos.size() > 1) fail(errc::bad_config, "one bos_token_id in " + std::string(name), "a list of several");
  if (bos.size() == 1 && bos[0] < config.vocab) config.bos_token_id = bos[0];
  detail::add_tokens(config.eos_token_ids, reader.tokens("eos_token_id", {50256}), config.vocab);
  check_model_config(config, name);
  return config;
}

/// Reads the text of a generation_config.json: its `eos_token_id`, a number or a list, is added to those of `config`.
/// Every other key is ignored. Errors: `bad_file` for malformed JSON, `bad_config` for a wrong type.
inline void add_generation_config(ModelConfig& config, std::string_view json, std::string_view name) {
  const detail::ConfigReader reader(json, name);
  detail::add_tokens(config.eos_token_ids, reader.tokens("eos_token_id", {}), config.vocab);
}

}  // namespace gpt2ie::inline GPT2IE_ABI

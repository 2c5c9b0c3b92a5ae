// SPDX-License-Identifier: MIT
/// gpt2ie-score: how likely a model finds a text, and what it expects next.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/attention/flash.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/safetensors_writer.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>

#include "support/json.hpp"
#include "support/model.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

struct Settings {
  std::string model, backend = "simd", precision;
  std::optional<std::string> text, file, ids;
  std::string logits;
  int threads = 0;
  bool json = false;
};

void add_options(CLI::App& app, Settings& settings) {
  add_model_option(app, settings.model);
  CLI::Option_group& input = *app.add_option_group("Input", "exactly one of these");
  input.add_option("--text", settings.text, "the text to score, any bytes");
  input.add_option("--file", settings.file, "a file with the text")->type_name("FILE");
  input.add_option("--ids", settings.ids, "token ids; needs no tokenizer files")->type_name("1,2,3");
  input.require_option(1);
  add_backend_option(app, settings.backend);
  add_precision_option(app, settings.precision);
  add_threads_option(app, settings.threads);
  app.add_option("--logits", settings.logits, "also write `logits` [tokens, vocab], float32, to this safetensors file")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : ""; })
      ->type_name("OUT");
  app.add_flag(
      "--json", settings.json,
      "print one object: ids, token_logprobs (the first is null), perplexity (null for one token), top (the ten "
      "likeliest next tokens: id, logprob, text; text is null without tokenizer files)");
}

/// The text in a file or pipe. Throws if it is longer than `tokens` tokens can be.
std::string read_file(const std::string& path, const Tokenizer& tokenizer, int tokens) {
  std::size_t longest = 0;
  for (Token id = 0; id < tokenizer.size(); ++id) longest = std::max(longest, tokenizer.token_bytes(id).size());
  const std::size_t most = longest * static_cast<std::size_t>(tokens);

  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_fifo(status)) {
    throw std::runtime_error("can't read the file " + path + ": neither a regular file nor a pipe");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) throw std::runtime_error("can't read the file " + path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) {
    throw std::runtime_error("the file " + path + " has more than " + std::to_string(most) +
                             " bytes, and this model reads at most " + std::to_string(tokens) + " tokens of " +
                             std::to_string(longest) + " bytes or less");
  }
  return text;
}

/// Whole numbers between commas.
std::vector<Token> parse_ids(std::string_view list) {
  std::vector<Token> ids;
  for (const char *at = list.data(), *end = at + list.size();; ++at) {
    const auto [after, error] = std::from_chars(at, end, ids.emplace_back());
    if (error != std::errc() || (after != end && *after != ',')) {
      throw CLI::ValidationError("--ids", "expected token ids as in 1,2,3, found " + std::string(list));
    }
    if (after == end) return ids;
    at = after;
  }
}

/// The tokens to score. Throws if the model can't read that many.
std::vector<Token> read_ids(const Settings& settings, const Tokenizer* tokenizer, int longest) {
  std::vector<Token> ids = settings.ids    ? parse_ids(*settings.ids)
                           : settings.text ? tokenizer->encode(*settings.text)
                                           : tokenizer->encode(read_file(*settings.file, *tokenizer, longest));
  if (ids.size() > static_cast<std::size_t>(longest)) {
    throw std::runtime_error("the text has " + std::to_string(ids.size()) + " tokens, and this model reads at most " +
                             std::to_string(longest));
  }
  return ids;
}

struct Scores {
  std::vector<Token> ids;
  std::vector<float> logprobs = {};  ///< of all tokens but the first
  std::vector<TokenLogprob> top = {};

  /// None for a single token.
  [[nodiscard]] std::optional<double> perplexity() const {
    return logprobs.empty() ? std::nullopt : std::optional(gpt2ie::perplexity(logprobs));
  }
};

/// Runs the model over ids; `each` also sees every row of logits.
template <class Backend, class Each>
Scores score_ids(Backend backend, const Checkpoint& checkpoint, std::vector<Token> ids, const Each& each) {
  constexpr int rows_at_once = 128;
  auto weights = load_weights(backend, checkpoint);
  Executor<Backend, attention::Flash<64, 64>, kv::Contiguous<float>> executor(
      std::move(backend), std::move(weights),
      {.max_rows = rows_at_once, .max_logit_rows = rows_at_once, .max_length = static_cast<int>(ids.size())});

  Scores scores{.ids = std::move(ids)};
  for_each_logits(executor, scores.ids, [&](int position, std::span<const float> logits) {
    each(position, logits);
    const auto next = static_cast<std::size_t>(position) + 1;
    if (next < scores.ids.size()) {
      scores.logprobs.push_back(token_logprob(logits, scores.ids[next]));
    } else {
      scores.top = top_logprobs(logits, 10);
    }
  });
  return scores;
}

/// A token's bytes; null if there is no tokenizer or it doesn't know the id.
Json token_text(const Tokenizer* tokenizer, Token id) {
  return tokenizer && tokenizer->contains(id) ? Json(tokenizer->token_bytes(id)) : Json();
}

Json to_json(const Scores& scores, const Tokenizer* tokenizer) {
  Json logprobs = Json::array({nullptr}), top = Json::array();
  for (const float logprob : scores.logprobs) logprobs.push_back(logprob);
  for (const auto& [id, logprob] : scores.top) {
    top.push_back({{"id", id}, {"logprob", logprob}, {"text", token_text(tokenizer, id)}});
  }
  return {{"ids", scores.ids},
          {"token_logprobs", std::move(logprobs)},
          {"perplexity", scores.perplexity() ? Json(*scores.perplexity()) : Json()},
          {"top", std::move(top)}};
}

std::string table_row(Token id, std::optional<float> logprob, const Json& text) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, logprob ? "%8d %10.4f  " : "%8d          -  ", id, logprob.value_or(0));
  return numbers + (text.is_null() ? "" : json_line(text)) + "\n";
}

std::string to_table(const Scores& scores, const Tokenizer* tokenizer) {
  std::string table = "      id   log-prob  token\n";
  for (std::size_t i = 0; i < scores.ids.size(); ++i) {
    const std::optional<float> logprob = i == 0 ? std::nullopt : std::optional(scores.logprobs[i - 1]);
    table += table_row(scores.ids[i], logprob, token_text(tokenizer, scores.ids[i]));
  }
  if (const auto perplexity = scores.perplexity()) {
    char line[64];
    std::snprintf(line, sizeof line, "\nperplexity %.4f over %zu token%s\n", *perplexity, scores.logprobs.size(),
                  scores.logprobs.size() == 1 ? "" : "s");
    table += line;
  }
  table += "\nthe likeliest next tokens\n";
  for (const auto& [id, logprob] : scores.top) table += table_row(id, logprob, token_text(tokenizer, id));
  return table;
}

template <class Backend>
int score(const Settings& settings, const Checkpoint& checkpoint, Backend backend) {
  std::optional<Tokenizer> tokenizer;
  if (!settings.ids || has_tokenizer(checkpoint.folder())) tokenizer = load_tokenizer(checkpoint.folder());
  const Tokenizer* names = tokenizer ? &*tokenizer : nullptr;
  std::vector<Token> ids = read_ids(settings, names, checkpoint.config().n_positions);

  Scores scores;
  if (settings.logits.empty()) {
    scores = score_ids(std::move(backend), checkpoint, std::move(ids), [](int, std::span<const float>) {});
  } else {
    const auto vocab = static_cast<std::size_t>(checkpoint.config().vocab);
    NewTensor rows = new_float_tensor("logits", {static_cast<std::int64_t>(ids.size()), checkpoint.config().vocab});
    scores =
        score_ids(std::move(backend), checkpoint, std::move(ids), [&](int position, std::span<const float> logits) {
          std::copy(logits.begin(), logits.end(), rows.values + static_cast<std::size_t>(position) * vocab);
        });
    write_safetensors(settings.logits, std::span(&rows.tensor, 1));
  }
  write_out(settings.json ? json_line(to_json(scores, names)) + "\n" : to_table(scores, names));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Prints the log-probability of each token of a text, its perplexity and the likeliest next tokens.",
               "gpt2ie-score");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] {
    const Checkpoint checkpoint = load_checkpoint(checked_model_path(settings.model));
    return with_backend(settings.backend, chosen_precision(settings.precision, checkpoint), settings.threads,
                        [&](auto backend) { return score(settings, checkpoint, std::move(backend)); });
  });
}

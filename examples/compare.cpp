// SPDX-License-Identifier: MIT
/// gpt2ie-compare: what caches and flash attention are worth, measured and counted side by side.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/gpt2ie.hpp>

#include "support/json.hpp"
#include "support/model.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

using Cpu = backend::SimdCpu<float>;
using Flash = attention::Flash<64, 64>;

struct Settings {
  std::string model, synthetic, prompt = "Once upon a time";
  int context = 0, new_tokens = 100, runs = 3, threads = 0;
  bool json = false;
};

void add_options(CLI::App& app, Settings& settings) {
  auto* model = add_model_option(app, settings.model);
  auto* synthetic = app.add_option("--synthetic", settings.synthetic, "real sizes on made-up weights: no files needed")
                        ->check(CLI::IsMember({"124m", "355m", "774m", "1558m"}))
                        ->type_name("SIZE")
                        ->excludes(model);
  auto* prompt = app.add_option("--prompt", settings.prompt, "the text to continue; empty: begin a new text")
                     ->excludes(synthetic)
                     ->capture_default_str();
  app.add_option("--context", settings.context,
                 "start from N made-up tokens instead of a text; 1 is the default with --synthetic")
      ->transform(whole_number(1))
      ->type_name("N")
      ->excludes(prompt);
  app.add_option("--max-new-tokens", settings.new_tokens, "tokens to generate, greedily")
      ->transform(whole_number(1))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--runs", settings.runs, "times to run each variant, in turns; the median counts")
      ->transform(whole_number(1, 1000))
      ->capture_default_str();
  add_threads_option(app, settings.threads);
  app.add_flag("--json", settings.json, "print one JSON object instead of tables");
}

/// One run of one variant. Rows and copies are those of this run alone.
struct Run {
  GenerateResult result;
  double seconds;
  std::uint64_t query_rows;  ///< of attention, for each layer and head
  CopyCount copies;          ///< that the cache made
};

/// A way to generate, ready to run, and its runs so far.
struct Variant {
  std::string name;
  std::function<Run()> run;
  std::vector<Run> runs = {};
};

/// What all variants share.
struct Task {
  std::shared_ptr<const Weights<Cpu>> weights;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< null for made-up weights
  std::vector<Token> prompt;
  int new_tokens, threads;
};

template <AttentionPolicy Policy, CacheStorage Storage>
Variant variant(std::string name, const Task& task) {
  using Gpt2 = Generator<Cpu, Attention<Policy>, KVCache<Storage>>;
  Limits limits = generator_limits;
  limits.max_length = static_cast<int>(task.prompt.size()) + task.new_tokens;
  auto gpt2 = std::make_shared<Gpt2>(task.weights, task.tokenizer, Cpu(task.threads), limits);
  const GenerateOptions greedy{.max_new_tokens = task.new_tokens, .temperature = 0, .ignore_eos = true};
  return {std::move(name), [gpt2, greedy, prompt = task.prompt] {
            using Clock = std::chrono::steady_clock;
            const auto& executor = std::as_const(*gpt2).executor();
            const std::uint64_t rows = executor.counters().rows;
            const CopyCount copies = executor.pool().copies();
            const Clock::time_point start = Clock::now();
            GenerateResult result = gpt2->generate(prompt, greedy);
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            return Run{
                std::move(result),
                seconds,
                executor.counters().rows - rows,
                {executor.pool().copies().bytes - copies.bytes, executor.pool().copies().seconds - copies.seconds}};
          }};
}

template <class Value>
double median(const std::vector<Run>& runs, Value value) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(value(run));
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The figures of a variant: medians over its runs.
struct Figures {
  std::string name;
  double seconds, tokens_per_second, first_token, speed_up;
  std::uint64_t query_rows, copied_bytes;
  double copy_seconds;
};

std::vector<Figures> figures(const std::vector<Variant>& variants, int new_tokens) {
  std::vector<Figures> table;
  for (const Variant& variant : variants) {
    const double seconds = median(variant.runs, [](const Run& run) { return run.seconds; });
    table.push_back({.name = variant.name,
                     .seconds = seconds,
                     .tokens_per_second = new_tokens / seconds,
                     .first_token = median(variant.runs, [](const Run& run) { return run.result.timings.first_token; }),
                     .speed_up = (table.empty() ? seconds : table.front().seconds) / seconds,
                     .query_rows = variant.runs.front().query_rows,
                     .copied_bytes = variant.runs.front().copies.bytes,
                     .copy_seconds = median(variant.runs, [](const Run& run) { return run.copies.seconds; })});
  }
  return table;
}

/// Bytes of attention scores held at once while a prompt of `tokens` tokens is read in one step.
struct ScoreBytes {
  int tokens;
  std::size_t standard, flash;
};

std::vector<ScoreBytes> score_bytes(const ModelConfig& config, int threads) {
  std::vector<ScoreBytes> table;
  for (const int tokens : {256, 512, 1024}) {
    const Limits limits{.max_rows = tokens, .max_length = tokens};
    table.push_back({tokens, attention::Standard::scratch_floats(config, limits) * sizeof(float),
                     Flash::block_floats * sizeof(float) * static_cast<std::size_t>(threads)});
  }
  return table;
}

/// The variants whose tokens are not those of the first.
std::vector<std::string> deviating(const std::vector<Variant>& variants) {
  const std::vector<Token>& expected = variants.front().runs.front().result.tokens;
  std::vector<std::string> names;
  for (const Variant& variant : variants) {
    const bool same = std::all_of(variant.runs.begin(), variant.runs.end(),
                                  [&](const Run& run) { return run.result.tokens == expected; });
    if (!same) names.push_back(variant.name);
  }
  return names;
}

void print_row(const char* name, const std::vector<ScoreBytes>& scores, std::size_t ScoreBytes::*bytes) {
  std::printf("%-30s", name);
  for (const ScoreBytes& column : scores) std::printf("%12.1f kB", static_cast<double>(column.*bytes) / 1e3);
  std::printf("\n");
}

void print_tables(const Settings& settings, const Task& task, const std::vector<Figures>& table,
                  const std::vector<ScoreBytes>& scores) {
  const std::string model = task.tokenizer ? settings.model : "synthetic " + settings.synthetic;
  std::printf("%s; tokens: %zu prompt, %d new; threads: %d; median of %d\n\n", model.c_str(), task.prompt.size(),
              task.new_tokens, task.threads, settings.runs);

  std::printf("%-14s %8s %9s %12s %9s %11s %12s %9s\n", "cache", "seconds", "tokens/s", "first token", "speed-up",
              "query rows", "bytes copied", "copying");
  for (const Figures& row : table) {
    std::printf("%-14s %8.3f %9.1f %9.1f ms %8.2fx %11llu %9.1f MB %6.1f ms\n", row.name.c_str(), row.seconds,
                row.tokens_per_second, row.first_token * 1e3, row.speed_up,
                static_cast<unsigned long long>(row.query_rows), static_cast<double>(row.copied_bytes) / 1e6,
                row.copy_seconds * 1e3);
  }
  std::printf("query rows: of attention, counted for each layer and head\n\n");

  std::printf("%-30s", "attention scores held at once");
  for (const ScoreBytes& column : scores) std::printf("%10s %4d", "T =", column.tokens);
  std::printf("\n");
  print_row("standard: T rows of T", scores, &ScoreBytes::standard);
  print_row("flash: a block for each thread", scores, &ScoreBytes::flash);
  std::printf("\n");
}

Json to_json(const Settings& settings, const Task& task, const std::vector<Figures>& table,
             const std::vector<ScoreBytes>& scores, const GenerateResult& result, bool same) {
  Json variants = Json::array(), bytes = Json::array();
  for (const Figures& row : table) {
    variants.push_back({{"name", row.name},
                        {"seconds", row.seconds},
                        {"tokens_per_second", row.tokens_per_second},
                        {"first_token_seconds", row.first_token},
                        {"speed_up", row.speed_up},
                        {"query_rows", row.query_rows},
                        {"copied_bytes", row.copied_bytes},
                        {"copy_seconds", row.copy_seconds}});
  }
  for (const ScoreBytes& row : scores) {
    bytes.push_back({{"tokens", row.tokens}, {"standard", row.standard}, {"flash", row.flash}});
  }
  return {{"model", task.tokenizer ? settings.model : "synthetic " + settings.synthetic},
          {"prompt_tokens", task.prompt.size()},
          {"new_tokens", task.new_tokens},
          {"threads", task.threads},
          {"runs", settings.runs},
          {"variants", std::move(variants)},
          {"attention_score_bytes", std::move(bytes)},
          {"same_tokens", same},
          {"text", task.tokenizer ? Json(result.text) : Json()}};
}

/// Loads the model and packs its weights once, for all variants.
Task prepare(const Settings& settings) {
  const Checkpoint checkpoint = settings.synthetic.empty() ? load_checkpoint(checked_model_path(settings.model))
                                                           : synthetic_checkpoint(gpt2_preset(settings.synthetic));
  const ModelConfig& config = checkpoint.config();
  Cpu cpu(settings.threads);
  Task task{.weights = nullptr,
            .tokenizer = nullptr,
            .prompt = {},
            .new_tokens = settings.new_tokens,
            .threads = cpu.threads()};
  if (settings.synthetic.empty())
    task.tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(checkpoint.folder()));
  if (task.tokenizer && settings.context == 0) {
    task.prompt = task.tokenizer->encode(settings.prompt);
    if (task.prompt.empty() && config.bos_token_id >= 0) task.prompt = {config.bos_token_id};
  } else {
    for (std::int64_t i = 0; i < std::max(settings.context, 1); ++i) {
      task.prompt.push_back(static_cast<Token>((i * 7919 + 13) % config.vocab));
    }
  }
  if (task.prompt.size() + static_cast<std::size_t>(settings.new_tokens) >
      static_cast<std::size_t>(config.n_positions)) {
    fail(errc::bad_request, "a prompt and new tokens of " + std::to_string(config.n_positions) + " together at most",
         std::to_string(task.prompt.size()) + " and " + std::to_string(settings.new_tokens));
  }
  task.weights = load_weights(cpu, checkpoint);
  return task;
}

int compare(const Settings& settings) {
  const Task task = prepare(settings);
  std::vector<Variant> variants = {variant<attention::Standard, kv::NoCache>("no cache", task),
                                   variant<attention::Standard, kv::Concat<float>>("concatenating", task),
                                   variant<attention::Standard, kv::Contiguous<float>>("contiguous", task),
                                   variant<attention::Standard, kv::Paged<float, 16>>("paged", task),
                                   variant<Flash, kv::Paged<float, 16>>("flash, paged", task)};
  for (int i = 0; i < settings.runs; ++i) {
    for (Variant& variant : variants) variant.runs.push_back(variant.run());
  }

  const std::vector<Figures> table = figures(variants, settings.new_tokens);
  const std::vector<ScoreBytes> scores = score_bytes(task.weights->config(), task.threads);
  const std::vector<std::string> others = deviating(variants);
  const GenerateResult& result = variants.front().runs.front().result;
  if (settings.json) {
    write_out(json_line(to_json(settings, task, table, scores, result, others.empty())) + "\n");
  } else {
    print_tables(settings, task, table, scores);
    if (others.empty()) {
      const std::string text = task.tokenizer ? ": " + json_line(result.text) : ".";
      std::printf("All variants gave the same %zu tokens%s\n", result.tokens.size(), text.c_str());
    }
    write_out("");
  }
  if (others.empty()) return 0;
  std::string names;
  for (const std::string& name : others) names += " " + name;
  throw std::runtime_error("these gave other tokens than no cache:" + names);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs one model without a cache, with a concatenating, a contiguous and a paged cache, and with flash "
      "attention,\n"
      "and shows what each costs. All five share one copy of the weights.",
      "gpt2ie-compare");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] { return compare(settings); });
}

// SPDX-License-Identifier: MIT
/// Caches and flash attention, side by side.
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

#include <gpt2ie/gpt2ie.hpp>

#include "compare/task.hpp"
#include "support/json.hpp"
#include "support/program.hpp"

namespace gpt2ie_example {

using namespace gpt2ie;

namespace {

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

template <AttentionPolicy Policy, CacheStorage Storage>
Variant variant(std::string name, const Task& task) {
  using Gpt2 = Generator<Cpu, Attention<Policy>, KVCache<Storage>>;
  Limits limits = generator_limits;
  limits.max_length = static_cast<int>(task.prompt.size()) + task.new_tokens;
  const GenerateOptions greedy{.max_new_tokens = task.new_tokens, .temperature = 0, .ignore_eos = true};
  return {std::move(name), [=] {
            using Clock = std::chrono::steady_clock;
            // A new one each time: its cache holds nothing of the run before.
            Gpt2 gpt2(task.weights, task.tokenizer, Cpu(task.threads), limits);
            const Clock::time_point start = Clock::now();
            GenerateResult result = gpt2.generate(task.prompt, greedy);
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            const auto& executor = gpt2.executor();
            return Run{std::move(result), seconds, executor.counters().rows, executor.pool().copies()};
          }};
}

template <class Value>
double median(const std::vector<Run>& runs, Value value) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(value(run));
  return gpt2ie_example::median(std::move(values));
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
  std::printf("%s; tokens: %zu prompt, %d new; threads: %d; median of %d\n\n", settings.model_name().c_str(),
              task.prompt.size(), task.new_tokens, task.threads, settings.runs);

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
  return {{"model", settings.model_name()},
          {"prompt_tokens", task.prompt.size()},
          {"new_tokens", task.new_tokens},
          {"threads", task.threads},
          {"runs", settings.runs},
          {"variants", std::move(variants)},
          {"attention_score_bytes", std::move(bytes)},
          {"same_tokens", same},
          {"text", task.tokenizer ? Json(result.text) : Json()}};
}

}  // namespace

int compare_caches(const Settings& settings) {
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

}  // namespace gpt2ie_example

// SPDX-License-Identifier: MIT
/// Many answers to one long prompt, with and without sharing its pages.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gpt2ie/gpt2ie.hpp>

#include "compare/task.hpp"
#include "support/json.hpp"
#include "support/program.hpp"

namespace gpt2ie_example {

using namespace gpt2ie;

namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<Token>;
using PrefixEngine = Engine<Cpu, Attention<Flash>, KVCache<kv::Paged<float, 16>>, Scheduler<slots::Continuous<16>>>;

/// Prompts that begin alike.
struct Case {
  std::string name;
  std::vector<Tokens> prompts;
  int prefix, new_tokens;
};

struct PrefixRun {
  double seconds = 0;
  std::uint64_t prefilled = 0;
  std::vector<Tokens> answers;
};

/// Each request has a salt of its own unless pages are shared.
PrefixRun run_case(const Task& task, const Case& of, bool share) {
  EngineOptions options;
  for (const Tokens& prompt : of.prompts) {
    options.limits.max_length = std::max(options.limits.max_length, static_cast<int>(prompt.size()) + of.new_tokens);
  }
  PrefixEngine engine(task.weights, nullptr, options, Cpu(task.threads));
  const Clock::time_point start = Clock::now();
  std::vector<Handle> handles;
  for (const Tokens& prompt : of.prompts) {
    Request request{.prompt = prompt,
                    .options = {.max_new_tokens = of.new_tokens, .temperature = 0, .ignore_eos = true}};
    if (!share) request.cache_salt = std::to_string(handles.size() + 1);
    handles.push_back(std::get<Handle>(engine.submit(std::move(request))));
  }
  PrefixRun run;
  for (Handle& handle : handles) run.answers.push_back(handle.result().choices[0].tokens);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  run.prefilled = engine.stats().scheduler.prefilled;
  return run;
}

Case made_up_case(std::string name, const ModelConfig& config, int prefix, int completions, int suffix,
                  int new_tokens) {
  Case made{std::move(name), {}, prefix, new_tokens};
  const Tokens shared = made_up_tokens(prefix, config.vocab);
  for (int i = 0; i < completions; ++i) {
    Tokens prompt = shared;
    const Tokens own = made_up_tokens(suffix, config.vocab, static_cast<std::uint32_t>(i + 1));
    prompt.insert(prompt.end(), own.begin(), own.end());
    made.prompts.push_back(std::move(prompt));
  }
  return made;
}

/// A text that stands before every question, and five questions.
Case questions(const Tokenizer& tokenizer) {
  const std::string system =
      "You are an old storyteller who lives at the edge of a great wood. Children come to you in the evening, sit down "
      "by the fire and ask about the tales that they have heard. You answer in a few plain sentences, as if you had "
      "been there yourself, you never frighten the small ones, and you always end with the moon. The wood is full of "
      "wolves and foxes, the castle stands empty, and the miller's daughter has gone to the city to be a queen. ";
  Case made{"a text and five questions", {}, static_cast<int>(tokenizer.encode(system).size()), 20};
  for (const char* question : {"Who lives in the castle?", "What does the fox eat?", "Where is the miller's daughter?",
                               "Why does the wolf howl?", "When will the king come home?"}) {
    made.prompts.push_back(tokenizer.encode(system + question));
  }
  return made;
}

struct PrefixFigures {
  const Case* of;
  double alone, shared;  ///< seconds
  std::uint64_t prefilled_alone, prefilled_shared;
  bool same;

  [[nodiscard]] double tokens() const { return static_cast<double>(of->prompts.size()) * of->new_tokens; }
};

PrefixFigures measure(const Task& task, const Case& of, int runs) {
  std::vector<double> alone, shared;
  PrefixFigures figures{&of, 0, 0, 0, 0, true};
  std::vector<Tokens> expected;
  for (int i = 0; i < runs; ++i) {
    const PrefixRun without = run_case(task, of, false), with = run_case(task, of, true);
    alone.push_back(without.seconds);
    shared.push_back(with.seconds);
    figures.prefilled_alone = without.prefilled;
    figures.prefilled_shared = with.prefilled;
    figures.same = figures.same && without.answers == with.answers;
  }
  figures.alone = median(std::move(alone));
  figures.shared = median(std::move(shared));
  return figures;
}

}  // namespace

int compare_prefix(const Settings& settings) {
  const Task task = prepare(settings);
  const ModelConfig& config = task.weights->config();
  std::vector<Case> cases;
  if (task.tokenizer) cases.push_back(questions(*task.tokenizer));
  const int prefix = std::min(512, config.n_positions / 2);
  cases.push_back(made_up_case(std::to_string(prefix) + " tokens and 16 answers", config, prefix, 16, 1, 16));

  std::vector<PrefixFigures> table;
  for (const Case& of : cases) table.push_back(measure(task, of, settings.runs));
  bool same = true;
  Json rows = Json::array();
  for (const PrefixFigures& row : table) {
    same = same && row.same;
    rows.push_back({{"name", row.of->name},
                    {"prefix_tokens", row.of->prefix},
                    {"requests", row.of->prompts.size()},
                    {"new_tokens", row.of->new_tokens},
                    {"prefilled_without", row.prefilled_alone},
                    {"prefilled_with", row.prefilled_shared},
                    {"tokens_per_second_without", row.tokens() / row.alone},
                    {"tokens_per_second_with", row.tokens() / row.shared},
                    {"speed_up", row.alone / row.shared}});
  }
  if (settings.json) {
    const Json all = {{"model", settings.model_name()},
                      {"threads", task.threads},
                      {"runs", settings.runs},
                      {"cases", std::move(rows)},
                      {"same_tokens", same}};
    write_out(json_line(all) + "\n");
  } else {
    std::printf("%s; threads: %d; median of %d\n\n", settings.model_name().c_str(), task.threads, settings.runs);
    std::printf("%-28s %9s %20s %20s %12s %9s\n", "prompts that begin alike", "pages", "prompt rows computed",
                "prompt rows saved", "tokens/s", "speed-up");
    for (const PrefixFigures& row : table) {
      std::printf("%-28s %9s %20llu %20s %12.1f %9s\n", row.of->name.c_str(), "own",
                  static_cast<unsigned long long>(row.prefilled_alone), "", row.tokens() / row.alone, "");
      std::printf("%-28s %9s %20llu %20llu %12.1f %8.2fx\n", "", "shared",
                  static_cast<unsigned long long>(row.prefilled_shared),
                  static_cast<unsigned long long>(row.prefilled_alone - row.prefilled_shared),
                  row.tokens() / row.shared, row.alone / row.shared);
    }
    if (same) std::printf("\nShared pages gave the same tokens.\n");
    write_out("");
  }
  if (!same) throw std::runtime_error("shared pages gave other tokens");
  return 0;
}

}  // namespace gpt2ie_example

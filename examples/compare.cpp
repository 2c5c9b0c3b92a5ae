// SPDX-License-Identifier: MIT
/// gpt2ie-compare: what caches, flash attention, batching and shared prefixes are worth, measured and counted side by
/// side.
#include <CLI/CLI.hpp>

#include "compare/task.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie_example;

void add_options(CLI::App& app, Settings& settings) {
  auto* model = add_model_option(app, settings.model);
  auto* synthetic = app.add_option("--synthetic", settings.synthetic, "real sizes on made-up weights: no files needed")
                        ->check(CLI::IsMember({"124m", "355m", "774m", "1558m"}))
                        ->type_name("SIZE")
                        ->excludes(model);
  auto* prompt = app.add_option("--prompt", settings.prompt, "the text to continue; empty: begin a new text")
                     ->excludes(synthetic)
                     ->capture_default_str();
  auto* context = app.add_option("--context", settings.context,
                                 "start from N made-up tokens instead of a text; 1 is the default with --synthetic")
                      ->transform(whole_number(1))
                      ->type_name("N")
                      ->excludes(prompt);
  auto* new_tokens = app.add_option("--max-new-tokens", settings.new_tokens, "tokens to generate, greedily")
                         ->transform(whole_number(1))
                         ->type_name("N")
                         ->capture_default_str();
  app.add_option("--runs", settings.runs, "times to run each variant, in turns; the median counts")
      ->transform(whole_number(1, 1000))
      ->capture_default_str();
  add_threads_option(app, settings.threads);
  auto* batching =
      app.add_flag("--batching", settings.batching,
                   "compare schedulers instead: one request after the other, static and continuous batches");
  auto* prefix = app.add_flag("--prefix", settings.prefix,
                              "compare many answers to one long prompt, with and without sharing its pages")
                     ->excludes(batching);
  // These have workloads of their own.
  for (CLI::Option* mode : {batching, prefix}) mode->excludes(prompt)->excludes(context)->excludes(new_tokens);
  app.add_flag("--json", settings.json, "print one JSON object instead of tables");
}

int compare(const Settings& settings) {
  if (settings.batching) return compare_batching(settings);
  if (settings.prefix) return compare_prefix(settings);
  return compare_caches(settings);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs one model without a cache, with a concatenating, a contiguous and a paged cache, and with flash "
      "attention,\n"
      "and shows what each costs; with --batching or --prefix, what serving many requests at once gains. All variants\n"
      "share one copy of the weights.",
      "gpt2ie-compare");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] { return compare(settings); });
}

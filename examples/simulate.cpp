// SPDX-License-Identifier: MIT
/// gpt2ie-simulate: what pages and continuous batching are worth, on a modelled step time instead of a model.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/kv_cache/page_book.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>
#include <gpt2ie/planner/growing_book.hpp>
#include <gpt2ie/planner/simulator.hpp>
#include <gpt2ie/planner/trace.hpp>
#include <gpt2ie/planner/workload.hpp>
#include <gpt2ie/scheduler/slots.hpp>

#include "simulate/charts.hpp"
#include "support/json.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

/// Slots of the three ways to use memory: so many that memory is what limits them.
constexpr int many_slots = 256;
/// Slots of static and continuous batching.
constexpr int few_slots = 16;

struct Settings {
  WorkloadOptions workload;
  SimulationOptions simulation;
  double step_ms = simulation.cost.step * 1e3, row_ms = simulation.cost.row * 1e3;
  double context_us = simulation.cost.context_token * 1e6, move_us = simulation.cost.moved_token * 1e6;
  std::string trace, charts;
  bool json = false;
};

CLI::Validator at_least(double least) {
  return number(std::to_string(static_cast<int>(least)) + " or more",
                [least](double value) { return std::isfinite(value) && value >= least; });
}

void add_options(CLI::App& app, Settings& settings) {
  WorkloadOptions& workload = settings.workload;
  SimulationOptions& simulation = settings.simulation;
  auto* trace = app.add_option("--trace", settings.trace,
                               "a file of requests, one a line: arrival_s prompt_tokens answer_tokens; # comments")
                    ->type_name("FILE");
  const auto made_up = [&](const char* name, auto& value, const char* what, const CLI::Validator& range) {
    app.add_option(name, value, what)->transform(range)->excludes(trace)->capture_default_str();
  };
  made_up("--requests", workload.requests, "chat completions to simulate", whole_number(1, 100'000));
  made_up("--prompt-median", workload.prompt_median, "tokens of a prompt, log-normal", at_least(1));
  made_up("--answer-median", workload.answer_median, "tokens of an answer, log-normal", at_least(1));
  made_up("--sigma", workload.sigma, "standard deviation of the logarithm of both", at_least(0));
  made_up("--rate", workload.rate, "requests a second, a Poisson process; 0: all at once", at_least(0));

  const auto shared = [&](const char* name, auto& value, const char* what, const CLI::Validator& range) {
    app.add_option(name, value, what)->transform(range)->capture_default_str();
  };
  shared("--seed", workload.seed, "of all draws: the same seed gives the same output", whole_number<std::uint64_t>(0));
  shared("--max-length", workload.max_length, "tokens of prompt and answer together", whole_number(2, 131'072));
  shared("--memory", simulation.memory_tokens, "room of the whole cache, in tokens", whole_number(2, 16'777'216));
  shared("--step-rows", simulation.rows_per_step, "rows of a step; prompts get what decoding leaves of them",
         whole_number(1, 65'536));
  shared("--step-ms", settings.step_ms, "time of a step, whatever it holds", at_least(0));
  shared("--row-ms", settings.row_ms, "and of each row", at_least(0));
  shared("--context-us", settings.context_us, "and of each token that a row attends to", at_least(0));
  shared("--move-us", settings.move_us, "and of each token that is copied to another place", at_least(0));
  app.add_flag("--json", settings.json, "print one JSON object instead of tables");
  app.add_option("--plot", settings.charts, "write charts over time into this folder: SVG files, by gnuplot")
      ->type_name("DIR");
}

std::string read_trace(const std::string& path) {
  constexpr std::size_t most = 16 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) throw std::runtime_error("can't read the file " + path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) {
    throw std::runtime_error("the file " + path + " has more than " + std::to_string(most) + " bytes");
  }
  return text;
}

struct Results {
  SimulationResult paged, reserved, growing;    ///< many_slots, continuous
  SimulationResult static_batches, continuous;  ///< few_slots, paged
};

Results simulate_all(const std::vector<SimulatedRequest>& requests, const SimulationOptions& options) {
  return {.paged = simulate<slots::Continuous<many_slots>, PageBook<16>>(requests, options),
          .reserved = simulate<slots::Continuous<many_slots>, SlotBook>(requests, options),
          .growing = simulate<slots::Continuous<many_slots>, GrowingBook>(requests, options),
          .static_batches = simulate<slots::Static<few_slots>, PageBook<16>>(requests, options),
          .continuous = simulate<slots::Continuous<few_slots>, PageBook<16>>(requests, options)};
}

/// Tokens of all prompts and of all answers.
std::pair<std::int64_t, std::int64_t> count_tokens(const std::vector<SimulatedRequest>& requests) {
  std::int64_t prompts = 0, answers = 0;
  for (const SimulatedRequest& request : requests) {
    prompts += request.prompt_tokens;
    answers += request.answer_tokens;
  }
  return {prompts, answers};
}

void print_memory_row(const char* name, const SimulationResult& result) {
  std::printf("%-10s %8.1f %% %9.1f %% %6d %7.1f %9llu %12llu %10lld %9.1f %9.1f s\n", name,
              100 * result.internal_waste, 100 * result.external_fragmentation, result.peak_running,
              result.mean_running, static_cast<unsigned long long>(result.preemptions),
              static_cast<unsigned long long>(result.prompt_rows), static_cast<long long>(result.moved_tokens),
              result.tokens_per_s, result.mean_wait_s);
}

void print_batching_row(const char* name, const SimulationResult& result) {
  std::printf("%-10s %8llu %13.1f %9.1f %9.1f s %8.1f s\n", name, static_cast<unsigned long long>(result.steps),
              result.mean_running, result.tokens_per_s, result.mean_wait_s, result.seconds);
}

void print_tables(const Settings& settings, const std::vector<SimulatedRequest>& requests, const Results& results) {
  const auto [prompts, answers] = count_tokens(requests);
  std::printf("%zu requests; tokens: %lld in prompts, %lld in answers; memory: %d tokens; longest: %d\n\n",
              requests.size(), static_cast<long long>(prompts), static_cast<long long>(answers),
              settings.simulation.memory_tokens, settings.simulation.max_length);
  std::printf("%-10s %10s %11s %14s\n", "memory", "internal", "external", "running");
  std::printf("%-10s %10s %11s %6s %7s %9s %12s %10s %9s %11s\n", "", "waste", "fragments", "peak", "mean", "preempted",
              "prompt rows", "moved", "tokens/s", "mean wait");
  print_memory_row("paged", results.paged);
  print_memory_row("reserved", results.reserved);
  print_memory_row("growing", results.growing);
  std::printf("\n%-10s %8s %13s %9s %11s %10s\n", "batching", "steps", "mean running", "tokens/s", "mean wait",
              "in all");
  print_batching_row("static", results.static_batches);
  print_batching_row("continuous", results.continuous);
  std::printf("%d slots, paged\n", few_slots);
}

Json to_json(const SimulationResult& result) {
  return {{"internal_waste", result.internal_waste},
          {"external_fragmentation", result.external_fragmentation},
          {"peak_running", result.peak_running},
          {"mean_running", result.mean_running},
          {"preemptions", result.preemptions},
          {"tokens_per_s", result.tokens_per_s},
          {"mean_wait_s", result.mean_wait_s},
          {"seconds", result.seconds},
          {"steps", result.steps},
          {"prompt_rows", result.prompt_rows},
          {"moved_tokens", result.moved_tokens}};
}

Json to_json(const Settings& settings, const std::vector<SimulatedRequest>& requests, const Results& results) {
  const auto [prompts, answers] = count_tokens(requests);
  return {{"requests", requests.size()},
          {"prompt_tokens", prompts},
          {"answer_tokens", answers},
          {"memory_tokens", settings.simulation.memory_tokens},
          {"max_length", settings.simulation.max_length},
          {"seed", settings.simulation.seed},
          {"paged", to_json(results.paged)},
          {"reserved", to_json(results.reserved)},
          {"growing", to_json(results.growing)},
          {"static", to_json(results.static_batches)},
          {"continuous", to_json(results.continuous)}};
}

/// The steps that begin before `end_s`.
std::span<const StepSample> beginning(const std::vector<StepSample>& samples, double end_s) {
  const auto end =
      std::find_if(samples.begin(), samples.end(), [end_s](const StepSample& s) { return s.begin_s >= end_s; });
  return {samples.begin(), end};
}

void draw(const Settings& settings, const Results& results) {
  // All of it would be a comb of too many batches.
  const double shown_s = results.static_batches.samples.front().begin_s + results.static_batches.seconds / 10;
  const std::vector<Series> all = {{"paged", results.paged.samples},
                                   {"reserved", results.reserved.samples},
                                   {"growing", results.growing.samples},
                                   {"static", beginning(results.static_batches.samples, shown_s)},
                                   {"continuous", beginning(results.continuous.samples, shown_s)}};
  if (write_charts(settings.charts, all, settings.simulation.memory_tokens)) return;
  std::fprintf(stderr, "There is no gnuplot here to draw the charts: run it on charts.gp in %s.\n",
               settings.charts.c_str());
}

int run(Settings settings) {
  SimulationOptions& options = settings.simulation;
  options.max_length = settings.workload.max_length;
  options.seed = settings.workload.seed;
  options.cost = {.step = settings.step_ms * 1e-3,
                  .row = settings.row_ms * 1e-3,
                  .context_token = settings.context_us * 1e-6,
                  .moved_token = settings.move_us * 1e-6};
  const std::vector<SimulatedRequest> requests =
      settings.trace.empty() ? lognormal_workload(settings.workload)
                             : parse_trace(read_trace(settings.trace), settings.trace, options.max_length);
  const Results results = simulate_all(requests, options);
  if (!settings.charts.empty()) draw(settings, results);
  if (settings.json) {
    write_out(json_line(to_json(settings, requests, results)) + "\n");
  } else {
    print_tables(settings, requests, results);
    write_out("");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs many made-up chat completions through the scheduler and the books of caches, with a modelled step time\n"
      "instead of a model: pages against reserved and growing contiguous memory, continuous against static batching.",
      "gpt2ie-simulate");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] { return run(settings); });
}

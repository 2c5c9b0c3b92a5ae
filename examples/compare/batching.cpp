// SPDX-License-Identifier: MIT
/// One request after the other, static batches and continuous batches, over one workload; how many streams share the
/// products; and what a long prompt does to running streams.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <numbers>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gpt2ie/core/philox.hpp>
#include <gpt2ie/gpt2ie.hpp>

#include "compare/task.hpp"
#include "support/json.hpp"
#include "support/program.hpp"

namespace gpt2ie_example {

using namespace gpt2ie;

namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<Token>;

template <SlotPolicy Slots>
using BatchEngine = Engine<Cpu, Attention<Flash>, KVCache<kv::Paged<float, 16>>, Scheduler<Slots>>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// --- the workload ---

constexpr int requests = 128, slots_of_batch = 8;
constexpr std::uint64_t workload_seed = 7;
constexpr double prompt_median = 16, answer_median = 16, sigma = 1.0;
constexpr int longest = 128;

struct Job {
  Tokens prompt;
  int new_tokens;
};

/// Log-normal lengths: exp(log(median) + sigma * z), z by Box and Muller's method from the seeded generator.
int length_of(std::uint32_t which, double median) {
  const auto uniform = [which](std::uint32_t i) {
    return uniform_double({.seed = workload_seed, .position = 2 * which + i, .choice = 0});
  };
  const double z = std::sqrt(-2 * std::log(1 - uniform(0))) * std::cos(2 * std::numbers::pi * uniform(1));
  return std::clamp(static_cast<int>(std::lround(median * std::exp(sigma * z))), 1, longest);
}

std::vector<Job> workload(const ModelConfig& config) {
  std::vector<Job> jobs;
  for (std::uint32_t i = 0; i < requests; ++i) {
    const int most = config.n_positions / 2;
    const int prompt = std::min(length_of(2 * i, prompt_median), most);
    jobs.push_back({made_up_tokens(prompt, config.vocab, i), std::min(length_of(2 * i + 1, answer_median), most)});
  }
  return jobs;
}

Request greedy(Tokens prompt, int new_tokens) {
  return {.prompt = std::move(prompt), .options = {.max_new_tokens = new_tokens, .temperature = 0, .ignore_eos = true}};
}

template <class AnyEngine>
Handle submit(AnyEngine& engine, Request request) {
  std::variant<Handle, QueueFull> answer = engine.submit(std::move(request));
  if (const auto* full = std::get_if<QueueFull>(&answer)) {
    throw std::runtime_error("the queue is full at " + std::to_string(full->queued));
  }
  return std::get<Handle>(std::move(answer));
}

/// Room for `slots` sequences of `length` tokens.
EngineOptions room_for(int length) {
  EngineOptions options;
  options.limits.max_length = length;
  return options;
}

// --- schedulers side by side ---

/// What each slot did in each step: 0 nothing, else the request; negative: it read its prompt.
using TimeLine = std::vector<std::vector<int>>;

struct BatchRun {
  double seconds = 0;
  std::vector<double> first_tokens;
  std::uint64_t steps = 0, rows = 0;
  std::vector<Tokens> answers;
  TimeLine line;
};

template <SlotPolicy Slots>
BatchRun run_batch(const Task& task, const std::vector<Job>& jobs) {
  BatchRun run;
  EngineOptions options = room_for(2 * longest);
  options.on_step = [&run](const StepReport& report) {
    std::vector<int> column(static_cast<std::size_t>(Slots::count));
    for (const StepPart& part : report.parts) {
      const int request = static_cast<int>(part.request);
      column[static_cast<std::size_t>(part.slot)] = part.prefill ? -request : request;
      run.rows += static_cast<std::uint64_t>(part.rows);
    }
    run.line.push_back(std::move(column));
  };
  BatchEngine<Slots> engine(task.weights, nullptr, options, Cpu(task.threads));
  const Clock::time_point start = Clock::now();
  std::vector<Handle> handles;
  for (const Job& job : jobs) handles.push_back(submit(engine, greedy(job.prompt, job.new_tokens)));
  for (Handle& handle : handles) {
    Completion completion = handle.result();
    run.first_tokens.push_back(completion.choices[0].timings.first_token);
    run.answers.push_back(std::move(completion.choices[0].tokens));
  }
  run.seconds = seconds_since(start);
  run.steps = run.line.size();
  return run;
}

struct SchedulerVariant {
  std::string name;
  BatchRun (*execute)(const Task&, const std::vector<Job>&);
  std::vector<BatchRun> runs = {};

  [[nodiscard]] double seconds() const {
    return of([](const BatchRun& run) { return run.seconds; });
  }
  /// Over the requests: the mean, and what a share of them stays under.
  [[nodiscard]] double mean_first_token() const {
    return of([](const BatchRun& run) {
      double sum = 0;
      for (const double seconds : run.first_tokens) sum += seconds;
      return sum / static_cast<double>(run.first_tokens.size());
    });
  }

 private:
  template <class Value>
  [[nodiscard]] double of(Value value) const {
    std::vector<double> values;
    for (const BatchRun& run : runs) values.push_back(value(run));
    return median(std::move(values));
  }
};

/// Letters for requests, upper case while they read their prompt; each column stands for equally many steps and shows
/// what a slot did in most of them.
void print_time_line(const TimeLine& line) {
  constexpr std::size_t columns = 96;
  const std::size_t width = (line.size() + columns - 1) / columns;
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (std::size_t slot = 0; !line.empty() && slot < line[0].size(); ++slot) {
    std::printf("  slot %zu |", slot + 1);
    for (std::size_t begin = 0; begin < line.size(); begin += width) {
      std::map<int, int> steps;
      bool reads = false;
      for (std::size_t i = begin; i < std::min(begin + width, line.size()); ++i) {
        ++steps[std::abs(line[i][slot])];
        reads = reads || line[i][slot] < 0;
      }
      const auto most = std::max_element(steps.begin(), steps.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      const std::size_t request = static_cast<std::size_t>(most->first);
      char cell = request == 0 ? '.' : letters[(request - 1) % letters.size()];
      if (reads && request != 0 && cell >= 'a' && cell <= 'z') cell = static_cast<char>(cell - 'a' + 'A');
      std::printf("%c", cell);
    }
    std::printf("|\n");
  }
}

// --- many streams share the products ---

struct Sharing {
  double one, sixteen, products;  ///< tokens per second
};

/// Tokens per second of so many streams that begin together.
double decode_rate(const Task& task, int streams, int new_tokens) {
  BatchEngine<slots::Continuous<16>> engine(task.weights, nullptr, room_for(new_tokens + 1), Cpu(task.threads));
  const Clock::time_point start = Clock::now();
  std::vector<Handle> handles;
  for (int i = 0; i < streams; ++i) {
    const auto which = static_cast<std::uint32_t>(i);
    handles.push_back(submit(engine, greedy(made_up_tokens(1, task.weights->config().vocab, which), new_tokens)));
  }
  for (Handle& handle : handles) static_cast<void>(handle.result());
  return streams * new_tokens / seconds_since(start);
}

/// Rows per second of the products of one step alone, 16 rows through every matrix.
double product_rate(const Task& task) {
  constexpr int rows = 16;
  const Cpu cpu(task.threads);
  const Weights<Cpu>& weights = *task.weights;
  const ModelConfig& config = weights.config();
  const std::vector<float> x(static_cast<std::size_t>(rows * std::max(config.n_embd, config.n_inner)), 0.5f);
  std::vector<float> y(static_cast<std::size_t>(rows) *
                       static_cast<std::size_t>(std::max({config.vocab, config.n_inner, 3 * config.n_embd})));
  const auto multiply = [&](const auto& matrix) { cpu.linear(matrix, x.data(), rows, y.data(), {}); };
  const Clock::time_point start = Clock::now();
  for (int layer = 0; layer < config.n_layer; ++layer) {
    multiply(weights.layer(layer).c_attn.matrix);
    multiply(weights.layer(layer).c_proj.matrix);
    multiply(weights.layer(layer).mlp_fc.matrix);
    multiply(weights.layer(layer).mlp_proj.matrix);
  }
  multiply(weights.head());
  return rows / seconds_since(start);
}

Sharing measure_sharing(const Task& task, int runs) {
  constexpr int new_tokens = 32;
  std::vector<double> one, sixteen, products;
  for (int i = 0; i < runs; ++i) {
    one.push_back(decode_rate(task, 1, new_tokens));
    sixteen.push_back(decode_rate(task, 16, new_tokens));
    for (int j = 0; j < 5; ++j) products.push_back(product_rate(task));
  }
  return {median(std::move(one)), median(std::move(sixteen)), median(std::move(products))};
}

// --- a long prompt arrives ---

struct Stall {
  int streams = 8, prompt = 0;
  double median_gap = 0, longest_gap = 0, first_token = 0;  ///< seconds; gaps between the tokens of one stream

  [[nodiscard]] double ratio() const { return longest_gap / median_gap; }
};

Stall measure_stall(const Task& task) {
  const ModelConfig& config = task.weights->config();
  Stall stall;
  stall.prompt = std::min(900, config.n_positions - 16);
  const int stream_tokens = std::min(250, config.n_positions - 16);
  std::mutex mutex;
  std::vector<std::vector<Clock::time_point>> times(static_cast<std::size_t>(stall.streams));
  BatchEngine<slots::Continuous<16>> engine(task.weights, nullptr, room_for(config.n_positions), Cpu(task.threads));
  std::vector<Handle> handles;
  for (int i = 0; i < stall.streams; ++i) {
    Request request = greedy(made_up_tokens(8, config.vocab, static_cast<std::uint32_t>(i)), stream_tokens);
    request.on_piece = [&mutex, &mine = times[static_cast<std::size_t>(i)]](const Piece&) {
      const std::scoped_lock lock(mutex);
      mine.push_back(Clock::now());
    };
    handles.push_back(submit(engine, std::move(request)));
  }
  const auto all_have = [&](std::size_t tokens) {
    const std::scoped_lock lock(mutex);
    return std::all_of(times.begin(), times.end(), [tokens](const auto& mine) { return mine.size() >= tokens; });
  };
  while (!all_have(40)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Handle late = submit(engine, greedy(made_up_tokens(stall.prompt, config.vocab, 99), 1));
  stall.first_token = late.result().choices[0].timings.first_token;
  for (Handle& handle : handles) handle.cancel();
  for (Handle& handle : handles) static_cast<void>(handle.result());

  std::vector<double> alone;  // gaps of streams that all run and have no prompt beside them
  for (const auto& mine : times) {
    for (std::size_t i = 11; i + 1 < mine.size(); ++i) {  // the last piece is the cancelling
      const double gap = std::chrono::duration<double>(mine[i] - mine[i - 1]).count();
      if (i < 40) alone.push_back(gap);
      stall.longest_gap = std::max(stall.longest_gap, gap);
    }
  }
  stall.median_gap = median(std::move(alone));
  return stall;
}

/// Each run by itself, the one with the smallest ratio first: whatever else the machine does lengthens single gaps.
std::vector<Stall> measure_stalls(const Task& task, int runs) {
  std::vector<Stall> stalls;
  for (int i = 0; i < runs; ++i) stalls.push_back(measure_stall(task));
  std::sort(stalls.begin(), stalls.end(), [](const Stall& a, const Stall& b) { return a.ratio() < b.ratio(); });
  return stalls;
}

// --- the report ---

const Stall& middle(const std::vector<Stall>& stalls) { return stalls[stalls.size() / 2]; }

void print_tables(const Settings& settings, const Task& task, const std::vector<SchedulerVariant>& variants,
                  std::size_t tokens, const Sharing& sharing, const std::vector<Stall>& stalls) {
  std::printf("%s; threads: %d; median of %d\n\n", settings.model_name().c_str(), task.threads, settings.runs);
  std::printf(
      "%d requests at once; lengths log-normal, sigma %.1f, medians %.0f (prompt) and %.0f (answer), cut to %d; seed "
      "%llu; %zu new tokens\n",
      requests, sigma, prompt_median, answer_median, longest, static_cast<unsigned long long>(workload_seed), tokens);
  std::printf("%-16s %8s %9s %9s %17s %7s %14s\n", "scheduler", "seconds", "tokens/s", "speed-up", "mean first token",
              "steps", "rows in a step");
  for (const SchedulerVariant& variant : variants) {
    const BatchRun& run = variant.runs.front();
    std::printf("%-16s %8.2f %9.1f %8.2fx %15.2f s %7llu %14.1f\n", variant.name.c_str(), variant.seconds(),
                static_cast<double>(tokens) / variant.seconds(), variants.front().seconds() / variant.seconds(),
                variant.mean_first_token(), static_cast<unsigned long long>(run.steps),
                static_cast<double>(run.rows) / static_cast<double>(run.steps));
  }
  std::printf("continuous against static: %.2fx\n", variants[1].seconds() / variants[2].seconds());
  for (std::size_t i = 1; i < variants.size(); ++i) {
    std::printf("\n%s: a letter is a request, a capital one reads its prompt, a dot is an idle slot\n",
                variants[i].name.c_str());
    print_time_line(variants[i].runs.front().line);
  }
  std::printf(
      "\none stream: %.1f tokens/s; 16 streams: %.1f, %.2f of 16 times one; the products of 16 rows alone: %.1f, so "
      "%.2f "
      "of them\n",
      sharing.one, sharing.sixteen, sharing.sixteen / (16 * sharing.one), sharing.products,
      sharing.sixteen / sharing.products);
  const Stall& stall = middle(stalls);
  std::printf(
      "a prompt of %d tokens beside %d streams: its first token after %.2f s; the longest gap between a stream's "
      "tokens %.1f ms, %.2f times the median of %.1f ms before (%.2f to %.2f times in %zu runs)\n",
      stall.prompt, stall.streams, stall.first_token, stall.longest_gap * 1e3, stall.ratio(), stall.median_gap * 1e3,
      stalls.front().ratio(), stalls.back().ratio(), stalls.size());
}

Json to_json(const Settings& settings, const Task& task, const std::vector<SchedulerVariant>& variants,
             std::size_t tokens, const Sharing& sharing, const std::vector<Stall>& stalls, bool same) {
  const Stall& stall = middle(stalls);
  Json rows = Json::array(), ratios = Json::array();
  for (const Stall& each : stalls) ratios.push_back(each.ratio());
  for (const SchedulerVariant& variant : variants) {
    rows.push_back({{"name", variant.name},
                    {"seconds", variant.seconds()},
                    {"tokens_per_second", static_cast<double>(tokens) / variant.seconds()},
                    {"mean_first_token_seconds", variant.mean_first_token()},
                    {"steps", variant.runs.front().steps},
                    {"rows", variant.runs.front().rows}});
  }
  return {{"model", settings.model_name()},
          {"threads", task.threads},
          {"runs", settings.runs},
          {"requests", requests},
          {"seed", workload_seed},
          {"new_tokens", tokens},
          {"schedulers", std::move(rows)},
          {"continuous_against_static", variants[1].seconds() / variants[2].seconds()},
          {"one_stream_tokens_per_second", sharing.one},
          {"sixteen_streams_tokens_per_second", sharing.sixteen},
          {"products_of_sixteen_rows_per_second", sharing.products},
          {"stall",
           {{"prompt_tokens", stall.prompt},
            {"streams", stall.streams},
            {"first_token_seconds", stall.first_token},
            {"median_gap_seconds", stall.median_gap},
            {"longest_gap_seconds", stall.longest_gap},
            {"ratios", ratios}}},
          {"same_tokens", same}};
}

}  // namespace

int compare_batching(const Settings& settings) {
  const Task task = prepare(settings);
  const std::vector<Job> jobs = workload(task.weights->config());
  std::size_t tokens = 0;
  for (const Job& job : jobs) tokens += static_cast<std::size_t>(job.new_tokens);
  std::vector<SchedulerVariant> variants = {{"one by one", &run_batch<slots::Sequential>},
                                            {"static, 8", &run_batch<slots::Static<slots_of_batch>>},
                                            {"continuous, 8", &run_batch<slots::Continuous<slots_of_batch>>}};
  for (int i = 0; i < settings.runs; ++i) {
    for (SchedulerVariant& variant : variants) variant.runs.push_back(variant.execute(task, jobs));
  }
  const Sharing sharing = measure_sharing(task, settings.runs);
  const std::vector<Stall> stalls = measure_stalls(task, settings.runs);
  bool same = true;
  for (const SchedulerVariant& variant : variants) {
    for (const BatchRun& run : variant.runs) same = same && run.answers == variants[0].runs[0].answers;
  }
  if (settings.json) {
    write_out(json_line(to_json(settings, task, variants, tokens, sharing, stalls, same)) + "\n");
  } else {
    print_tables(settings, task, variants, tokens, sharing, stalls);
    if (same) std::printf("All schedulers gave the same tokens.\n");
    write_out("");
  }
  if (!same) throw std::runtime_error("the schedulers gave different tokens");
  return 0;
}

}  // namespace gpt2ie_example

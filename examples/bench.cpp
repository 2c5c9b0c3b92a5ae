// SPDX-License-Identifier: MIT
/// gpt2ie-bench: tokens per second of prompts, streams and batches, beside what the machine allows.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/gpt2ie.hpp>

#include "bench/machine.hpp"
#include "support/json.hpp"
#include "support/model.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string model, synthetic;
  std::vector<std::string> precisions = {"float", "bf16", "int8", "int4"}, tests = {"prefill", "decode", "batch"};
  std::vector<int> threads, prompts, batches = {1, 4, 8, 16};
  int new_tokens = 32, runs = 5;
  bool json = false;
};

void add_options(CLI::App& app, Settings& settings) {
  auto* model = add_model_option(app, settings.model);
  app.add_option("--synthetic", settings.synthetic, "real sizes on made-up weights: no files needed")
      ->check(CLI::IsMember({"124m", "355m", "774m", "1558m"}))
      ->type_name("SIZE")
      ->excludes(model);
  app.add_option("--precision", settings.precisions, "of the weights, one or more")
      ->delimiter(',')
      ->check(CLI::IsMember({"float", "bf16", "f16", "int8", "int4"}))
      ->capture_default_str();
  app.add_option("--test", settings.tests,
                 "prefill: a prompt; decode: one stream after a prompt; batch: streams that share each step")
      ->delimiter(',')
      ->check(CLI::IsMember({"prefill", "decode", "batch"}))
      ->capture_default_str();
  app.add_option("--threads", settings.threads, "one or more; default: one for each processor")
      ->delimiter(',')
      ->transform(whole_number(1, 1024));
  app.add_option("--prompt", settings.prompts,
                 "tokens before what is measured; default: 128,512,1024 for prefill, 5,512,900 for decode, 5 for batch")
      ->delimiter(',')
      ->transform(whole_number(1));
  app.add_option("--batch", settings.batches, "streams in a batch, one or more")
      ->delimiter(',')
      ->transform(whole_number(1, 256))
      ->capture_default_str();
  app.add_option("--max-new-tokens", settings.new_tokens, "tokens that a stream decodes in a run")
      ->transform(whole_number(1))
      ->capture_default_str();
  app.add_option("--runs", settings.runs, "times to run each test, all tests in turns; the median counts")
      ->transform(whole_number(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", settings.json, "print one JSON array instead of a table");
}

/// One line of the table.
struct Row {
  std::string test, precision;
  int threads, prompt, batch;
  double floor;                    ///< tokens per second that the machine allows
  std::vector<double> rates = {};  ///< tokens per second, one a run

  [[nodiscard]] double quantile(double q) const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
};

/// Weights that a token goes through: all but the position table, and the embeddings only as the head.
std::size_t weights_of(const ModelConfig& config) {
  const auto embd = static_cast<std::size_t>(config.n_embd), inner = static_cast<std::size_t>(config.n_inner);
  return static_cast<std::size_t>(config.n_layer) * (4 * embd * embd + 2 * embd * inner) +
         embd * static_cast<std::size_t>(config.vocab);
}

/// Bytes of K and V that a token at this position reads.
double cache_bytes(const ModelConfig& config, double context) {
  return 2.0 * config.n_layer * config.n_embd * sizeof(float) * context;
}

/// The machine's limit: the weights are read once a step, K and V once a stream, and each weight is multiplied once a
/// row; the slower of reading and multiplying counts.
template <class W>
double floor_of(const Row& row, const ModelConfig& config, const MachineLimits& machine, int new_tokens) {
  // Integers come with scales.
  using Matrix = typename backend::SimdCpu<W>::matrix;
  constexpr double weight_bytes =
      static_cast<double>(Matrix::elements(32, 16) * sizeof(typename Matrix::element)) / (32 * 16);
  const double operations = GroupedElement<W> ? machine.byte_operations_per_second : machine.operations_per_second;
  const auto weights = static_cast<double>(weights_of(config));
  const bool prefill = row.test == "prefill";
  const double rows = prefill ? row.prompt : row.batch, context = prefill ? 0 : row.prompt + new_tokens / 2.0;
  // A prompt goes through the head with its last row alone.
  const double head = static_cast<double>(config.n_embd) * config.vocab;
  const double products = prefill ? rows * (weights - head) + head : rows * weights;
  const double reading = weights * weight_bytes + rows * cache_bytes(config, context);
  return rows / std::max(reading / machine.bytes_per_second, 2 * products / operations);
}

/// A model of one precision with one number of threads, and the tests that it runs.
template <class W>
class Bench {
 public:
  using Cpu = backend::SimdCpu<W>;
  using AnyExecutor = Executor<Cpu, attention::Flash<64, 64>, kv::Paged<float, 16>>;

  Bench(std::shared_ptr<const Weights<Cpu>> weights, int threads) : weights_(std::move(weights)), threads_(threads) {}

  /// Tokens per second of one run.
  double run(const Row& row, int new_tokens) {
    const bool prefill = row.test == "prefill";
    const int streams = row.batch, length = row.prompt + (prefill ? 0 : new_tokens);
    AnyExecutor executor(Cpu(threads_), weights_,
                         complete_limits({.max_sequences = streams,
                                          .max_rows = std::max(256, streams),
                                          .max_logit_rows = streams,
                                          .max_length = length},
                                         weights_->config()));
    const int vocab = weights_->config().vocab;
    warm_up(executor, row.prompt);
    std::vector<std::vector<Token>> tokens(static_cast<std::size_t>(streams));
    std::vector<OpenSequence<typename AnyExecutor::book_type>> sequences;
    Step step;
    double seconds = 0;
    for (int i = 0; i < streams; ++i) {
      std::vector<Token>& mine = tokens[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < row.prompt; ++j) {
        mine.push_back(static_cast<Token>((j * 7919 + i * 104729 + 13) % vocab));
      }
      sequences.emplace_back(executor.book(), std::span<const Token>());
      const Clock::time_point start = Clock::now();
      run_tokens(executor, sequences.back(), mine, 256, false, step,
                 [&](int /*position*/, std::span<const float> row_) { mine.push_back(best(row_)); });
      seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
    if (prefill) return row.prompt * streams / seconds;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < new_tokens; ++i) decode(executor, sequences, tokens, step);
    return streams * new_tokens / std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  static Token best(std::span<const float> logits) {
    return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  /// A prompt beforehand touches all memory once, which the system clears at first touch.
  static void warm_up(AnyExecutor& executor, int length) {
    const OpenSequence<typename AnyExecutor::book_type> sequence(executor.book(), std::span<const Token>());
    std::vector<Token> tokens(static_cast<std::size_t>(length), Token{1});
    Step step;
    run_tokens(executor, sequence, tokens, 256, false, step, [](int /*position*/, std::span<const float> /*row*/) {});
  }

  /// One token for every stream, in one step.
  template <class Sequences>
  static void decode(AnyExecutor& executor, const Sequences& sequences, std::vector<std::vector<Token>>& tokens,
                     Step& step) {
    step.clear();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const int position = sequences[i].length();
      const int row = static_cast<int>(i);
      step.runs.push_back({.seq = sequences[i].id(), .first = position, .count = 1, .row = row});
      step.tokens.push_back(tokens[i].back());
      step.positions.push_back(position);
      step.logit_rows.push_back(row);
    }
    if (!executor.book().reserve(step.runs)) fail(errc::no_fit, "room for one more token of each stream", "none");
    Reservation reservation(executor.book());
    const std::span<const float> logits = executor.run(step);
    reservation.commit(step);
    const std::size_t vocab = logits.size() / tokens.size();
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i].push_back(best(logits.subspan(i * vocab, vocab)));
  }

  std::shared_ptr<const Weights<Cpu>> weights_;
  int threads_;
};

std::vector<Row> rows_of(const Settings& settings, const ModelConfig& config, const std::string& precision,
                         int threads) {
  std::vector<Row> rows;
  const auto has = [&](const char* test) {
    return std::find(settings.tests.begin(), settings.tests.end(), test) != settings.tests.end();
  };
  const auto add = [&](const char* test, const std::vector<int>& defaults, const std::vector<int>& batches) {
    if (!has(test)) return;
    for (const int prompt : settings.prompts.empty() ? defaults : settings.prompts) {
      const int length = prompt + (std::string(test) == "prefill" ? 0 : settings.new_tokens);
      if (length > config.n_positions && settings.prompts.empty()) continue;
      if (length > config.n_positions) {
        fail(errc::bad_request, "prompts that fit in n_positions = " + std::to_string(config.n_positions),
             std::to_string(length) + " tokens with what is decoded");
      }
      for (const int batch : batches) {
        rows.push_back(
            {.test = test, .precision = precision, .threads = threads, .prompt = prompt, .batch = batch, .floor = 0});
      }
    }
  };
  add("prefill", {128, 512, 1024}, {1});
  add("decode", {5, 512, 900}, {1});
  add("batch", {5}, settings.batches);
  return rows;
}

template <class W>
void run_precision(const Settings& settings, const Checkpoint& checkpoint, const std::string& precision,
                   const std::vector<std::pair<int, MachineLimits>>& machines, std::vector<Row>& table) {
  using Cpu = backend::SimdCpu<W>;
  Cpu cpu(0);
  const std::shared_ptr<const Weights<Cpu>> weights = load_weights(cpu, checkpoint);
  for (const auto& [threads, machine] : machines) {
    std::vector<Row> rows = rows_of(settings, checkpoint.config(), precision, threads);
    Bench<W> bench(weights, threads);
    for (int i = 0; i < settings.runs; ++i) {
      for (Row& row : rows) row.rates.push_back(bench.run(row, settings.new_tokens));
    }
    for (Row& row : rows) {
      row.floor = floor_of<W>(row, checkpoint.config(), machine, settings.new_tokens);
      table.push_back(std::move(row));
    }
  }
}

void print_table(const Settings& settings, const std::vector<Row>& table,
                 const std::vector<std::pair<int, MachineLimits>>& machines) {
  std::printf("%s; kernels: %s; median of %d, and the spread from the lowest quarter to the highest\n",
              settings.synthetic.empty() ? settings.model.c_str() : ("synthetic " + settings.synthetic).c_str(),
              std::string(isa_name(best_isa())).c_str(), settings.runs);
  for (const auto& [threads, machine] : machines) {
    std::printf("this machine, %d thread%s: reads %.1f GB/s, computes %.0f GFLOP/s in float, %.0f Gop/s in bytes\n",
                threads, threads == 1 ? "" : "s", machine.bytes_per_second / 1e9, machine.operations_per_second / 1e9,
                machine.byte_operations_per_second / 1e9);
  }
  std::printf("\n| test | precision | threads | prompt | batch | tokens/s | spread | floor | share |\n");
  std::printf("|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const Row& row : table) {
    const double rate = row.quantile(0.5);
    std::printf("| %s | %s | %d | %d | %d | %.1f | %.1f-%.1f | %.1f | %.2f |\n", row.test.c_str(),
                row.precision.c_str(), row.threads, row.prompt, row.batch, rate, row.quantile(0.25), row.quantile(0.75),
                row.floor, rate / row.floor);
  }
}

int bench(const Settings& settings) {
  const Checkpoint checkpoint = settings.synthetic.empty() ? load_checkpoint(checked_model_path(settings.model))
                                                           : synthetic_checkpoint(gpt2_preset(settings.synthetic));
  std::vector<std::pair<int, MachineLimits>> machines;
  std::vector<int> threads = settings.threads;
  if (threads.empty()) threads.push_back(backend::SimdCpu<float>(0).threads());
  for (const int n : threads) machines.emplace_back(n, measure_machine(n));
  std::vector<Row> table;
  for (const std::string& precision : settings.precisions) {
    if (precision == "float") run_precision<float>(settings, checkpoint, precision, machines, table);
    if (precision == "bf16") run_precision<bf16>(settings, checkpoint, precision, machines, table);
    if (precision == "f16") run_precision<f16>(settings, checkpoint, precision, machines, table);
    if (precision == "int8") run_precision<int8>(settings, checkpoint, precision, machines, table);
    if (precision == "int4") run_precision<int4>(settings, checkpoint, precision, machines, table);
  }
  if (!settings.json) {
    print_table(settings, table, machines);
    write_out("");
    return 0;
  }
  Json rows = Json::array();
  for (const Row& row : table) {
    rows.push_back({{"test", row.test},
                    {"precision", row.precision},
                    {"threads", row.threads},
                    {"prompt", row.prompt},
                    {"batch", row.batch},
                    {"tokens_per_s", row.quantile(0.5)},
                    {"floor_tokens_per_s", row.floor}});
  }
  write_out(json_line(rows) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures tokens per second: reading prompts, decoding one stream, and batches of streams; beside the floor that "
      "the\nmachine's measured bandwidth and speed allow.",
      "gpt2ie-bench");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] { return bench(settings); });
}

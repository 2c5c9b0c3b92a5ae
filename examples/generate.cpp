// SPDX-License-Identifier: MIT
/// gpt2ie-generate: continues a text.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>

#include <gpt2ie/gpt2ie.hpp>

#include "support/json.hpp"
#include "support/model.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

struct Settings {
  std::string model, prompt, variant = "flash", backend = "simd", precision;
  GenerateOptions options;
  int threads = 0;
  bool greedy = false, json = false, quiet = false;
};

void add_options(CLI::App& app, Settings& settings) {
  GenerateOptions& options = settings.options;
  const CLI::Validator share = number("0 to 1", [](double value) { return value >= 0 && value <= 1; });
  add_model_option(app, settings.model);
  app.add_option("--prompt", settings.prompt, "the text to continue, any bytes; empty: begin a new text")->required();
  app.add_option("--max-new-tokens", options.max_new_tokens, "tokens to generate at most")
      ->transform(whole_number(0))
      ->capture_default_str();
  auto* temperature = app.add_option("--temperature", options.temperature, "logits are divided by it; 0: greedy")
                          ->check(number("0 or more", [](double value) { return value >= 0; }))
                          ->capture_default_str();
  app.add_option("--top-k", options.top_k, "draw from the K likeliest tokens; 0 or -1: from all")
      ->transform(whole_number(-1))
      ->capture_default_str();
  app.add_option("--top-p", options.top_p, "draw from the fewest tokens that hold this probability; 1: from all")
      ->check(share)
      ->capture_default_str();
  app.add_option("--min-p", options.min_p, "drop tokens below this share of the likeliest one's probability")
      ->check(share)
      ->capture_default_str();
  app.add_option("--repetition-penalty", options.repetition_penalty, "above 1: tokens already there get less likely")
      ->check(number("above 0", [](double value) { return value > 0; }))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "gives the same text again; without it every run differs")
      ->transform(whole_number<std::uint64_t>(0));
  app.add_flag("--greedy", settings.greedy, "take the likeliest token each time: temperature 0")->excludes(temperature);
  app.add_option_function<std::string>(
         "--stop", [&options](const std::string& text) { options.stop.push_back(text); },
         "end before this text; may be repeated")
      ->trigger_on_parse();
  app.add_option("--variant", settings.variant,
                 "how attention is computed: naive (all anew for each token), cached (K and V concatenated), paged, "
                 "flash (paged, without a matrix of scores)")
      ->check(CLI::IsMember({"naive", "cached", "paged", "flash"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_backend_option(app, settings.backend);
  add_precision_option(app, settings.precision);
  add_threads_option(app, settings.threads);
  app.add_flag("--json", settings.json, "print one JSON object instead of the text");
  app.add_flag("-q,--quiet", settings.quiet, "no line on stderr about the speed");
}

Json to_json(const Settings& settings, const GenerateResult& result) {
  return {{"prompt", settings.prompt},
          {"text", result.text},
          {"tokens", result.tokens},
          {"token_logprobs", result.token_logprobs},
          {"finish_reason", finish_reason_name(result.finish_reason)},
          {"stop", result.stop ? Json(*result.stop) : Json()},
          {"seed", result.seed},
          {"usage", {{"prompt_tokens", result.prompt_tokens}, {"completion_tokens", result.tokens.size()}}},
          {"timings",
           {{"first_token_seconds", result.timings.first_token},
            {"decode_seconds", result.timings.decode},
            {"decode_tokens_per_second", result.timings.decode_rate(result.tokens.size())}}}};
}

/// The prompt and its continuation go to stdout as they come.
template <class Generator>
GenerateResult print_text(Generator& generator, const Settings& settings) {
  auto pieces = generator.stream(settings.prompt, settings.options);
  write_out(settings.prompt);
  for (const std::string_view piece : pieces) write_out(piece);
  write_out("\n");
  return pieces.result();
}

void report_speed(const GenerateResult& result) {
  std::fprintf(stderr, "first token after %.1f ms, decode %.1f tokens/s (tokens: %zu prompt, %zu new; seed %llu)\n",
               result.timings.first_token * 1e3, result.timings.decode_rate(result.tokens.size()), result.prompt_tokens,
               result.tokens.size(), static_cast<unsigned long long>(result.seed));
}

template <class Generator>
int generate(const Settings& settings, const Checkpoint& checkpoint, typename Generator::backend_type backend) {
  auto tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(checkpoint.folder()));
  auto weights = load_weights(backend, checkpoint);
  Generator generator(std::move(weights), std::move(tokenizer), std::move(backend));
  if (settings.json) {
    write_out(json_line(to_json(settings, generator.generate(settings.prompt, settings.options))) + "\n");
    return 0;
  }
  const GenerateResult result = print_text(generator, settings);
  if (!settings.quiet && !result.tokens.empty()) report_speed(result);
  return 0;
}

/// The four variants on one backend. The choice is made at compile time, so here are all that the program offers.
template <class Backend>
int generate_on(const Settings& settings, const Checkpoint& checkpoint, Backend backend) {
  using Standard = Attention<attention::Standard>;
  using Flash = Attention<attention::Flash<64, 64>>;
  using Pages = KVCache<kv::Paged<float, 16>>;
  if constexpr (std::is_same_v<typename Backend::weight_type, float>) {
    using NoCache = KVCache<kv::NoCache>;
    using Concat = KVCache<kv::Concat<float>>;
    if (settings.variant == "naive") {
      return generate<Generator<Backend, Standard, NoCache>>(settings, checkpoint, std::move(backend));
    }
    if (settings.variant == "cached") {
      return generate<Generator<Backend, Standard, Concat>>(settings, checkpoint, std::move(backend));
    }
    if (settings.variant == "paged") {
      return generate<Generator<Backend, Standard, Pages>>(settings, checkpoint, std::move(backend));
    }
  } else if (settings.variant != "flash") {
    fail(errc::bad_request, "--variant flash with weights in " + std::string(Backend::packed_name), settings.variant);
  }
  return generate<Generator<Backend, Flash, Pages>>(settings, checkpoint, std::move(backend));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Continues a text with a GPT-2 model.", "gpt2ie-generate");
  Settings settings;
  add_options(app, settings);
  return run_program(app, argc, argv, [&] {
    if (settings.greedy) settings.options.temperature = 0;
    validate(settings.options, std::numeric_limits<int>::max());
    const Checkpoint checkpoint = load_checkpoint(checked_model_path(settings.model));
    return with_backend(settings.backend, chosen_precision(settings.precision, checkpoint), settings.threads,
                        [&](auto backend) { return generate_on(settings, checkpoint, std::move(backend)); });
  });
}

// SPDX-License-Identifier: MIT
/// Encoding and decoding a megabyte with the vocabulary of the bundled model, one thread.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <gpt2ie/tokenizer/load_tokenizer.hpp>

namespace {

const gpt2ie::Tokenizer& tokenizer() {
  static const gpt2ie::Tokenizer loaded = gpt2ie::load_tokenizer(GPT2IE_MODELS_DIR "/fairytale-6m");
  return loaded;
}

std::string megabyte_of(std::string_view piece) {
  std::string text;
  while (text.size() < 1000000) text += piece;
  return text;
}

std::string prose() {
  return megabyte_of(
      "Once upon a time, in a house at the edge of the wood, there lived a miller's daughter who couldn't count past "
      "seven. \"What comes after?\" she asked the raven. \"Eight,\" it said, \"and 1,024 more.\" So she packed a loaf, "
      "three apples and her grandmother's lantern, and went to see for herself.\n\nThe road was long; it rained on "
      "Tuesday and on Wednesday too, and by the end of the week she had met 12 foxes, a tailor, and the king's own "
      "cook, who was looking for salt.\n");
}

void encode(benchmark::State& state, const std::string& text) {
  if (tokenizer().decode(tokenizer().encode(text)) != text) {
    state.SkipWithError("the text does not come back");
    return;
  }
  std::vector<gpt2ie::Token> ids;
  for (auto _ : state) {
    ids.clear();
    tokenizer().encode_to(text, ids);
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(ids.size());
}

void decode(benchmark::State& state, const std::string& text) {
  const std::vector<gpt2ie::Token> ids = tokenizer().encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer().decode(ids));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK_CAPTURE(encode, prose, prose())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, one_letter, megabyte_of("a"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, underscores, megabyte_of("_"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, han, megabyte_of("的"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, prose, prose())->Unit(benchmark::kMillisecond);

}  // namespace

// SPDX-License-Identifier: MIT
/// Generates with a storage and an attention policy of the program's own, and holds both against the shipped ones.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <gpt2ie/gpt2ie.hpp>

#include "chunked.hpp"
#include "two_pass.hpp"

using namespace gpt2ie;

using Mine = Generator<Attention<my::TwoPass>, KVCache<my::Chunked<float, 5>>>;
using Shipped = Generator<Attention<attention::Standard>, KVCache<kv::Contiguous<float>>>;

/// The logits after each token, in steps of `rows` rows.
template <class AnyGenerator>
std::vector<float> logits(const Shipped& like, const std::vector<Token>& tokens, int rows) {
  AnyGenerator generator(like.weights(), like.tokenizer(), backend::SimdCpu<float>(),
                         {.max_rows = rows, .max_logit_rows = rows});
  std::vector<float> all;
  for_each_logits(generator.executor(), tokens,
                  [&](int /*position*/, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  return all;
}

int main() {
  Shipped shipped(load_checkpoint("examples/models/fairytale-1m"));
  Mine mine(shipped.weights(), shipped.tokenizer());

  const std::string prompt = "Once upon a time there was a king";
  const GenerateOptions options{.max_new_tokens = 60, .temperature = 0.8f, .top_k = 40, .seed = 7};
  const GenerateResult result = mine.generate(prompt, options);
  std::printf("%s%s\n", prompt.c_str(), result.text.c_str());

  // A little of what tests/contract asks: the same answer to the bit, whatever the storage, its tiles and the chunks.
  bool same = result.tokens == shipped.generate(prompt, options).tokens;
  const std::vector<Token> tokens = shipped.tokenizer()->encode(prompt + result.text);
  const std::vector<float> expected = logits<Shipped>(shipped, tokens, 64);
  for (const int rows : {1, 7, 64}) same = same && logits<Mine>(shipped, tokens, rows) == expected;
  std::puts(same ? "the same, to the bit, as the shipped policies" : "not what the shipped policies give");
  return same ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/// Weights in a backend's form: where each tensor goes, the head, progress.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/model/weights.hpp>

#include "support/random_checkpoint.hpp"

namespace {

using Backend = gpt2ie::backend::SimdCpu<float>;
using Weights = gpt2ie::Weights<Backend>;

std::vector<float> values(const gpt2ie::Checkpoint& checkpoint, const std::string& key) {
  const gpt2ie::Tensor tensor = checkpoint.tensor(key);
  std::vector<float> all(tensor.size());
  gpt2ie::read_floats(tensor, 0, all.size(), all.data());
  return all;
}

/// Whether a packed matrix holds the values of a tensor [in, out], or [out, in].
bool holds(const Backend::matrix& matrix, const std::vector<float>& tensor, bool out_major) {
  bool same = tensor.size() == static_cast<std::size_t>(matrix.in()) * static_cast<std::size_t>(matrix.out());
  for (int j = 0; same && j < matrix.out(); ++j) {
    matrix.for_column(j, [&](int k, float x) {
      const int at = out_major ? j * matrix.in() + k : k * matrix.out() + j;
      same = same && x == tensor[static_cast<std::size_t>(at)];
    });
  }
  return same;
}

template <class Buffer>
bool holds(const Buffer& buffer, const std::vector<float>& tensor) {
  return std::vector<float>(buffer.data(), buffer.data() + buffer.size()) == tensor;
}

}  // namespace

TEST_CASE("every tensor of the checkpoint is where its name says") {
  const auto checkpoint = gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(2, 5, 12));
  Backend backend(1);
  const Weights weights(backend, checkpoint);
  CHECK(weights.config().n_embd == 10);
  CHECK(holds(weights.wte(), values(checkpoint, "wte.weight"), true));
  CHECK(holds(weights.wpe(), values(checkpoint, "wpe.weight"), true));
  CHECK(&weights.head() == &weights.wte());
  CHECK(holds(weights.ln_f().weight, values(checkpoint, "ln_f.weight")));
  CHECK(holds(weights.ln_f().bias, values(checkpoint, "ln_f.bias")));
  for (int i = 0; i < 2; ++i) {
    const auto& layer = weights.layer(i);
    const std::string h = "h." + std::to_string(i) + ".";
    CHECK(holds(layer.ln_1.weight, values(checkpoint, h + "ln_1.weight")));
    CHECK(holds(layer.ln_2.bias, values(checkpoint, h + "ln_2.bias")));
    CHECK(holds(layer.c_attn.matrix, values(checkpoint, h + "attn.c_attn.weight"), false));
    CHECK(holds(layer.c_attn.bias, values(checkpoint, h + "attn.c_attn.bias")));
    CHECK(holds(layer.c_proj.matrix, values(checkpoint, h + "attn.c_proj.weight"), false));
    CHECK(holds(layer.mlp_fc.matrix, values(checkpoint, h + "mlp.c_fc.weight"), false));
    CHECK(holds(layer.mlp_proj.matrix, values(checkpoint, h + "mlp.c_proj.weight"), false));
    CHECK(holds(layer.mlp_proj.bias, values(checkpoint, h + "mlp.c_proj.bias")));
  }
}

TEST_CASE("C-3: a checkpoint's own head is used") {
  gpt2ie::ModelConfig config = gpt2ie_test::small_config(1, 4, 8);
  config.tie_word_embeddings = false;
  auto tensors = gpt2ie_test::random_tensors(config);
  tensors.push_back(gpt2ie::float_tensor("lm_head.weight", {config.vocab, 4}, gpt2ie_test::random_floats(404, 1, 99)));
  const auto checkpoint = gpt2ie_test::checkpoint_of(config, std::move(tensors));
  Backend backend(1);
  const Weights weights(backend, checkpoint);
  CHECK(&weights.head() != &weights.wte());
  CHECK(holds(weights.head(), values(checkpoint, "lm_head.weight"), true));
}

TEST_CASE("progress rises to the checkpoint's bytes") {
  const auto checkpoint = gpt2ie_test::random_checkpoint(gpt2ie_test::small_config(1, 4, 8));
  Backend backend(1);
  std::uint64_t last = 0;
  int calls = 0;
  bool rising = true;
  const Weights weights(backend, checkpoint, [&](std::uint64_t done, std::uint64_t total) {
    rising = rising && done > last && total == checkpoint.tensor_bytes();
    last = done;
    ++calls;
  });
  CHECK(rising);
  CHECK(last == checkpoint.tensor_bytes());
  CHECK(calls == 2 + 2 * 12 + 2);
}

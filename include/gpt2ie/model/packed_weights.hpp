// SPDX-License-Identifier: MIT
/// Weights packed ahead of time: a safetensors file whose matrices lie as backend::SimdCpu keeps them, so that a
/// program maps them and reads only what it uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/io/hugging_face_folder.hpp>
#include <gpt2ie/io/safetensors_writer.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/model/weights.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

namespace detail {

/// The tensors of a model in backend::SimdCpu<W>'s layout. They stand on the weights' memory.
template <class W>
class PackedTensors {
 public:
  explicit PackedTensors(const Weights<backend::SimdCpu<W>>& weights) {
    add("wte.weight", weights.wte());
    add("wpe.weight", weights.wpe());
    for (int i = 0; i < weights.config().n_layer; ++i) {
      const std::string h = "h." + std::to_string(i) + ".";
      const auto& layer = weights.layer(i);
      add(h + "ln_1", layer.ln_1);
      add(h + "ln_2", layer.ln_2);
      add(h + "attn.c_attn", layer.c_attn);
      add(h + "attn.c_proj", layer.c_proj);
      add(h + "mlp.c_fc", layer.mlp_fc);
      add(h + "mlp.c_proj", layer.mlp_proj);
    }
    add("ln_f", weights.ln_f());
    if (&weights.head() != &weights.wte()) add("lm_head.weight", weights.head());
  }

  [[nodiscard]] std::span<const Tensor> tensors() const { return tensors_; }

 private:
  using Cpu = backend::SimdCpu<W>;

  void add(const std::string& key, const typename Cpu::matrix& matrix) {
    const auto bytes = std::as_bytes(std::span(matrix.data(), Cpu::matrix::elements(matrix.in(), matrix.out())));
    tensors_.push_back({.name = key,
                        .dtype = DType::u8,
                        .shape = {static_cast<std::int64_t>(bytes.size())},
                        .bytes = bytes,
                        .keep_alive = nullptr});
  }
  void add(const std::string& key, const HostBuffer<float>& vector) {
    const auto bytes = std::as_bytes(std::span(vector.data(), vector.size()));
    tensors_.push_back({.name = key,
                        .dtype = DType::f32,
                        .shape = {static_cast<std::int64_t>(vector.size())},
                        .bytes = bytes,
                        .keep_alive = nullptr});
  }
  void add(const std::string& name, const NormWeights<Cpu>& norm) {
    add(name + ".weight", norm.weight);
    add(name + ".bias", norm.bias);
  }
  void add(const std::string& name, const LinearWeights<Cpu>& linear) {
    add(name + ".weight", linear.matrix);
    add(name + ".bias", linear.bias);
  }

  std::vector<Tensor> tensors_;
};

}  // namespace detail

/// Writes the weights to a safetensors file that load_checkpoint takes as model.safetensors of a folder, beside the
/// model's config.json. The layout is the same for every instruction set. Errors: those of write_safetensors.
template <class W>
void write_packed_weights(const std::filesystem::path& path, const Weights<backend::SimdCpu<W>>& weights) {
  const detail::PackedTensors<W> packed(weights);
  write_safetensors(path, packed.tensors(),
                    {{std::string(detail::packed_layout_key), std::string(detail::packed_layout)},
                     {std::string(detail::packed_precision_key), std::string(weight_name<W>)}});
}

}  // namespace gpt2ie::inline GPT2IE_ABI

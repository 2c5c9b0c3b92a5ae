// SPDX-License-Identifier: MIT
/// The weights of one GPT-2 in a backend's own form: immutable, shared by any number of generators and engines.
///
/// Legend: E = n_embd, I = n_inner, P = n_positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/tensor.hpp>
#include <gpt2ie/kv_cache/slab.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Called while weights load with the bytes done and the bytes in all; on the loading thread.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// A layer norm's scale and shift, [E] each.
template <Backend B>
struct NormWeights {
  buffer_of<B, float> weight, bias;
};

/// y = x W + bias.
template <Backend B>
struct LinearWeights {
  typename B::matrix matrix;
  buffer_of<B, float> bias;
};

/// One transformer layer.
template <Backend B>
struct LayerWeights {
  NormWeights<B> ln_1, ln_2;
  LinearWeights<B> c_attn;    ///< [E, 3E]: queries, keys, values
  LinearWeights<B> c_proj;    ///< [E, E]
  LinearWeights<B> mlp_fc;    ///< [E, I]
  LinearWeights<B> mlp_proj;  ///< [I, E]
};

namespace detail {

/// Turns the tensors of a checkpoint into a backend's form, one at a time.
template <Backend B>
class WeightLoader {
 public:
  WeightLoader(B& backend, const Checkpoint& checkpoint, const LoadProgress& progress)
      : backend_(backend), checkpoint_(checkpoint), progress_(progress) {}

  buffer_of<B, float> vector(const std::string& key) {
    const Tensor tensor = checkpoint_.tensor(key);
    std::vector<float> values(tensor.size());
    read_floats(tensor, 0, values.size(), values.data());
    auto buffer = backend_.template allocate<float>(values.size());
    backend_.upload(buffer.data(), values.data(), values.size());
    backend_.wait();  // the source goes with this call
    report(tensor);
    return buffer;
  }

  NormWeights<B> norm(const std::string& name) { return {vector(name + ".weight"), vector(name + ".bias")}; }

  /// Conv1D: [in, out].
  LinearWeights<B> linear(const std::string& name, int in, int out) {
    return {matrix(name + ".weight", in, out, false), vector(name + ".bias")};
  }

  /// Embeddings and heads: [out, in].
  typename B::matrix table(const std::string& key, int in, int out) { return matrix(key, in, out, true); }

 private:
  typename B::matrix matrix(const std::string& key, int in, int out, bool out_major) {
    const Tensor tensor = checkpoint_.tensor(key);
    if (!checkpoint_.packed_precision().empty()) return adopt(tensor, in, out);
    const auto width = static_cast<std::size_t>(out_major ? in : out);
    auto packed = backend_.pack({.in = in, .out = out, .out_major = out_major, .read_row = [&](int row, float* to) {
                                   read_floats(tensor, static_cast<std::size_t>(row) * width, width, to);
                                 }});
    report(tensor);
    return packed;
  }

  /// A matrix that was packed ahead of time, if it was for such a backend.
  typename B::matrix adopt(const Tensor& tensor, int in, int out) {
    if constexpr (HasPackedForm<B>) {
      if (checkpoint_.packed_precision() != B::packed_name) {
        fail(errc::unsupported, "plain weights, or weights packed in " + std::string(B::packed_name),
             "weights packed in " + checkpoint_.packed_precision());
      }
      auto matrix = backend_.adopt({.in = in, .out = out, .bytes = tensor.bytes, .owner = tensor.keep_alive});
      if (!matrix) {
        fail(errc::bad_shape,
             "tensor " + tensor.name + " with the bytes of a packed matrix " + std::to_string(in) + " by " +
                 std::to_string(out) + " in " + std::string(B::packed_name),
             std::to_string(tensor.bytes.size()) + " bytes");
      }
      report(tensor);
      return *std::move(matrix);
    } else {
      fail(errc::unsupported, "plain weights, as this backend packs its own",
           "weights packed in " + checkpoint_.packed_precision() + " for backend::SimdCpu");
    }
  }

  void report(const Tensor& tensor) {
    done_ += tensor.bytes.size();
    if (progress_) progress_(done_, checkpoint_.tensor_bytes());
  }

  B& backend_;
  const Checkpoint& checkpoint_;
  const LoadProgress& progress_;
  std::uint64_t done_ = 0;
};

}  // namespace detail

/// All weights. Reading them is safe from any thread; they outlive the backend object that packed them.
template <Backend B>
class Weights {
 public:
  /// Reads, converts and packs every tensor of the checkpoint, one at a time. Matrices that were packed ahead of time
  /// are used where the file is mapped. Errors: those of reading the checkpoint; unsupported for weights packed in
  /// another precision, or for another backend.
  Weights(B& backend, const Checkpoint& checkpoint, const LoadProgress& progress = {}) : config_(checkpoint.config()) {
    detail::WeightLoader<B> loader(backend, checkpoint, progress);
    const int embd = config_.n_embd, inner = config_.n_inner;
    wte_ = loader.table("wte.weight", embd, config_.vocab);
    wpe_ = loader.table("wpe.weight", embd, config_.n_positions);
    layers_.reserve(static_cast<std::size_t>(config_.n_layer));
    for (int i = 0; i < config_.n_layer; ++i) {
      const std::string h = "h." + std::to_string(i) + ".";
      layers_.push_back({.ln_1 = loader.norm(h + "ln_1"),
                         .ln_2 = loader.norm(h + "ln_2"),
                         .c_attn = loader.linear(h + "attn.c_attn", embd, 3 * embd),
                         .c_proj = loader.linear(h + "attn.c_proj", embd, embd),
                         .mlp_fc = loader.linear(h + "mlp.c_fc", embd, inner),
                         .mlp_proj = loader.linear(h + "mlp.c_proj", inner, embd)});
    }
    ln_f_ = loader.norm("ln_f");
    own_head_ = checkpoint.has_own_head();
    if (own_head_) head_ = loader.table("lm_head.weight", embd, config_.vocab);
    backend.wait();
  }

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  /// Embeddings as a product [E, vocab]: column t is token t's.
  [[nodiscard]] const typename B::matrix& wte() const { return wte_; }
  /// Positions as a product [E, P].
  [[nodiscard]] const typename B::matrix& wpe() const { return wpe_; }
  [[nodiscard]] const LayerWeights<B>& layer(int i) const { return layers_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const NormWeights<B>& ln_f() const { return ln_f_; }
  /// [E, vocab]: the checkpoint's own head, else the embeddings.
  [[nodiscard]] const typename B::matrix& head() const { return own_head_ ? head_ : wte_; }

 private:
  ModelConfig config_;
  typename B::matrix wte_, wpe_, head_;
  std::vector<LayerWeights<B>> layers_;
  NormWeights<B> ln_f_;
  bool own_head_ = false;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

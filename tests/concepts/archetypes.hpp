// SPDX-License-Identifier: MIT
/// The least that each concept asks for, and nothing else: what the templates use beyond it does not compile.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/sampling/concepts.hpp>
#include <gpt2ie/scheduler/concepts.hpp>

namespace archetype {

/// An owning array: default constructible, movable, data() and size().
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(new T[size]), size_(size) {}
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

/// Plain loops, in one thread.
class Backend {
 public:
  using space = gpt2ie::host_space;
  using weight_type = float;
  static constexpr bool row_invariant = true;

  struct matrix {
    Buffer<float> values;  // [in, out]
    int in = 0, out = 0;
  };

  explicit Backend(int /*anything*/) {}
  Backend(Backend&&) = default;
  Backend& operator=(Backend&&) = delete;

  template <class T>
  Buffer<T> allocate(std::size_t n) {
    return Buffer<T>(n);
  }
  template <class T>
  void upload(T* to, const T* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
  template <class T>
  void download(T* to, const T* from, std::size_t n) {
    upload(to, from, n);
  }
  template <class T>
  void copy(T* to, const T* from, std::size_t n) {
    upload(to, from, n);
  }

  template <class Kernel>
  void launch(int count, std::size_t /*cost*/, Kernel kernel) {
    for (int i = 0; i < count; ++i) kernel(i);
  }
  void wait() {}
  void all_reduce(float* /*x*/, std::size_t /*n*/) {}
  [[nodiscard]] bool leads() const { return true; }

  void reserve(int /*rows*/, int /*elements*/) {}
  matrix pack(const gpt2ie::MatrixSource& source) {
    const auto in = static_cast<std::size_t>(source.in), out = static_cast<std::size_t>(source.out);
    matrix packed{Buffer<float>(in * out), source.in, source.out};
    std::vector<float> row(source.out_major ? in : out);
    for (std::size_t i = 0; i < (source.out_major ? out : in); ++i) {
      source.read_row(static_cast<int>(i), row.data());
      for (std::size_t j = 0; j < row.size(); ++j) {
        packed.values.data()[source.out_major ? j * out + i : i * out + j] = row[j];
      }
    }
    return packed;
  }

  void linear(const matrix& w, const float* x, int rows, float* y, const gpt2ie::Epilogue& epilogue) {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < w.out; ++c) {
        float sum = epilogue.bias != nullptr ? epilogue.bias[c] : 0.0f;
        for (int k = 0; k < w.in; ++k) sum += x[r * w.in + k] * w.values.data()[k * w.out + c];
        if (epilogue.activation == gpt2ie::Activation::gelu_tanh) {
          sum *= 0.5f * (1 + std::tanh(0.797884561f * (sum + 0.044715f * sum * sum * sum)));
        }
        y[r * w.out + c] = sum + (epilogue.residual != nullptr ? epilogue.residual[r * w.out + c] : 0.0f);
      }
    }
  }

  void embed(const matrix& wte, const matrix& wpe, const gpt2ie::Token* tokens, const int* positions, int rows,
             float* y) {
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < wte.in; ++k) {
        y[r * wte.in + k] = wte.values.data()[k * wte.out + tokens[r]] + wpe.values.data()[k * wpe.out + positions[r]];
      }
    }
  }

  void layer_norm(const float* x, int rows, int n, const float* weight, const float* bias, float epsilon, float* y) {
    for (int r = 0; r < rows; ++r) {
      float mean = 0, variance = 0;
      for (int i = 0; i < n; ++i) mean += x[r * n + i] / static_cast<float>(n);
      for (int i = 0; i < n; ++i) variance += (x[r * n + i] - mean) * (x[r * n + i] - mean) / static_cast<float>(n);
      for (int i = 0; i < n; ++i) {
        y[r * n + i] = (x[r * n + i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
      }
    }
  }
};
static_assert(gpt2ie::Backend<Backend>);

/// A book of one sequence.
class Book {
 public:
  explicit Book(const gpt2ie::Limits& limits) : max_length_(limits.max_length) {}

  std::optional<gpt2ie::Opened> open(std::span<const gpt2ie::Token> /*tokens*/, std::uint64_t /*salt*/) {
    if (std::exchange(used_, true)) return std::nullopt;
    length_ = 0;
    return gpt2ie::Opened{gpt2ie::SeqId{0}, 0};
  }
  [[nodiscard]] int length(gpt2ie::SeqId /*seq*/) const { return length_; }
  void truncate(gpt2ie::SeqId /*seq*/, int n) noexcept { length_ = n < length_ ? n : length_; }
  std::optional<gpt2ie::SeqId> fork(gpt2ie::SeqId /*seq*/) { return std::nullopt; }
  void close(gpt2ie::SeqId /*seq*/) noexcept { used_ = false; }

  [[nodiscard]] int missing(std::span<const gpt2ie::Run> /*runs*/) const { return 0; }
  bool reserve(std::span<const gpt2ie::Run> /*runs*/) { return true; }
  void commit(std::span<const gpt2ie::Run> runs, std::span<const gpt2ie::Token> /*tokens*/) {
    for (const gpt2ie::Run& run : runs) length_ = run.first + run.count;
  }
  void rollback() noexcept {}
  [[nodiscard]] gpt2ie::Capacity capacity() const { return {1, used_ ? 0 : 1, max_length_}; }
  [[nodiscard]] bool fits_alone(int n) const { return n <= max_length_; }
  [[nodiscard]] int units_for(int /*tokens*/) const { return 1; }
  [[nodiscard]] std::span<const gpt2ie::Move> moves() const { return {}; }
  void settle() noexcept {}

 private:
  int max_length_, length_ = 0;
  bool used_ = false;
};
static_assert(gpt2ie::CacheBook<Book>);

/// One row a tile, layer after layer.
struct View {
  using element = float;

  gpt2ie::StepView step;
  float* rows;  // [n_layer][K, V][max_length][E]
  int max_length, n_embd, head_dim;

  [[nodiscard]] int tile_count(int run) const { return step.run_context[run]; }
  [[nodiscard]] gpt2ie::Tile<float> tile(int layer, int /*run*/, int index) const {
    return {at(2 * layer, index), at(2 * layer + 1, index), nullptr, nullptr, n_embd, head_dim, index, 1};
  }
  [[nodiscard]] gpt2ie::Place<float> place(int layer, int row) const {
    return {at(2 * layer, step.position[row]), at(2 * layer + 1, step.position[row]), nullptr, nullptr, head_dim};
  }

 private:
  [[nodiscard]] float* at(int plane, int position) const {
    return rows + (static_cast<std::ptrdiff_t>(plane) * max_length + position) * n_embd;
  }
};
static_assert(gpt2ie::CacheView<View>);

template <class B>
class Pool {
 public:
  Pool(B& backend, const gpt2ie::ModelConfig& config, const gpt2ie::Limits& limits)
      : max_length_(limits.max_length),
        n_embd_(config.n_embd),
        head_dim_(config.head_dim()),
        rows_(backend.template allocate<float>(static_cast<std::size_t>(2 * config.n_layer * max_length_ * n_embd_))) {}

  View stage(B& /*backend*/, const Book& /*book*/, const gpt2ie::Step& /*step*/, gpt2ie::StepView step) {
    return {step, rows_.data(), max_length_, n_embd_, head_dim_};
  }

 private:
  int max_length_, n_embd_, head_dim_;
  gpt2ie::buffer_of<B, float> rows_;
};

struct Storage {
  using element = float;
  using book = Book;
  template <class B>
  using pool = Pool<B>;
  static constexpr bool retains = true;
};
static_assert(gpt2ie::RetainingStorage<Storage>);

/// Reads float alone, and each key twice.
struct Policy {
  template <class T>
  static constexpr bool reads = false;

  static std::size_t scratch_floats(const gpt2ie::ModelConfig& /*config*/, const gpt2ie::Limits& /*limits*/) {
    return 0;
  }

  template <class V>
  static void row(const V& view, const gpt2ie::AttentionArgs& args, int row, int head) {
    const int run = view.step.row_run[row];
    const float* q = args.q_at(row, head);
    float* out = args.out_at(row, head);
    float largest = -INFINITY, sum = 0;
    for (int d = 0; d < args.head_dim; ++d) out[d] = 0;
    for (const bool weigh : {false, true}) {
      for (int j = 0; j < view.tile_count(run); ++j) {
        const auto tile = view.tile(args.layer, run, j);
        for (int i = 0; i < tile.count && tile.first + i <= view.step.position[row]; ++i) {
          const auto at = i * tile.row_stride + head * tile.head_stride;
          float score = 0;
          for (int d = 0; d < args.head_dim; ++d) score += q[d] * tile.k[at + d] * args.scale;
          if (!weigh) {
            largest = score > largest ? score : largest;
            continue;
          }
          const float weight = std::exp(score - largest);
          sum += weight;
          for (int d = 0; d < args.head_dim; ++d) out[d] += weight * tile.v[at + d];
        }
      }
    }
    for (int d = 0; d < args.head_dim; ++d) out[d] /= sum;
  }
};
template <>
inline constexpr bool Policy::reads<float> = true;
static_assert(gpt2ie::AttentionPolicy<Policy>);

struct Slots {
  static constexpr int count = 1;
  static constexpr bool refills = false;
};
static_assert(gpt2ie::SlotPolicy<Slots>);

/// Does nothing, for every request.
struct Processor {
  static constexpr bool shapes_greedy = true;
  static bool enabled(const gpt2ie::GenerateOptions& /*options*/) { return true; }
  void apply(gpt2ie::Candidates& /*candidates*/, const gpt2ie::SamplingContext& /*context*/) {}
};
static_assert(gpt2ie::LogitsProcessor<Processor>);

}  // namespace archetype

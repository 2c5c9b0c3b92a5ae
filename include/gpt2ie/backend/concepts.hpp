// SPDX-License-Identifier: MIT
/// What a backend is: where tensors live, and how products and small operations run.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Memory that the host reads and writes.
struct host_space {};
/// Memory of a CUDA device.
struct cuda_space {};

/// A matrix of a checkpoint on its way into a backend's own form. Product form: y[out] = x[in] W.
struct MatrixSource {
  int in = 0, out = 0;
  /// False: stored as `in` rows of `out` floats (Conv1D). True: as `out` rows of `in` floats (embedding tables).
  bool out_major = false;
  /// Writes one stored row as floats. From any thread.
  std::function<void(int row, float* to)> read_row;
};

/// A matrix that was packed before, in memory that `owner` keeps.
struct PackedSource {
  int in = 0, out = 0;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// What happens to a product's result on its way out: y = activation(xW + bias) + residual.
struct Epilogue {
  const float* bias = nullptr;  ///< [out]; null: none
  Activation activation = Activation::none;
  const float* residual = nullptr;  ///< [rows, out], not y itself; null: none
};

namespace detail {
/// A kernel for the concept below: a lambda in a requires-expression makes nvcc answer false without a word.
struct ProbeKernel {
  GPT2IE_HD void operator()(int) const {}
};
}  // namespace detail

template <class B>
concept HasSpace = requires {
  typename B::space;
};

template <class B>
concept HasWeightType = requires {
  typename B::weight_type;
};

/// allocate<T>(n) owns n uninitialised elements with data() and size(), moves, and is empty by default; upload,
/// download and copy move n elements.
template <class B>
concept HasMemory = requires(B b, float* to, const float* from, std::size_t n) {
  { b.template allocate<float>(n).data() } -> std::same_as<float*>;
  { b.template allocate<float>(n).size() } -> std::convertible_to<std::size_t>;
  requires std::default_initializable<decltype(b.template allocate<float>(n))>;
  requires std::movable<decltype(b.template allocate<float>(n))>;
  b.upload(to, from, n);
  b.download(to, from, n);
  b.copy(to, from, n);
};

/// A backend whose memory is given by the system when it is first written, and that can have it given before: populate
/// overwrites n elements that hold nothing yet.
template <class B>
concept HasPopulate = requires(B b, float* data, std::size_t n) {
  b.populate(data, n);
};

/// launch(count, cost, kernel) runs kernel(i) for each i in [0, count) in any order; cost is the scalar operations of
/// one, roughly. Everything that a backend is given takes effect in the order in which it was given; wait() returns
/// when all of it has.
template <class B>
concept HasLaunch = requires(B b, int n, std::size_t cost, detail::ProbeKernel kernel) {
  b.launch(n, cost, kernel);
  b.wait();
};

/// pack turns a MatrixSource into the backend's own form, once. reserve(rows, elements) allocates what linear needs
/// beside its operands for so many rows of so many elements. linear: y[rows, out] = epilogue(x[rows, in] W).
template <class B>
concept HasProducts = requires(B b, const MatrixSource& source, const float* x, int rows, float* y, Epilogue e) {
  typename B::matrix;
  requires std::default_initializable<typename B::matrix> && std::movable<typename B::matrix>;
  { b.pack(source) } -> std::same_as<typename B::matrix>;
  b.reserve(rows, rows);
  requires requires(const typename B::matrix& w) { b.linear(w, x, rows, y, e); };
};

/// A backend that takes matrices as it packed them earlier, without copying: adopt gives the matrix, or nothing if the
/// bytes are not one of that size; packed_name is what such files call its precision.
template <class B>
concept HasPackedForm = HasProducts<B> && requires(const B b, const PackedSource& source) {
  { b.adopt(source) } -> std::same_as<std::optional<typename B::matrix>>;
  { B::packed_name } -> std::convertible_to<std::string_view>;
};

/// embed: y[r] = wte[token[r]] + wpe[position[r]]. layer_norm: y[r] = (x[r] - mean) / sqrt(variance + epsilon) * weight
/// + bias over n columns.
template <class B>
concept HasSmallOperations = HasProducts<B> && requires(B b, const typename B::matrix& table, const Token* tokens,
                                                        const int* positions, int rows, const float* x, float* y) {
  b.embed(table, table, tokens, positions, rows, y);
  b.layer_norm(x, rows, rows, x, x, 1e-5f, y);
};

/// Sums x[n] over the group of a tensor-parallel model; one member leads, and adds what must be added once. A backend
/// on its own is a group of one and leads it.
template <class B>
concept HasAllReduce = requires(B b, const B c, float* x, std::size_t n) {
  b.all_reduce(x, n);
  { c.leads() } -> std::same_as<bool>;
};

/// A backend. One thread at a time uses one object; any number of objects may share the matrices that one of them
/// packed.
///
/// Promise on results: the bits of a row of y depend on that row of x and on W alone in backends that say so
/// (`row_invariant`); in the others they agree within 1e-5 of the result's scale.
template <class B>
concept Backend = std::move_constructible<B> && HasSpace<B> && HasWeightType<B> && HasMemory<B> && HasLaunch<B> &&
    HasProducts<B> && HasSmallOperations<B> && HasAllReduce<B> && requires {
  typename std::bool_constant<B::row_invariant>;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

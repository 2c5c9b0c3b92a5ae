// SPDX-License-Identifier: MIT
/// An executor whose types are erased: a suite is compiled once and runs over every combination of policies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/kv_cache/policies.hpp>
#include <gpt2ie/model/weights.hpp>

#include "support/type_name.hpp"

namespace gpt2ie_test {

/// The face that suites see of Executor<B, Policy, Storage>.
class AnyExecutor {
 public:
  virtual ~AnyExecutor() = default;

  virtual std::optional<gpt2ie::SeqId> open() = 0;
  virtual std::optional<gpt2ie::SeqId> fork(gpt2ie::SeqId seq) = 0;
  virtual void truncate(gpt2ie::SeqId seq, int n) = 0;
  virtual void close(gpt2ie::SeqId seq) = 0;
  [[nodiscard]] virtual int length(gpt2ie::SeqId seq) const = 0;
  [[nodiscard]] virtual gpt2ie::Capacity capacity() const = 0;

  virtual bool reserve(const gpt2ie::Step& step) = 0;
  virtual std::span<const float> run(const gpt2ie::Step& step) = 0;
  virtual void commit(const gpt2ie::Step& step) = 0;
  virtual void rollback() = 0;

  [[nodiscard]] virtual const gpt2ie::ModelConfig& config() const = 0;
  [[nodiscard]] virtual const gpt2ie::Limits& limits() const = 0;
  [[nodiscard]] virtual bool retains() const = 0;
  [[nodiscard]] virtual const float* hidden() const = 0;
  [[nodiscard]] virtual const float* normed() const = 0;
};

template <class B, class Policy, class Storage>
class ErasedExecutor final : public AnyExecutor {
 public:
  ErasedExecutor(B backend, std::shared_ptr<const gpt2ie::Weights<B>> weights, const gpt2ie::Limits& limits)
      : executor_(std::move(backend), std::move(weights), limits) {}

  std::optional<gpt2ie::SeqId> open() override {
    const std::optional<gpt2ie::Opened> opened = executor_.book().open({}, 0);
    return opened ? std::optional(opened->seq) : std::nullopt;
  }
  std::optional<gpt2ie::SeqId> fork(gpt2ie::SeqId seq) override { return executor_.book().fork(seq); }
  void truncate(gpt2ie::SeqId seq, int n) override { executor_.book().truncate(seq, n); }
  void close(gpt2ie::SeqId seq) override { executor_.book().close(seq); }
  [[nodiscard]] int length(gpt2ie::SeqId seq) const override { return executor_.book().length(seq); }
  [[nodiscard]] gpt2ie::Capacity capacity() const override { return executor_.book().capacity(); }

  bool reserve(const gpt2ie::Step& step) override { return executor_.book().reserve(step.runs); }
  std::span<const float> run(const gpt2ie::Step& step) override { return executor_.run(step); }
  void commit(const gpt2ie::Step& step) override { executor_.book().commit(step.runs, step.tokens); }
  void rollback() override { executor_.book().rollback(); }

  [[nodiscard]] const gpt2ie::ModelConfig& config() const override { return executor_.config(); }
  [[nodiscard]] const gpt2ie::Limits& limits() const override { return executor_.limits(); }
  [[nodiscard]] bool retains() const override { return Storage::retains; }
  [[nodiscard]] const float* hidden() const override { return executor_.model().hidden(); }
  [[nodiscard]] const float* normed() const override { return executor_.model().normed(); }

 private:
  gpt2ie::Executor<B, Policy, Storage> executor_;
};

/// One attention policy over one storage, on the weights of one model.
struct Combination {
  std::string attention, storage, element;
  bool retains;
  std::function<std::unique_ptr<AnyExecutor>(const gpt2ie::Limits&, int threads)> make;

  [[nodiscard]] std::string name() const { return attention + " over " + storage; }
};

namespace detail {

template <class B>
struct Collect {
  std::shared_ptr<const gpt2ie::Weights<B>> weights;
  std::vector<Combination>* combinations;

  template <class Policy, class... Storages>
  void with(gpt2ie::type_list<Storages...> /*list*/) const {
    (add<Policy, Storages>(), ...);
  }

  template <class Policy, class Storage>
  void add() const {
    if constexpr (gpt2ie::Reads<Policy, typename Storage::element>) {
      combinations->push_back(
          {type_name<Policy>(), type_name<Storage>(), type_name<typename Storage::element>(), Storage::retains,
           [weights = weights](const gpt2ie::Limits& limits, int threads) -> std::unique_ptr<AnyExecutor> {
             return std::make_unique<ErasedExecutor<B, Policy, Storage>>(B(threads), weights, limits);
           }});
    }
  }
};

template <class B, class... Policies, class Storages>
std::vector<Combination> combine(const gpt2ie::Checkpoint& checkpoint, gpt2ie::type_list<Policies...> /*policies*/,
                                 Storages storages) {
  std::vector<Combination> combinations;
  B backend(1);
  const Collect<B> collect{std::make_shared<const gpt2ie::Weights<B>>(backend, checkpoint), &combinations};
  (collect.template with<Policies>(storages), ...);
  return combinations;
}

}  // namespace detail

/// Every attention policy with every storage of the list that it reads, on backend B.
template <class B, class Storages = gpt2ie::storages, class Policies = gpt2ie::attentions>
std::vector<Combination> combinations(const gpt2ie::Checkpoint& checkpoint) {
  return detail::combine<B>(checkpoint, Policies{}, Storages{});
}

namespace detail {

template <class... Lists>
struct join {
  using type = gpt2ie::type_list<>;
};
template <class... Ts>
struct join<gpt2ie::type_list<Ts...>> {
  using type = gpt2ie::type_list<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct join<gpt2ie::type_list<Ts...>, gpt2ie::type_list<Us...>, Rest...>
    : join<gpt2ie::type_list<Ts..., Us...>, Rest...> {};

template <class List, class... Elements>
struct with_element;
template <class... Storages, class... Elements>
struct with_element<gpt2ie::type_list<Storages...>, Elements...>
    : join<std::conditional_t<gpt2ie::one_of<typename Storages::element, Elements...>, gpt2ie::type_list<Storages>,
                              gpt2ie::type_list<>>...> {};

}  // namespace detail

/// The shipped storages by element.
using float_storages = typename detail::with_element<gpt2ie::storages, float>::type;
using half_storages = typename detail::with_element<gpt2ie::storages, gpt2ie::bf16, gpt2ie::f16>::type;

}  // namespace gpt2ie_test

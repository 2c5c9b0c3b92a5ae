// SPDX-License-Identifier: MIT
/// Attention<Policy>, and the point where a policy and a backend get kernels of their own.
#pragma once

#include <cstddef>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Names the attention of a generator or an engine. Policy: an AttentionPolicy such as attention::Flash<64, 64>.
template <class Policy>
struct Attention {
  static_assert(AttentionPolicy<Policy> || detail::refused<Policy>,
                "gpt2ie: Attention<P>: P is no attention policy; a cache or slot tag in its place is the usual mistake "
                "(docs/extending.md#attention)");
  using policy = Policy;
  static constexpr bool valid = AttentionPolicy<Policy> && !detail::refused<Policy>;
};

namespace detail {

template <class Policy, class View>
struct RowKernel {
  View view;
  AttentionArgs args;
  GPT2IE_HD void operator()(int i) const { Policy::row(view, args, i / args.n_head, i % args.n_head); }
};

}  // namespace detail

/// Customisation point: specialise it for a policy and a backend to bring own kernels. This one runs the policy's
/// portable row function for each row and head. Enqueues; allocates nothing.
template <class Policy, class B>
struct attention_kernel {
  template <CacheView View>
  static void run(B& backend, const View& view, const AttentionArgs& args, int longest_context) {
    static_assert(
        !one_of<typename B::space, cuda_space>,
        "gpt2ie: this attention policy has no CUDA kernel; specialise attention_kernel<Policy, backend::Cuda<W>> "
        "(docs/extending.md#attention)");
    const std::size_t cost = static_cast<std::size_t>(longest_context) * static_cast<std::size_t>(args.head_dim) * 2;
    backend.launch(view.step.rows * args.n_head, cost, detail::RowKernel<Policy, View>{view, args});
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI

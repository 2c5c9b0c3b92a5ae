// SPDX-License-Identifier: MIT
// expect: gpt2ie: SamplerChain<Order> needs an order such as gpt2ie::sampling::HuggingFaceOrder
/// A processor in the place of an order.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<SamplerChain<sampling::Temperature>> generator{checkpoint};
#else
  Generator<SamplerChain<sampling::LlamaCppOrder>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

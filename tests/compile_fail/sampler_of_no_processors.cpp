// SPDX-License-Identifier: MIT
// expect: gpt2ie: SamplerChain<Order> needs every element of its order to be a LogitsProcessor
/// An order of something that is no processor.
#include <gpt2ie/gpt2ie.hpp>

void generate(const gpt2ie::Checkpoint& checkpoint) {
  using namespace gpt2ie;
#if defined(GPT2IE_MUST_FAIL)
  Generator<SamplerChain<type_list<sampling::TopK, int>>> generator{checkpoint};
#else
  Generator<SamplerChain<type_list<sampling::TopK, sampling::TopP>>> generator{checkpoint};
#endif
  static_cast<void>(generator);
}

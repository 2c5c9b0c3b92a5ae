// SPDX-License-Identifier: MIT
/// The shipped storages, for tests and benchmarks to iterate over. A new one is its header and one line here.
#pragma once

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/type_list.hpp>
#include <gpt2ie/kv_cache/concat.hpp>
#include <gpt2ie/kv_cache/contiguous.hpp>
#include <gpt2ie/kv_cache/no_cache.hpp>
#include <gpt2ie/kv_cache/paged.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

using storages = type_list<kv::NoCache,            //
                           kv::Concat<float>,      //
                           kv::Concat<bf16>,       //
                           kv::Concat<f16>,        //
                           kv::Concat<int8>,       //
                           kv::Contiguous<float>,  //
                           kv::Contiguous<bf16>,   //
                           kv::Contiguous<f16>,    //
                           kv::Contiguous<int8>,   //
                           kv::Paged<float, 16>,   //
                           kv::Paged<bf16, 16>,    //
                           kv::Paged<f16, 16>,     //
                           kv::Paged<int8, 16>>;

}  // namespace gpt2ie::inline GPT2IE_ABI

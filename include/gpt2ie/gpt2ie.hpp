// SPDX-License-Identifier: MIT
/// Everything for the CPU. For CUDA include <gpt2ie/cuda.cuh> as well.
#pragma once

// A program may have macros of these names, from a system header of old: they stay, but not in here.
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max

// IWYU pragma: begin_exports
#include <gpt2ie/attention/policies.hpp>
#include <gpt2ie/backend/cuda.hpp>
#include <gpt2ie/backend/policies.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#if GPT2IE_EXCEPTIONS
#include <gpt2ie/engine/engine.hpp>
#endif
#include <gpt2ie/engine/generator.hpp>
#include <gpt2ie/engine/presets.hpp>
#include <gpt2ie/engine/score.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/io/synthetic.hpp>
#include <gpt2ie/kv_cache/policies.hpp>
#include <gpt2ie/model/packed_weights.hpp>
#include <gpt2ie/model/weights.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/sampling/options.hpp>
#include <gpt2ie/sampling/sampler_chain.hpp>
#include <gpt2ie/scheduler/scheduler.hpp>
#include <gpt2ie/scheduler/slots.hpp>
#include <gpt2ie/tokenizer/incremental_decoder.hpp>
#include <gpt2ie/tokenizer/load_tokenizer.hpp>
#include <gpt2ie/tokenizer/stop_strings.hpp>
#include <gpt2ie/version.hpp>
// IWYU pragma: end_exports

#pragma pop_macro("min")
#pragma pop_macro("max")

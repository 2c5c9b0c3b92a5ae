// SPDX-License-Identifier: MIT
#include "compare/task.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "support/model.hpp"
#include "support/options.hpp"

namespace gpt2ie_example {

using namespace gpt2ie;

Task prepare(const Settings& settings) {
  const Checkpoint checkpoint = settings.synthetic.empty() ? load_checkpoint(checked_model_path(settings.model))
                                                           : synthetic_checkpoint(gpt2_preset(settings.synthetic));
  const ModelConfig& config = checkpoint.config();
  Cpu cpu(settings.threads);
  Task task{.weights = nullptr,
            .tokenizer = nullptr,
            .prompt = {},
            .new_tokens = settings.new_tokens,
            .threads = cpu.threads()};
  if (settings.synthetic.empty())
    task.tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(checkpoint.folder()));
  if (task.tokenizer && settings.context == 0) {
    task.prompt = task.tokenizer->encode(settings.prompt);
    if (task.prompt.empty() && config.bos_token_id >= 0) task.prompt = {config.bos_token_id};
  } else {
    task.prompt = made_up_tokens(std::max(settings.context, 1), config.vocab);
  }
  const auto length = task.prompt.size() + static_cast<std::size_t>(settings.new_tokens);
  if (length > static_cast<std::size_t>(config.n_positions)) {
    fail(errc::bad_request, "a prompt and new tokens of " + std::to_string(config.n_positions) + " together at most",
         std::to_string(task.prompt.size()) + " and " + std::to_string(settings.new_tokens));
  }
  task.weights = load_weights(cpu, checkpoint);
  return task;
}

std::vector<Token> made_up_tokens(int count, int vocab, std::uint32_t which) {
  std::vector<Token> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>((i * 7919 + 13 + std::int64_t{which} * 104729) % vocab));
  }
  return tokens;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace gpt2ie_example

// SPDX-License-Identifier: MIT
/// gpt2ie-tokenize: text to token ids and back, a line at a time.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/tokenizer/load_tokenizer.hpp>

#include "support/json.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

namespace {

using namespace gpt2ie;
using namespace gpt2ie_example;

/// Thrown with what is wrong with a line.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LineCoder {
 public:
  LineCoder(const Tokenizer& tokenizer, SpecialTokens special) : tokenizer_(tokenizer), special_(special) {}

  /// Appends the ids of the JSON string `line` to `out`, as a JSON array.
  void encode(const std::string& line, std::string& out) {
    const Json text = Json::parse(line, nullptr, false);
    if (!text.is_string()) throw BadLine("expected a JSON string");
    ids_.clear();
    tokenizer_.encode_to(text.get_ref<const std::string&>(), ids_, special_);
    out += '[';
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      char digits[16];
      if (i > 0) out += ',';
      out.append(digits, std::to_chars(digits, digits + sizeof digits, ids_[i]).ptr);
    }
    out += "]\n";
  }

  /// Appends the text of the JSON array of ids `line` to `out`, as a JSON string.
  void decode(const std::string& line, std::string& out) {
    const Json ids = Json::parse(line, nullptr, false);
    if (!ids.is_array()) throw BadLine("expected a JSON array of token ids");
    ids_.clear();
    for (const Json& id : ids) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(tokenizer_.size())) {
        throw BadLine("expected token ids from 0 to " + std::to_string(tokenizer_.size() - 1) + ", found " +
                      json_line(id));
      }
      ids_.push_back(id.get<Token>());
    }
    out += json_line(tokenizer_.decode(ids_)) + '\n';
  }

 private:
  const Tokenizer& tokenizer_;
  SpecialTokens special_;
  std::vector<Token> ids_;
};

/// Answers every line of stdin. Output is written in large pieces, but never held back while the input pauses, so that
/// another program can ask one question at a time.
void answer_lines(LineCoder& coder, bool decode) {
  constexpr std::size_t piece = 1 << 16;
  std::ios::sync_with_stdio(false);
  std::string line, out;
  for (std::uint64_t number = 1; std::getline(std::cin, line); ++number) {
    try {
      decode ? coder.decode(line, out) : coder.encode(line, out);
    } catch (const std::runtime_error& error) {
      write_out(out);
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
    if (out.size() < piece && std::cin.rdbuf()->in_avail() > 0) continue;
    write_out(out);
    out.clear();
  }
  write_out(out);
  if (std::cin.bad()) throw std::runtime_error("can't read standard input");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Reads one JSON string a line and writes one JSON array of token ids a line. With --decode the other way; bytes\n"
      "that are not valid UTF-8 then become U+FFFD, as a JSON string can't hold them. Needs only the tokenizer files.",
      "gpt2ie-tokenize");
  std::string model;
  bool decode = false, allow_special = false;
  add_model_option(app, model);
  app.add_flag("--decode", decode, "read arrays of ids, write strings");
  app.add_flag("--allow-special", allow_special, "names of special tokens, as <|endoftext|>, become those tokens");
  return run_program(app, argc, argv, [&] {
    const Tokenizer tokenizer = load_tokenizer(checked_model_path(model));
    LineCoder coder(tokenizer, allow_special ? SpecialTokens::allow : SpecialTokens::as_text);
    answer_lines(coder, decode);
    return 0;
  });
}

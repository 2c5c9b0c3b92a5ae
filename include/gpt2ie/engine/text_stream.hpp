// SPDX-License-Identifier: MIT
/// A range of text pieces that are generated while it is read.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gpt2ie/config.hpp>
#include <gpt2ie/engine/result.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A single-pass range of std::string_view: each piece is whole characters and valid until the next one is asked for.
/// Leaving the loop early ends the request. The generator outlives it and stays in its place in memory or is moved; one
/// thread at a time.
template <class Generation>
class TextStream {
 public:
  explicit TextStream(std::unique_ptr<Generation> generation) : generation_(std::move(generation)) {}

  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(TextStream& stream) : stream_(&stream) { stream_->advance(); }
    std::string_view operator*() const { return stream_->piece_; }
    Iterator& operator++() {
      stream_->advance();
      return *this;
    }
    void operator++(int) { stream_->advance(); }
    bool operator==(std::default_sentinel_t /*end*/) const { return stream_->ended_; }

   private:
    TextStream* stream_;
  };

  /// Generates the first piece. Once only.
  Iterator begin() { return Iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

  /// Complete after the last piece.
  [[nodiscard]] const GenerateResult& result() const { return generation_->result(); }

 private:
  void advance() { ended_ = !generation_->next(piece_); }

  std::unique_ptr<Generation> generation_;
  std::string piece_;
  bool ended_ = false;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

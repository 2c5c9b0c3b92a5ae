// SPDX-License-Identifier: MIT
/// One memory cut into contiguous runs by first fit, the way a cache without pages hands it out.
///
/// Knuth, "The Art of Computer Programming", volume 1, section 2.5 (first fit; holes beside each other are one).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A memory of `size` tokens. Every owner holds at most one run [begin, begin + size) of it. Calls cost O(owners). One
/// thread at a time.
class FirstFit {
 public:
  struct Held {
    int owner, begin, size;

    [[nodiscard]] int end() const { return begin + size; }
    friend bool operator==(const Held&, const Held&) = default;
  };

  explicit FirstFit(int size) : size_(size), free_(size) {}

  [[nodiscard]] int size() const { return size_; }
  /// Tokens that nobody holds, in all holes together.
  [[nodiscard]] int free() const { return free_; }
  [[nodiscard]] int largest_hole() const {
    int largest = 0;
    for (std::size_t i = 0; i <= held_.size(); ++i) largest = std::max(largest, hole_size(i));
    return largest;
  }

  /// The run of an owner; of size 0 if it holds none.
  [[nodiscard]] Held run(int owner) const {
    const auto found = find(owner);
    return found == held_.end() ? Held{owner, 0, 0} : *found;
  }

  /// Gives the owner a run of `tokens` at the beginning of the first hole that is large enough. False, and nothing
  /// changed, if there is none. Precondition: it holds none, and tokens > 0.
  bool allocate(int owner, int tokens) {
    GPT2IE_ASSERT(find(owner) == held_.end());
    for (std::size_t i = 0; i <= held_.size(); ++i) {
      if (hole_size(i) < tokens) continue;
      held_.insert(held_.begin() + static_cast<std::ptrdiff_t>(i), {owner, hole_begin(i), tokens});
      free_ -= tokens;
      return true;
    }
    return false;
  }

  /// Makes the owner's run longer at its end, to `wanted` tokens or as many as the hole behind it allows. False, and
  /// nothing changed, if that is less than `least`. Precondition: it holds a run of less than `least`.
  bool extend(int owner, int least, int wanted) {
    const auto found = find(owner);
    GPT2IE_ASSERT(found != held_.end() && found->size < least);
    const int room = found->size + hole_size(static_cast<std::size_t>(found - held_.begin()) + 1);
    if (room < least) return false;
    Held& run = held_[static_cast<std::size_t>(found - held_.begin())];
    const int size = std::min(room, wanted);
    free_ -= size - run.size;
    run.size = size;
    return true;
  }

  /// Moves the owner to a run of `tokens`, as allocate finds it when what the owner holds is free: the new place may
  /// overlap the old one. False, and nothing changed, if there is none.
  bool move(int owner, int tokens) {
    const auto found = find(owner);
    const Held old = *found;
    const auto index = found - held_.begin();
    release(owner);
    if (allocate(owner, tokens)) return true;
    held_.insert(held_.begin() + index, old);
    free_ -= old.size;
    return false;
  }

  /// The owner's run is a hole again; nothing if it holds none.
  void release(int owner) noexcept {
    const auto found = find(owner);
    if (found == held_.end()) return;
    free_ += found->size;
    held_.erase(found);
  }

 private:
  [[nodiscard]] std::vector<Held>::const_iterator find(int owner) const noexcept {
    return std::find_if(held_.begin(), held_.end(), [owner](const Held& held) { return held.owner == owner; });
  }
  /// Hole i lies before run i, the last one behind all runs; it may be empty.
  [[nodiscard]] int hole_begin(std::size_t i) const { return i == 0 ? 0 : held_[i - 1].end(); }
  [[nodiscard]] int hole_size(std::size_t i) const {
    return (i == held_.size() ? size_ : held_[i].begin) - hole_begin(i);
  }

  std::vector<Held> held_;  // by place
  int size_, free_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI

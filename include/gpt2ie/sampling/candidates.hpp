// SPDX-License-Identifier: MIT
/// The tokens that may still be picked, with their scores: what logits processors work on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/sampling/row_math.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A working set of tokens and scores, in ascending order of token ids. It starts as the whole vocabulary; truncation
/// makes it smaller. A token with the score -infinity can't be picked whether it is still there or not.
///
/// All memory is taken at construction: nothing below allocates. One thread at a time.
class Candidates {
 public:
  /// vocab: the most tokens that it will hold.
  explicit Candidates(int vocab)
      : ids_(static_cast<std::size_t>(vocab)),
        scores_(ids_.size()),
        weights_(ids_.size()),
        block_values_(detail::blocks_of(ids_.size())),
        counts_(ids_.size(), 0),
        order_(ids_.size()),
        bucket_mass_(buckets) {}

  /// Starts over with every token, scored by its logit. logits: [vocab].
  void assign(std::span<const float> logits) {
    size_ = logits.size();
    whole_ = true;
    std::copy(logits.begin(), logits.end(), scores_.begin());
  }

  /// The most tokens that it can hold.
  [[nodiscard]] int vocab() const { return static_cast<int>(ids_.size()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<float> scores() { return {scores_.data(), size_}; }
  [[nodiscard]] std::span<const float> scores() const { return {scores_.data(), size_}; }

  /// The token that scores()[index] belongs to.
  [[nodiscard]] Token id(std::size_t index) const { return whole_ ? static_cast<Token>(index) : ids_[index]; }

  /// The score of a token, or null if the token is no longer, or never was, a candidate.
  [[nodiscard]] float* find(Token token) {
    if (whole_) return token >= 0 && static_cast<std::size_t>(token) < size_ ? &scores_[index_of(token)] : nullptr;
    const auto end = ids_.begin() + static_cast<std::ptrdiff_t>(size_);
    const auto place = std::lower_bound(ids_.begin(), end, token);
    return place != end && *place == token ? &scores_[static_cast<std::size_t>(place - ids_.begin())] : nullptr;
  }

  /// Takes a token out of the draw.
  void ban(Token token) {
    if (float* score = find(token)) *score = detail::minus_infinity;
  }

  /// Calls `visit(score, times)` once for each candidate that occurs in `tokens`, in order of first occurrence.
  template <class Visit>
  void for_each_distinct(std::span<const Token> tokens, Visit&& visit) {
    for (const Token token : tokens) {
      if (token < 0 || index_of(token) >= counts_.size()) {
        fail(errc::bad_request, "tokens below the vocabulary's size of " + std::to_string(counts_.size()),
             "token " + std::to_string(token));
      }
    }
    for (const Token token : tokens) ++counts_[index_of(token)];
    for (const Token token : tokens) {
      const int times = std::exchange(counts_[index_of(token)], 0);  // so that the next use finds zeros again
      if (times == 0) continue;
      if (float* score = find(token)) visit(*score, times);
    }
  }

  /// The highest score; -infinity if there is none.
  [[nodiscard]] float best() const { return detail::row_max(scores()).value; }

  /// The k-th highest score, equal ones counted each, for 1 <= k <= size(). A few passes, no sort: O(size()).
  [[nodiscard]] float kth_best(std::size_t k) {
    // The k-th highest of the blocks' maxima can't be above the k-th highest score, so what is below it is out.
    const std::size_t blocks = detail::blocks_of(size_);
    float bound = detail::minus_infinity;
    if (k <= blocks) {
      fill_block_maxima();
      std::copy_n(block_values_.begin(), blocks, weights_.begin());
      bound = nth_highest(weights_.data(), blocks, k);
    } else {
      std::fill_n(block_values_.begin(), blocks, std::numeric_limits<float>::infinity());
    }
    std::size_t left = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (block_values_[b] < bound) continue;
      const std::size_t end = std::min(size_, (b + 1) * detail::row_block);
      for (std::size_t i = b * detail::row_block; i < end; ++i) {
        weights_[left] = scores_[i];
        left += scores_[i] >= bound;
      }
    }
    return nth_highest(weights_.data(), left, k);
  }

  /// Drops every candidate below `score`, and those at -infinity.
  void keep_at_least(float score) {
    fill_block_maxima();
    std::size_t kept = 0;
    for (std::size_t b = 0; b < detail::blocks_of(size_); ++b) {
      if (block_values_[b] < score || block_values_[b] == detail::minus_infinity) continue;
      const std::size_t end = std::min(size_, (b + 1) * detail::row_block);
      for (std::size_t i = b * detail::row_block; i < end; ++i) {
        kept += move_to(kept, i, scores_[i] >= score && scores_[i] > detail::minus_infinity);
      }
    }
    narrow(kept);
  }

  /// The candidates' shares: weights [size()], proportional to probabilities, the highest 1; and their sum.
  struct Weights {
    std::span<const float> each;
    double total;
  };

  /// Softmax without the division, and with the highest score subtracted first. Valid until the next change.
  /// Throws Error (bad_logits) if no token is left or a score overflowed.
  Weights weigh() {
    const float highest = best();
    require_finite(highest);
    return {{weights_.data(), size_}, detail::row_exp_sum(scores(), highest, weights_.data(), block_values_.data())};
  }

  /// How keep_mass treats tokens that are as far away as the last one that it keeps.
  enum class Ties { lowest_ids, all };

  /// Orders the candidates by the distance of their scores from `center` (then the higher score, then the lower id),
  /// and keeps the shortest start of that order whose weights, the best token's being 1, reach `target`; one token at
  /// least. Only tokens within 1/128 of the last one kept are sorted: O(size() + m log m) for m of them.
  void keep_mass(double center, double target, Ties ties) {
    const Weights weights = weigh();
    const auto distance = [&](std::size_t i) { return std::abs(center - static_cast<double>(scores_[i])); };
    double before = 0;
    const std::size_t edge = edge_bucket(weights.each, distance, target, before);
    const bool is_short = size_ < shortest_with_buckets;

    std::size_t in_edge = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      order_[in_edge] = static_cast<std::uint32_t>(i);
      in_edge += is_short || bucket_of(distance(i)) == edge;
    }
    const auto precedes = [&](std::uint32_t a, std::uint32_t b) {
      if (distance(a) != distance(b)) return distance(a) < distance(b);
      return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
    };
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(in_edge), precedes);
    std::size_t last = 0;
    before += weight(order_[last]);
    while (before < target && last + 1 < in_edge) before += weight(order_[++last]);

    const std::size_t cut = order_[last];
    const double cut_distance = distance(cut);
    const float cut_score = scores_[cut];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      // Scores at and behind i haven't moved yet, but the cut's may have: hence the copies.
      const double d = distance(i);
      const bool tied =
          d == cut_distance && (ties == Ties::all || scores_[i] > cut_score || (scores_[i] == cut_score && i <= cut));
      kept += move_to(kept, i, (d < cut_distance || tied) && scores_[i] > detail::minus_infinity);
    }
    narrow(kept);
  }

  /// The candidate with the highest score, of equal ones the lowest id.
  /// Throws Error (bad_logits) if no token is left or a score overflowed.
  [[nodiscard]] Token best_id() const {
    const detail::RowMax highest = detail::row_max(scores());
    require_finite(highest.value);
    return id(highest.index);
  }

  /// The candidate whose part of the cumulated distribution holds `u` in [0, 1): the inverse method, in order of ids.
  /// A rounding error at the end gives the last token that has any probability. Precondition: `weights` is what weigh
  /// returned, and nothing changed since.
  [[nodiscard]] Token at_quantile(double u, const Weights& weights) const {
    const std::size_t blocks = detail::blocks_of(size_);
    double target = u * weights.total, before = 0;
    std::size_t block = 0;
    while (block < blocks && before + static_cast<double>(block_values_[block]) <= target) {
      before += static_cast<double>(block_values_[block++]);
    }
    if (block == blocks) {
      target = std::numeric_limits<double>::infinity();
      while (block_values_[--block] == 0) continue;  // the highest weight is 1, so one block has some
    }
    const std::size_t end = std::min(size_, (block + 1) * detail::row_block);
    std::size_t picked = 0;
    for (std::size_t i = block * detail::row_block; i < end && before <= target; ++i) {
      before += weight(i);
      if (weights_[i] > 0) picked = i;
    }
    return id(picked);
  }

 private:
  static constexpr std::size_t buckets = 4096;               ///< of 1/128 each; the last has no end
  static constexpr std::size_t shortest_with_buckets = 512;  ///< below, sorting everything costs less

  static std::size_t index_of(Token token) { return static_cast<std::size_t>(token); }
  static std::size_t bucket_of(double distance) {
    return distance < 31.0 ? static_cast<std::size_t>(distance * 128) : buckets - 1;
  }
  [[nodiscard]] double weight(std::size_t i) const { return static_cast<double>(weights_[i]); }

  static float nth_highest(float* values, std::size_t count, std::size_t n) {
    std::nth_element(values, values + (n - 1), values + count, std::greater<>());
    return values[n - 1];
  }

  void fill_block_maxima() {
    detail::for_each_block(scores(), [&](std::size_t block, const float* values, std::size_t) {
      block_values_[block] = detail::block_max(values);
    });
  }

  /// The bucket in which the mass reaches `target`; `before` becomes the mass of those in front of it.
  template <class Distance>
  std::size_t edge_bucket(std::span<const float> weights, Distance distance, double target, double& before) {
    if (size_ < shortest_with_buckets) return 0;
    std::fill(bucket_mass_.begin(), bucket_mass_.end(), 0.0);
    std::size_t last = 0;  // the last bucket with a token
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t bucket = bucket_of(distance(i));
      bucket_mass_[bucket] += static_cast<double>(weights[i]);
      last = std::max(last, bucket);
    }
    std::size_t edge = 0;
    while (edge < last && (bucket_mass_[edge] == 0 || before + bucket_mass_[edge] < target))
      before += bucket_mass_[edge++];
    return edge;
  }

  /// Copies candidate `from` to place `to` <= from; returns 1 if it stays there, 0 if the next may overwrite it.
  std::size_t move_to(std::size_t to, std::size_t from, bool stays) {
    const Token token = id(from);
    scores_[to] = scores_[from];
    ids_[to] = token;
    return stays ? 1 : 0;
  }

  void narrow(std::size_t kept) {
    size_ = kept;
    whole_ = false;
  }

  static void require_finite(float highest) {
    if (highest == detail::minus_infinity) {
      fail(errc::bad_logits, "a token left to pick", "that bans and biases of the request leave none");
    }
    if (!(highest <= std::numeric_limits<float>::max())) {
      fail(errc::bad_logits, "finite scores after bias, penalties and temperature", "one that overflowed");
    }
  }

  std::size_t size_ = 0;
  bool whole_ = true;                 ///< ids are 0 ... size_ - 1 and ids_ isn't filled
  std::vector<Token> ids_;            ///< [vocab]
  std::vector<float> scores_;         ///< [vocab]
  std::vector<float> weights_;        ///< [vocab]; scratch in between
  std::vector<float> block_values_;   ///< [blocks]: maxima, or sums of weights
  std::vector<int> counts_;           ///< [vocab], all 0 between uses
  std::vector<std::uint32_t> order_;  ///< [vocab]
  std::vector<double> bucket_mass_;   ///< [buckets]
};

}  // namespace gpt2ie::inline GPT2IE_ABI

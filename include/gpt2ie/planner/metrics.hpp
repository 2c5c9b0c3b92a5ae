// SPDX-License-Identifier: MIT
/// The figures of a simulation, from samples of its steps.
///
/// Legend: a step s takes t_s seconds; at its end w_s tokens are written, and h_s tokens of room are held; f_s tokens
/// of room are free, l_s of them in the largest run that one sequence could take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The state of scheduler and memory while one step runs; tokens unless said.
struct StepSample {
  double begin_s = 0, seconds = 0;
  int running = 0, waiting = 0;  ///< sequences
  std::int64_t written = 0, held = 0, free = 0, largest_free = 0;

  friend bool operator==(const StepSample&, const StepSample&) = default;
};

namespace detail {

/// The mean of value(sample) over the samples for which counts(sample), weighted by their seconds; 0 if there are none.
template <class Value, class Counts>
double mean_over_time(std::span<const StepSample> samples, const Value& value, const Counts& counts) {
  double sum = 0, seconds = 0;
  for (const StepSample& sample : samples) {
    if (!counts(sample)) continue;
    sum += value(sample) * sample.seconds;
    seconds += sample.seconds;
  }
  return seconds > 0 ? sum / seconds : 0;
}

inline double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace detail

/// The share of the held room that holds no token: sum(t_s (1 - w_s / h_s)) / sum(t_s), over all steps in which any
/// room is held.
inline double internal_waste(std::span<const StepSample> samples) {
  return detail::mean_over_time(
      samples, [](const StepSample& s) { return 1 - detail::share(s.written, s.held); },
      [](const StepSample& s) { return s.held > 0; });
}

/// The share of the free room that lies outside its largest run: sum(t_s (1 - l_s / f_s)) / sum(t_s), over the steps in
/// which a request waits, as nobody minds small holes before; a step with nothing free counts as 0.
inline double external_fragmentation(std::span<const StepSample> samples) {
  return detail::mean_over_time(
      samples, [](const StepSample& s) { return s.free > 0 ? 1 - detail::share(s.largest_free, s.free) : 0; },
      [](const StepSample& s) { return s.waiting > 0; });
}

/// Sequences in a step: sum(t_s running_s) / sum(t_s).
inline double mean_running(std::span<const StepSample> samples) {
  return detail::mean_over_time(
      samples, [](const StepSample& s) { return static_cast<double>(s.running); },
      [](const StepSample&) { return true; });
}

/// The most sequences in one step.
inline int peak_running(std::span<const StepSample> samples) {
  int peak = 0;
  for (const StepSample& sample : samples) peak = std::max(peak, sample.running);
  return peak;
}

}  // namespace gpt2ie::inline GPT2IE_ABI

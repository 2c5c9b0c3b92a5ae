// SPDX-License-Identifier: MIT
/// Charts of simulations over time: data files, a gnuplot script, and the SVG files that gnuplot makes of them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpt2ie/planner/metrics.hpp>

namespace gpt2ie_example {

/// Samples of a simulation under the name of their data file.
struct Series {
  std::string name;
  std::span<const gpt2ie::StepSample> samples;
};

namespace detail {

/// Means over one stretch of time, tokens unless said.
struct ChartPoint {
  double begin_s = 0, seconds = 0;
  double running = 0, written = 0, held = 0, free = 0, largest_free = 0;
};

/// So few points that a chart stays small: the time from the first to the last step in equal stretches. Those in which
/// no step ran are left out.
inline std::vector<ChartPoint> thinned(std::span<const gpt2ie::StepSample> samples) {
  constexpr int points = 120;
  const double begin = samples.front().begin_s, end = samples.back().begin_s + samples.back().seconds;
  const double width = (end - begin) / points;
  std::vector<ChartPoint> chart;
  std::size_t next = 0;
  for (int i = 0; i < points; ++i) {
    const double from = begin + i * width, to = from + width;
    ChartPoint sum{.begin_s = from};
    while (next < samples.size() && samples[next].begin_s + samples[next].seconds <= from) ++next;
    for (std::size_t at = next; at < samples.size() && samples[at].begin_s < to; ++at) {
      const gpt2ie::StepSample& sample = samples[at];
      const double share = std::min(to, sample.begin_s + sample.seconds) - std::max(from, sample.begin_s);
      sum.seconds += share;
      sum.running += share * sample.running;
      sum.written += share * static_cast<double>(sample.written);
      sum.held += share * static_cast<double>(sample.held);
      sum.free += share * static_cast<double>(sample.free);
      sum.largest_free += share * static_cast<double>(sample.largest_free);
    }
    if (sum.seconds <= 0) continue;
    for (double* value : {&sum.running, &sum.written, &sum.held, &sum.free, &sum.largest_free}) *value /= sum.seconds;
    chart.push_back(sum);
  }
  return chart;
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("can't write " + path.string());
}

inline std::string data_file(const Series& series) {
  std::string text = "# seconds running written held free largest_free\n";
  for (const ChartPoint& point : thinned(series.samples)) {
    char line[160];
    std::snprintf(line, sizeof line, "%.2f %.2f %.0f %.0f %.0f %.0f\n", point.begin_s, point.running, point.written,
                  point.held, point.free, point.largest_free);
    text += line;
  }
  return text;
}

inline std::string gnuplot_script(int memory_tokens) {
  return R"(# Run in this folder: gnuplot charts.gp
set key outside bottom horizontal
set grid ytics lc rgb "#dddddd"
set xlabel "seconds, simulated"
set xrange [0:*]
set yrange [0:*]
memory = )" +
         std::to_string(memory_tokens) + R"(
set style line 1 lc rgb "#1b7837" lw 2
set style line 2 lc rgb "#762a83" lw 2
set style line 3 lc rgb "#d9782d" lw 2
set style line 4 lc rgb "#3b6fb6" lw 2
set terminal svg size 860,400 font "sans-serif,13" background "white"

set output "running.svg"
set ylabel "sequences running"
plot "paged.dat" using 1:2 with lines ls 1 title "paged", \
     "growing.dat" using 1:2 with lines ls 3 title "growing", \
     "reserved.dat" using 1:2 with lines ls 2 title "reserved"

set output "batching.svg"
set title "the first tenth of the time"
plot "continuous.dat" using 1:2 with lines ls 1 title "continuous", \
     "static.dat" using 1:2 with lines ls 2 title "static"

set output "fragmentation.svg"
unset title
set ylabel "tokens of room"
plot "growing.dat" using 1:5 with lines ls 3 title "growing: free", \
     "growing.dat" using 1:6 with lines ls 4 title "growing: largest free run"

set terminal svg size 860,760 font "sans-serif,13" background "white"
set output "memory.svg"
set multiplot layout 3,1
stats "paged.dat" using 1 nooutput name "paged"
stats "reserved.dat" using 1 nooutput name "reserved"
stats "growing.dat" using 1 nooutput name "growing"
longest = paged_max > reserved_max ? paged_max : reserved_max
set xrange [0:growing_max > longest ? growing_max : longest]
set key outside right top vertical
set yrange [0:1.02 * memory]
set ytics memory / 4
do for [name in "paged reserved growing"] {
  set title name
  plot name.".dat" using 1:4 with filledcurves y1=0 lc rgb "#e6c7a8" title "held", \
       name.".dat" using 1:3 with filledcurves y1=0 lc rgb "#3b6fb6" title "written"
}
unset multiplot
)";
}

/// Runs gnuplot in the folder. False if there is no gnuplot.
inline bool run_gnuplot(const std::filesystem::path& folder) {
  char program[] = "gnuplot", script[] = "charts.gp";
  char* const arguments[] = {program, script, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int error = posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return false;
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error("gnuplot could not draw " + (folder / script).string());
  }
  return true;
}

}  // namespace detail

/// Writes a data file for each of paged, reserved, growing, and the beginnings of static and continuous, and a script
/// that draws them; draws them if gnuplot is there, else returns false. The folder is made if need be. Throws
/// std::exception where a file can't be written.
inline bool write_charts(const std::filesystem::path& folder, const std::vector<Series>& all, int memory_tokens) {
  std::filesystem::create_directories(folder);
  for (const Series& series : all) detail::write_file(folder / (series.name + ".dat"), detail::data_file(series));
  detail::write_file(folder / "charts.gp", detail::gnuplot_script(memory_tokens));
  return detail::run_gnuplot(folder);
}

}  // namespace gpt2ie_example

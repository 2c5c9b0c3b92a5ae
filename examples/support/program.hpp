// SPDX-License-Identifier: MIT
/// What every example program does alike: read its command line, report a failure in one line, write its output.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/version.hpp>

namespace gpt2ie_example {

inline constexpr int exit_failure = 1;  ///< a file, a model, memory or the output
inline constexpr int exit_usage = 2;    ///< the command line asks for what can't be

/// Writes bytes to stdout, to be seen at once. Throws std::system_error, as when a disk is full. A reader that has
/// gone, as `| head -1` does, ends the program by SIGPIPE.
inline void write_out(std::string_view bytes) {
  const bool taken = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (taken && std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  throw std::system_error(errno, std::generic_category(), "can't write to standard output");
}

namespace detail {

/// One line on stderr, whatever the message holds.
inline int report(const CLI::App& app, std::string message, int exit_code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), message.c_str());
  return exit_code;
}

/// The arguments, last one first as CLI11 takes them. CLI11 takes `--name=` for an option whose value is to follow, so
/// such an argument becomes two: the name and an empty value.
inline std::vector<std::string> arguments(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> all;
  bool is_value = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    const bool assigns_nothing = !is_value && argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    if (assigns_nothing) argument.pop_back();
    const CLI::Option* option = is_value ? nullptr : app.get_option_no_throw(argument);
    is_value = option && option->get_items_expected_min() > 0 && !assigns_nothing;
    all.push_back(std::move(argument));
    if (assigns_nothing) all.emplace_back();
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// Whether there is something left to do: --help and --version are answered here.
inline bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(arguments(app, argc, argv));
    return true;
  } catch (const CLI::Success& answer) {
    std::ostringstream text;
    app.exit(answer, text);
    write_out(text.str());
    return false;
  }
}

}  // namespace detail

/// Reads the command line, then runs body(), which gives the exit code. Every failure becomes one line on stderr.
template <class Body>
int run_program(CLI::App& app, int argc, char** argv, const Body& body) {
  app.set_version_flag("--version", "gpt2ie " + std::to_string(GPT2IE_VERSION_MAJOR) + "." +
                                        std::to_string(GPT2IE_VERSION_MINOR) + "." +
                                        std::to_string(GPT2IE_VERSION_PATCH));
  try {
    return detail::parse(app, argc, argv) ? body() : 0;
  } catch (const CLI::ParseError& error) {
    return detail::report(app, std::string(error.what()) + " (--help lists the options)", exit_usage);
  } catch (const gpt2ie::Error& error) {
    const bool usage = error.code() == gpt2ie::errc::bad_request;
    return detail::report(app, "expected " + error.expected() + ", found " + error.found(),
                          usage ? exit_usage : exit_failure);
  } catch (const std::bad_alloc&) {
    return detail::report(app, "out of memory", exit_failure);
  } catch (const std::exception& error) {
    return detail::report(app, error.what(), exit_failure);
  }
}

}  // namespace gpt2ie_example

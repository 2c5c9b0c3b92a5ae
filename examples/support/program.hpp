// SPDX-License-Identifier: MIT
/// What every example program does alike: read its command line, report a failure in one line, write its output.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>

#include <gpt2ie/core/error.hpp>
#include <gpt2ie/version.hpp>

namespace gpt2ie_example {

inline constexpr int exit_failure = 1;  ///< a file, a model, memory or the output
inline constexpr int exit_usage = 2;    ///< the command line asks for what can't be

/// Whoever reads the output has gone away, as `| head -1` does. Nobody is left to tell.
struct OutputClosed : std::exception {};

/// Writes bytes to stdout, to be seen at once. Throws OutputClosed, or std::system_error when a disk is full.
inline void write_out(std::string_view bytes) {
  const bool taken = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (taken && std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  if (errno == EPIPE) throw OutputClosed();
  throw std::system_error(errno, std::generic_category(), "can't write to standard output");
}

namespace detail {

/// One line on stderr, whatever the message holds.
inline int report(const CLI::App& app, std::string message, int exit_code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), message.c_str());
  return exit_code;
}

}  // namespace detail

/// Reads the command line, then runs body(), which gives the exit code. Every failure becomes one line on stderr.
template <class Body>
int run_program(CLI::App& app, int argc, char** argv, const Body& body) {
  app.set_version_flag("--version", "gpt2ie " + std::to_string(GPT2IE_VERSION_MAJOR) + "." +
                                        std::to_string(GPT2IE_VERSION_MINOR) + "." +
                                        std::to_string(GPT2IE_VERSION_PATCH));
  try {
    app.parse(argc, argv);
    return body();
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return detail::report(app, std::string(error.what()) + " (--help lists the options)", exit_usage);
  } catch (const gpt2ie::Error& error) {
    const bool usage = error.code() == gpt2ie::errc::bad_request;
    return detail::report(app, "expected " + error.expected() + ", found " + error.found(),
                          usage ? exit_usage : exit_failure);
  } catch (const OutputClosed&) {
    return exit_failure;
  } catch (const std::bad_alloc&) {
    return detail::report(app, "out of memory", exit_failure);
  } catch (const std::exception& error) {
    return detail::report(app, error.what(), exit_failure);
  }
}

}  // namespace gpt2ie_example

// SPDX-License-Identifier: MIT
/// The program of every consumer: it includes the umbrella and nothing else of the library, and uses a little of it.
#include <gpt2ie/gpt2ie.hpp>

int main() {
  try {
    static_cast<void>(gpt2ie::load_checkpoint("no-such-folder"));
  } catch (const gpt2ie::Error& error) {
    return error.code() == gpt2ie::errc::bad_file ? 0 : 2;
  }
  return 1;
}

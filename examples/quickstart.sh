#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh clone to a fairy tale: installs what is missing, builds gpt2ie-generate, and lets the bundled model speak.
# Arguments, if any, go to gpt2ie-generate in place of the prompt below.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/cmake/need_packages.sh"

need_packages compiler cmake make eigen json cli

build=$top/build/quickstart
mkdir -p "$build"
say 'building gpt2ie-generate, this takes a minute or two'
quietly "$build/configure.log" cmake -S "$top" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGPT2IE_BUILD_TESTS=OFF
quietly "$build/build.log" cmake --build "$build" --target gpt2ie-generate --parallel "$(parallel_jobs)"

[ $# -gt 0 ] || set -- --prompt 'Once upon a time' --max-new-tokens 200 --temperature 0.8 --top-k 40 --seed 1
exec "$build/gpt2ie-generate" "$@"

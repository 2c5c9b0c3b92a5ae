#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh clone to tested: installs what is missing, builds the tests and the examples, runs the tests.
# Arguments, if any, go to ctest, for example: sh tests/run.sh -L unit
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/cmake/need_packages.sh"

need_packages compiler cmake make eigen json cli doctest

build=$top/build/release
mkdir -p "$build"
say 'building the tests, this takes some minutes'
quietly "$build/configure.log" cmake -S "$top" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DGPT2IE_QUICK_EXAMPLES=ON
quietly "$build/build.log" cmake --build "$build" --parallel "$(parallel_jobs)"

ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(parallel_jobs)" "$@"
say 'all tests passed'

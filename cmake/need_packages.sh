# SPDX-License-Identifier: MIT
# For the scripts that a person runs first: finds out what a build lacks and, on Debian and Ubuntu as root or with a sudo
# that asks nothing, installs it; else one line says what to install. POSIX sh, meant to be sourced.

die() {
  printf 'gpt2ie: %s\n' "$1" >&2
  exit 1
}

say() { printf 'gpt2ie: %s\n' "$1" >&2; }

compiler() { printf '%s' "${CXX:-c++}"; }

# has_header HEADER: the compiler finds it, in its own folders or where Debian keeps Eigen.
has_header() {
  printf '#include <%s>\n' "$1" | $(compiler) -x c++ -std=c++17 -I/usr/include/eigen3 -I/usr/local/include/eigen3 -E - \
    >/dev/null 2>&1
}

# missing NEED...: prints the Debian packages of the needs that are not met.
missing() {
  for need in "$@"; do
    case $need in
      compiler) command -v "$(compiler)" >/dev/null 2>&1 || printf 'g++ ' ;;
      cmake) command -v cmake >/dev/null 2>&1 || printf 'cmake ' ;;
      make) command -v make >/dev/null 2>&1 || command -v ninja >/dev/null 2>&1 || printf 'make ' ;;
      eigen) has_header Eigen/Core || printf 'libeigen3-dev ' ;;
      json) has_header nlohmann/json.hpp || printf 'nlohmann-json3-dev ' ;;
      cli) has_header CLI/CLI.hpp || printf 'libcli11-dev ' ;;
      doctest) has_header doctest/doctest.h || printf 'doctest-dev ' ;;
      benchmark) has_header benchmark/benchmark.h || printf 'libbenchmark-dev ' ;;
      command:*)  # command:NAME:PACKAGE
        rest=${need#command:}
        command -v "${rest%%:*}" >/dev/null 2>&1 || printf '%s ' "${rest#*:}"
        ;;
    esac
  done
}

# can_install: there is apt and the right to use it, now or by a sudo that asks nothing.
can_install() {
  root=
  command -v apt-get >/dev/null 2>&1 || return 1
  [ "$(id -u)" -ne 0 ] || return 0
  root='sudo -n'
  command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1
}

# apt_install PACKAGE...: quietly, with no question asked.
apt_install() {
  can_install || return 1
  say "installing $*"
  log=$(mktemp)
  if { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    "$@"; } >"$log" 2>&1 </dev/null; then
    rm -f "$log"
    return 0
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  return 1
}

# need_packages NEED...: afterwards all needs are met, or the script has ended with one line that says what is missing.
need_packages() {
  packages=$(missing "$@")
  if [ -n "$packages" ]; then
    # Word splitting makes the list of packages.
    # shellcheck disable=SC2086
    apt_install $packages || die "please install ${packages% } (these are Debian's and Ubuntu's names), then run this again"
    packages=$(missing "$@")
    [ -z "$packages" ] || die "${packages% }: installed, but not found by $(compiler)"
  fi
  need_versions
}

# at_least HAVE WANT: compares two versions of the form MAJOR.MINOR.
at_least() {
  have_major=${1%%.*} want_major=${2%%.*}
  have_rest=${1#*.} want_minor=${2#*.}
  have_minor=${have_rest%%.*}
  [ "$have_major" -gt "$want_major" ] || { [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]; }
}

# CMake 3.25 and a compiler that knows C++20 well enough; older releases of Debian and Ubuntu have older ones.
need_versions() {
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
  at_least "$version" 3.25 ||
    die "CMake 3.25 or newer is needed and this is $version: install a newer one from https://cmake.org/download (or with 'pip install cmake'), then run this again"
  if $(compiler) --version | grep -qi clang; then
    brand=Clang least=16.0
    version=$($(compiler) --version | sed -n 's/.*version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  else
    brand=GCC least=12.0
    version=$($(compiler) -dumpfullversion | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
  fi
  at_least "$version" "$least" ||
    die "GCC 12 or Clang 16 or newer is needed and $(compiler) is $brand $version: install g++-12 and run this again with CXX=g++-12"
}

# parallel_jobs: how many compilers to run at once: one a core, but no more than one for each 1.5 GiB of free memory.
parallel_jobs() {
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || printf 1)
  fitting=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || true)
  [ -n "$fitting" ] && [ "$fitting" -lt "$cores" ] && cores=$fitting
  [ "$cores" -ge 1 ] || cores=1
  printf '%s' "$cores"
}

# quietly LOG COMMAND...: runs it with its output in LOG; if it fails, shows the end of that and ends the script.
quietly() {
  log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 60 "$log" >&2
    die "'$*' failed; the whole output is in $log"
  }
}

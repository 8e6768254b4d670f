#!/bin/sh
# Installs what repel's tests, examples and benchmarks need, through the system's package manager.
# Quick and silent where everything is there already. The library itself needs Eigen alone.
set -eu

packages="g++ cmake ninja-build libeigen3-dev catch2 libbenchmark-dev libcli11-dev gnuplot-nox fonts-dejavu-core"

case "${1:-}" in
  -h | --help)
    echo "usage: cmake/setup.sh"
    echo "Installs, where missing: $packages"
    exit 0
    ;;
  "") ;;
  *)
    echo "cmake/setup.sh: unknown argument '$1' (see --help)" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
  cat >&2 <<'TEXT'
cmake/setup.sh installs packages on Debian and Ubuntu only. On this system, please install:
  a C++20 compiler (GCC 12 or clang 14, or later), CMake 3.25 or later, Ninja,
  Eigen 3.4, Catch2 (2.13 or 3), Google Benchmark, CLI11, and gnuplot for the pictures;
on macOS, for example: brew install cmake ninja eigen catch2 google-benchmark cli11 gnuplot
TEXT
  # Enough is there already? Then go on to the next command.
  for tool in c++ cmake ninja; do
    command -v "$tool" >/dev/null 2>&1 || exit 1
  done
  exit 0
fi

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "cmake/setup.sh: not root and no sudo; as root, please run: apt-get install$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi

echo "cmake/setup.sh: installing$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null

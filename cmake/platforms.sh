#!/bin/sh
# Compiles test files one by one with another compiler, another standard library, other flags or for another processor, runs them
# (under qemu-user where the processor is another), and prints a row of docs/platforms.md for each.
set -eu

usage() {
  cat <<'TEXT'
usage: cmake/platforms.sh PLATFORM [TEST]...
PLATFORM is one of
  gcc-O0 gcc-O1 gcc-O2 gcc-O3          the system's g++
  gcc-v2 gcc-v3 gcc-v4                 the same at -O2 for x86-64-v2 (SSE4), -v3 (AVX2), -v4 (AVX-512)
  clang-N clang-N-libc++               clang++-N with GCC's library or with its own
  aarch64 armhf s390x                  GCC's cross compilers, and qemu-ARCH-static
TEST is a test file without _test.cpp, such as kernel/kernel; without any: the core.
On Debian: apt-get install clang-19 libc++-19-dev libc++abi-19-dev g++-aarch64-linux-gnu qemu-user-static
BUILD (build/platforms) is where programs go, KEEP=yes keeps those that are there, COMPILE_ONLY=yes runs nothing.
TEXT
}

[ $# -gt 0 ] || {
  usage >&2
  exit 2
}
platform=$1
shift
runner=""
flags="-O1"
case $platform in
  -h | --help)
    usage
    exit 0
    ;;
  gcc-O[0123]) cxx=g++ flags="-${platform#gcc-}" ;;
  gcc-v[234]) cxx=g++ flags="-O2 -march=x86-64-${platform#gcc-}" ;;
  clang-*-libc++)
    cxx=clang++-${platform#clang-}
    cxx=${cxx%-libc++}
    flags="-O1 -stdlib=libc++"
    ;;
  clang-*) cxx=clang++-${platform#clang-} ;;
  aarch64 | s390x) cxx=$platform-linux-gnu-g++ runner="qemu-$platform-static -L /usr/$platform-linux-gnu" ;;
  armhf) cxx=arm-linux-gnueabihf-g++ runner="qemu-arm-static -L /usr/arm-linux-gnueabihf" ;;
  *)
    usage >&2
    exit 2
    ;;
esac
# GCC 12 sees overruns inside Eigen and std::string, and undefined values in its own AVX-512 intrinsics, that are not there.
case $cxx in
  *g++) flags="$flags -Wno-array-bounds -Wno-stringop-overflow -Wno-maybe-uninitialized -Wno-uninitialized" ;;
esac

cd "$(dirname "$0")/.."
build=${BUILD:-build/platforms}/$platform
mkdir -p "$build/include"
# Only these folders, so that a cross compiler does not meet this system's other headers.
ln -sfn "${CATCH2:-/usr/include/catch2}" "$build/include/catch2"
eigen=${EIGEN:-/usr/include/eigen3}

[ $# -gt 0 ] || set -- core/check core/random core/parallel kernel/kernel score/score score/golden rule/rule sampler
compile() {
  # shellcheck disable=SC2086  # a list of words
  ${CCACHE-} "$cxx" -std=c++20 $flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I include -I tests \
    -isystem "$build/include" -isystem "$eigen" -DREPEL_GOLDEN_DIR='"tests/golden"' "$@"
}
[ -e "$build/main.o" ] || compile -c tests/main.cpp -o "$build/main.o"
failed=0
for test in "$@"; do
  program=$build/$(echo "$test" | tr / _)
  if [ "${KEEP-no}" != yes ] || [ ! -e "$program" ]; then
    compile "tests/${test}_test.cpp" "$build/main.o" -o "$program" -pthread || {
      echo "| $platform | $test | does not compile |"
      failed=1
      continue
    }
  fi
  if [ "${COMPILE_ONLY-no}" = yes ]; then
    echo "| $platform | $test | compiles |"
    continue
  fi
  # shellcheck disable=SC2086
  if $runner "$program" >"$program.log" 2>&1; then
    echo "| $platform | $test | $(tail -n 2 "$program.log" | grep -v '^$' | tail -n 1) |"
  else
    echo "| $platform | $test | FAILED: see $program.log |"
    failed=1
  fi
done
exit $failed

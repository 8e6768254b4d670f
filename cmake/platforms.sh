#!/bin/sh
# Builds and runs the test suite with another compiler, another standard library, other flags or for another processor (under
# qemu-user), and prints a row of docs/platforms.md.
set -eu

usage() {
  cat <<'TEXT'
usage: cmake/platforms.sh PLATFORM [TEST]...
PLATFORM is one of
  gcc gcc-O0 gcc-O1 gcc-O2 gcc-O3      the system's g++
  gcc-v2 gcc-v3 gcc-v4                 the same at -O2 for x86-64-v2 (SSE4), -v3 (AVX2), -v4 (AVX-512)
  gcc-N                                g++-N
  clang clang-N clang-N-libc++         the system's clang++; clang++-N, with GCC's library or with its own
  aarch64 armhf s390x                  GCC's cross compilers, and qemu-ARCH-static
  mingw                                GCC for Windows, and wine: single tests only
Without a TEST: the whole suite, but for the examples. For another processor it needs SYSROOT, a folder with that system's
Eigen, Catch2 and libraries, such as debootstrap --foreign --arch=arm64 makes.
TEST is a test file without _test.cpp, such as kernel/kernel: these are compiled one by one, without CMake and zlib.
On Debian: apt-get install clang-19 libc++-19-dev libc++abi-19-dev g++-aarch64-linux-gnu qemu-user-static
g++-mingw-w64-x86-64-posix wine64
BUILD (build/platforms) is where programs go, CMAKE_ARGS are further arguments for cmake, such as -DEigen3_DIR=…, EIGEN is
the folder of Eigen's headers for single files, COMPILE_ONLY=yes runs nothing.
TEXT
}

[ $# -gt 0 ] || {
  usage >&2
  exit 2
}
platform=$1
shift
arch=""
level="-O1"
flags=""
case $platform in
  -h | --help)
    usage
    exit 0
    ;;
  gcc) cxx=g++ ;;
  gcc-O[0123]) cxx=g++ level="-${platform#gcc-}" ;;
  gcc-v[234]) cxx=g++ level=-O2 flags="-march=x86-64-${platform#gcc-}" ;;
  gcc-[0-9]*) cxx=g++-${platform#gcc-} ;;
  clang) cxx=clang++ ;;
  clang-*-libc++)
    cxx=clang++-${platform#clang-}
    cxx=${cxx%-libc++}
    flags="-stdlib=libc++"
    ;;
  clang-*) cxx=clang++-${platform#clang-} ;;
  aarch64 | s390x) arch=$platform cxx=$platform-linux-gnu-g++ root=/usr/$platform-linux-gnu ;;
  armhf) arch=arm cxx=arm-linux-gnueabihf-g++ root=/usr/arm-linux-gnueabihf ;;
  mingw) arch=x86_64 cxx=x86_64-w64-mingw32-g++-posix flags="-static -Wa,-mbig-obj" ;;
  *)
    usage >&2
    exit 2
    ;;
esac
# GCC sees overruns inside Eigen and std::string, and undefined values in its own AVX-512 intrinsics, that are not there.
case $cxx in
  clang*) ;;
  *) flags="$flags -Wno-array-bounds -Wno-stringop-overflow -Wno-maybe-uninitialized -Wno-uninitialized" ;;
esac
runner=""
case $platform in
  mingw) runner=wine ;;
  *) [ -z "$arch" ] || runner="qemu-$arch-static -L ${SYSROOT:-$root}" ;;
esac

cd "$(dirname "$0")/.."
build=${BUILD:-build/platforms}/$platform
mkdir -p "$build/include"

if [ "$platform" = mingw ] && [ $# -eq 0 ]; then
  echo "cmake/platforms.sh: name single tests for mingw; the whole suite needs POSIX" >&2
  exit 2
fi
if [ $# -eq 0 ]; then
  cross=""
  if [ -n "$arch" ]; then
    [ -n "${SYSROOT-}" ] || {
      echo "cmake/platforms.sh: the whole suite on $platform needs SYSROOT, or name single tests" >&2
      exit 2
    }
    cross="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$arch -DCMAKE_SYSROOT=$SYSROOT
      -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY
      -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DCMAKE_FIND_ROOT_PATH=$SYSROOT
      -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$arch-static;-L;$SYSROOT"
  fi
  row() { echo "| $platform | $($cxx -dumpfullversion -dumpversion) | $1 |"; }
  # shellcheck disable=SC2086  # lists of words
  if ! { cmake --preset test -B "$build/suite" -DREPEL_BUILD_EXAMPLES=OFF -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_CXX_FLAGS_RELEASE="$level" $cross ${CMAKE_ARGS-} &&
    cmake --build "$build/suite" -- -k 0; } >"$build/build.log" 2>&1; then
    row "does not compile: see $build/build.log"
    exit 1
  fi
  [ "${COMPILE_ONLY-no}" = no ] || {
    row compiles
    exit 0
  }
  failed=0
  ctest --test-dir "$build/suite" -j 2 --output-on-failure >"$build/test.log" 2>&1 || failed=1
  row "$(grep 'tests passed' "$build/test.log"); skipped: $(grep -c '(Skipped)$' "$build/test.log" || true)"
  exit $failed
fi

# Only these folders, so that a cross compiler does not meet this system's other headers.
ln -sfn "${CATCH2:-/usr/include/catch2}" "$build/include/catch2"
eigen=${EIGEN:-/usr/include/eigen3}
compile() {
  # shellcheck disable=SC2086  # lists of words
  "$cxx" -std=c++20 $level $flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I include -I tests \
    -isystem "$build/include" -isystem "$eigen" -DREPEL_GOLDEN_DIR='"tests/golden"' "$@"
}
[ -e "$build/main.o" ] || compile -c tests/main.cpp -o "$build/main.o"
failed=0
for test in "$@"; do
  program=$build/$(echo "$test" | tr / _).exe # Windows wants the ending
  compile "tests/${test}_test.cpp" "$build/main.o" -o "$program" -pthread || {
    echo "| $platform | $test | does not compile |"
    failed=1
    continue
  }
  if [ "${COMPILE_ONLY-no}" = yes ]; then
    echo "| $platform | $test | compiles |"
    continue
  fi
  # shellcheck disable=SC2086
  if $runner "$program" >"$program.log" 2>&1; then
    echo "| $platform | $test | $(tr -d '\r' <"$program.log" | grep -v '^$' | tail -n 1) |"
  else
    echo "| $platform | $test | FAILED: see $program.log |"
    failed=1
  fi
done
exit $failed

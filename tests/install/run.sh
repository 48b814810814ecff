#!/usr/bin/env bash
# Protects the installation: it can be moved, it is found by CMake and by pkg-config, and nothing in it remembers where
# it was built. usage: tests/install/run.sh BUILD_FOLDER
set -euo pipefail
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "install test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/moved"
prefix=$scratch/moved

for file in lib/libsightline.a include/sightline/error.hpp lib/cmake/sightline/sightlineConfig.cmake \
  lib/pkgconfig/sightline.pc share/doc/sightline/LICENSE; do
  [[ -s $prefix/$file ]] || fail "$file is missing"
done

# No path of the build machine, neither in what runs nor in what describes it.
for path in "$source_root" "$scratch/first"; do
  if found=$(grep -rlaF -- "$path" "$prefix"); then fail "the path $path stands in: $found"; fi
done

# The program uses the engine once its header is there.
example=$source_root/tests/install/program.cpp

cmake -S "$source_root/tests/install" -B "$scratch/by-cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$scratch/by-cmake" >/dev/null
"$scratch/by-cmake/program" "$prefix/share/sightline/demo"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046
g++ -std=c++20 "$example" -o "$scratch/by-pkg-config" $(pkg-config --cflags --libs sightline)
"$scratch/by-pkg-config" "$prefix/share/sightline/demo"

if [[ -x $prefix/bin/sightline ]]; then
  (cd / && "$prefix/bin/sightline" version) || fail "the moved binary does not run"
  if [[ -s $prefix/share/sightline/demo/config.json ]]; then
    (cd / && echo "hello" | "$prefix/bin/sightline" tokenize demo >/dev/null) || fail "the moved binary does not find demo"
  fi
fi
echo "install test: passed"

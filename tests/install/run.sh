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

# A user's program, built in both ways; it answers with the demo checkpoint, or says in one line that there is none.
demo=$prefix/share/sightline/demo
run_program() {
  local code=0
  (cd / && "$1" "$demo" "color?") || code=$?
  if [[ -s $demo/config.json ]]; then [[ $code -eq 0 ]]; else [[ $code -eq 2 || $code -eq 3 || $code -eq 4 ]]; fi ||
    fail "$1 ended with $code"
}

cmake -S "$source_root/tests/install" -B "$scratch/by-cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$scratch/by-cmake" >/dev/null
run_program "$scratch/by-cmake/program"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2046
g++ -std=c++20 "$source_root/tests/install/program.cpp" -o "$scratch/by-pkg-config" $(pkg-config --cflags --libs sightline)
run_program "$scratch/by-pkg-config"

if [[ -x $prefix/bin/sightline ]]; then
  (cd / && "$prefix/bin/sightline" version) || fail "the moved binary does not run"
  if [[ -s $prefix/share/sightline/demo/config.json ]]; then
    (cd / && echo "hello" | "$prefix/bin/sightline" tokenize demo >/dev/null) || fail "the moved binary does not find demo"
  fi
fi
echo "install test: passed"

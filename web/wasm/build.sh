#!/bin/sh
# Compiles the calculator (src/calc) and its page interface to WebAssembly. usage, in the repository root:
# web/wasm/build.sh OUT.wasm OBJECTS_DIR
set -eu
mkdir -p "$(dirname "$1")" "$2"
compiler="clang++-19 --target=wasm32-wasi --sysroot=/usr"
flags="-std=c++20 -Os -flto -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra -Isrc -Iweb/wasm"
objects=""
for source in web/wasm/module.cpp src/calc/*.cpp; do
  object="$2/$(basename "$source" .cpp).o"
  # shellcheck disable=SC2086
  $(command -v ccache || true) $compiler $flags -c -o "$object" "$source"
  objects="$objects $object"
done
# shellcheck disable=SC2086
$compiler -flto -Os -mexec-model=reactor -Wl,--strip-all -Wl,--gc-sections ${WASM_LINK:-} -o "$1" $objects

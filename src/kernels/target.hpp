// Opens and closes a region of code compiled for an instruction set that the rest of the program
// does not assume. Every header must be included before the region opens: inline library code must
// not be compiled for it, or the linker could pick that copy for the whole program.
#pragma once

#define SIGHTLINE_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define SIGHTLINE_TARGET_BEGIN(features) \
  SIGHTLINE_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define SIGHTLINE_TARGET_END _Pragma("clang attribute pop")
#else
#define SIGHTLINE_TARGET_BEGIN(features) \
  _Pragma("GCC push_options") SIGHTLINE_PRAGMA(GCC target(features))
#define SIGHTLINE_TARGET_END _Pragma("GCC pop_options")
#endif

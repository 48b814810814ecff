# Toolchain file: compile for aarch64 with Debian's cross compiler. Objects and the static library only: the headers of
# the third-party libraries are taken from this machine (their text does not depend on the processor), after the cross
# compiler's own; their libraries are not there, so nothing is linked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu")
set(fmt_DIR /usr/lib/x86_64-linux-gnu/cmake/fmt)
# /usr/include must never be passed with -isystem: it would come before the cross compiler's C library.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "")
list(APPEND CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES /usr/include)

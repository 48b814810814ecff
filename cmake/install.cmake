# What `cmake --install` lays down: binary, library, headers, demo checkpoint, CMake package and pkg-config file.

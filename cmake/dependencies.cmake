# Everything that sightline links against, found once. Each library is used by one layer (see CMakeLists.txt).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GIF REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
pkg_check_modules(TIFF REQUIRED IMPORTED_TARGET libtiff-4)
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)

# What the static library needs at link time.
set(SIGHTLINE_EXTERNAL_LIBRARIES fmt::fmt Threads::Threads PkgConfig::PCRE2 PkgConfig::UTF8PROC PkgConfig::JPEG
    PkgConfig::PNG PkgConfig::WEBP PkgConfig::TIFF GIF::GIF)

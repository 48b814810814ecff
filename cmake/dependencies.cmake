# Everything that sightline links against, found once. Each library is used by one layer (see CMakeLists.txt).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)

# What the static library needs at link time, by pkg-config module (PkgConfig::NAME). The installed CMake package
# and pkg-config file are written from these two lists.
set(SIGHTLINE_PKG_CONFIG_NAMES PCRE2 UTF8PROC JPEG PNG WEBP TIFF GIF)
set(SIGHTLINE_PKG_CONFIG_PCRE2 libpcre2-8)
set(SIGHTLINE_PKG_CONFIG_UTF8PROC libutf8proc)
set(SIGHTLINE_PKG_CONFIG_JPEG libjpeg)
set(SIGHTLINE_PKG_CONFIG_PNG libpng)
set(SIGHTLINE_PKG_CONFIG_WEBP libwebp libwebpdemux)
set(SIGHTLINE_PKG_CONFIG_TIFF libtiff-4)
set(SIGHTLINE_PKG_CONFIG_GIF libgif)

# Optional: without it video files are refused with an error that says how to get it; animated WebP and folders of frame
# pictures still work.
add_library(sightline_ffmpeg INTERFACE)
if(SIGHTLINE_VIDEO)
  set(SIGHTLINE_PKG_CONFIG_FFMPEG libavformat libavcodec libswscale libavutil)
  pkg_check_modules(FFMPEG QUIET IMPORTED_TARGET ${SIGHTLINE_PKG_CONFIG_FFMPEG})
  if(FFMPEG_FOUND)
    target_link_libraries(sightline_ffmpeg INTERFACE PkgConfig::FFMPEG)
    list(APPEND SIGHTLINE_PKG_CONFIG_NAMES FFMPEG)
  else()
    message(STATUS "Video files will not be read: install libavformat-dev libavcodec-dev libswscale-dev libavutil-dev")
  endif()
endif()

set(SIGHTLINE_EXTERNAL_LIBRARIES fmt::fmt Threads::Threads)
foreach(name IN LISTS SIGHTLINE_PKG_CONFIG_NAMES)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${SIGHTLINE_PKG_CONFIG_${name}})
  list(APPEND SIGHTLINE_EXTERNAL_LIBRARIES PkgConfig::${name})
endforeach()

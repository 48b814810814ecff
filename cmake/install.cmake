# What `cmake --install` lays down: binary, library, headers, demo checkpoint, CMake package and pkg-config file.
# Every path inside is relative to the prefix, so an installed tree can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS sightline EXPORT sightlineTargets ARCHIVE DESTINATION lib)
install(DIRECTORY include/sightline DESTINATION include)
install(FILES LICENSE NOTICE DESTINATION share/doc/sightline)
if(TARGET sightline_cli)
  install(TARGETS sightline_cli RUNTIME DESTINATION bin)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/demo/checkpoint)
  install(DIRECTORY demo/checkpoint/ DESTINATION share/sightline/demo)
endif()

set(find_calls "")
set(pkg_config_requires fmt)
foreach(name IN LISTS SIGHTLINE_PKG_CONFIG_NAMES)
  list(JOIN SIGHTLINE_PKG_CONFIG_${name} " " modules)
  string(APPEND find_calls "sightline_find_module(${name} ${modules})\n")
  list(APPEND pkg_config_requires ${SIGHTLINE_PKG_CONFIG_${name}})
endforeach()
list(JOIN pkg_config_requires " " pkg_config_requires)

configure_package_config_file(cmake/sightlineConfig.cmake.in ${PROJECT_BINARY_DIR}/package/sightlineConfig.cmake
  INSTALL_DESTINATION lib/cmake/sightline NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/sightlineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/sightline.pc.in ${PROJECT_BINARY_DIR}/package/sightline.pc @ONLY)

install(EXPORT sightlineTargets NAMESPACE sightline:: DESTINATION lib/cmake/sightline)
install(FILES ${PROJECT_BINARY_DIR}/package/sightlineConfig.cmake ${PROJECT_BINARY_DIR}/package/sightlineConfigVersion.cmake
  DESTINATION lib/cmake/sightline)
install(FILES ${PROJECT_BINARY_DIR}/package/sightline.pc DESTINATION lib/pkgconfig)

# sightline_layer(NAME USES layers... LINK libraries...): src/NAME/*.cpp as an object library `layer_NAME`.
# A layer without sources yet becomes an interface library, so that the tree can grow folder by folder.
set_property(GLOBAL PROPERTY SIGHTLINE_LAYERS "")

# Our own code: every warning, no source path in the result, and no fused multiply-add that the code does not ask for
# (results must not depend on the compiler's choice).
function(sightline_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" -ffp-contract=off)
  # clang reports std::stable_sort of libstdc++ 12, which uses a deprecated function of its own.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  # gcc 12 sees overlapping copies inside std::string's operator+ that are not there (GCC bug 105651, mended in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(SIGHTLINE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(sightline_layer name)
  cmake_parse_arguments(ARG "" "" "USES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cpp$")
  if(sources)
    add_library(layer_${name} OBJECT ${sources})
    set(scope PUBLIC)
    sightline_compile_options(layer_${name})
  else()
    add_library(layer_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(layer_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(layer_${name} ${scope} layer_${used})
  endforeach()
  target_link_libraries(layer_${name} ${scope} ${ARG_LINK})

  # The layer with everything below it, for whoever links objects.
  set(closure ${ARG_USES})
  foreach(used IN LISTS ARG_USES)
    get_property(below GLOBAL PROPERTY SIGHTLINE_BELOW_${used})
    list(APPEND closure ${below})
  endforeach()
  list(APPEND closure ${name})
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY SIGHTLINE_BELOW_${name} ${closure})
  set_property(GLOBAL APPEND PROPERTY SIGHTLINE_LAYERS ${name})
endfunction()

# sightline_embed_sources(NAME layers...): the .cpp files of these layers as text inside layer NAME, made anew when one of
# them changes (src/audit/embedded_sources.hpp).
function(sightline_embed_sources name)
  set(files "")
  foreach(layer IN LISTS ARGN)
    file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp)
    list(APPEND files ${sources})
  endforeach()
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  string(REPLACE ";" "," joined "${files}")
  set(out ${PROJECT_BINARY_DIR}/generated/embedded_sources.cpp)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DFILES=${joined} -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_sources.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed_sources.cmake COMMENT "Embedding model sources" VERBATIM)
  target_sources(layer_${name} PRIVATE ${out})
endfunction()

# sightline_link_layer(TARGET NAME): links layer NAME and every layer below it. Object files do not travel through
# target_link_libraries of object libraries, so each layer is linked by name.
function(sightline_link_layer target name)
  get_property(closure GLOBAL PROPERTY SIGHTLINE_BELOW_${name})
  foreach(layer IN LISTS closure)
    target_link_libraries(${target} PRIVATE layer_${layer})
  endforeach()
endfunction()

# The installed static library: the objects of every layer declared so far.
function(sightline_library)
  get_property(layers GLOBAL PROPERTY SIGHTLINE_LAYERS)
  add_library(sightline STATIC)
  add_library(sightline::sightline ALIAS sightline)
  set_target_properties(sightline PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(sightline PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(sightline PUBLIC cxx_std_20)
  foreach(layer IN LISTS layers)
    get_target_property(type layer_${layer} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY")
      target_sources(sightline PRIVATE $<TARGET_OBJECTS:layer_${layer}>)
    endif()
  endforeach()
  target_link_libraries(sightline PRIVATE ${SIGHTLINE_EXTERNAL_LIBRARIES})
endfunction()

# The binary `sightline` at the top of the build folder, with the demo checkpoint beside it as in an installation.
function(sightline_executable)
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
    add_executable(sightline_cli ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
    set_target_properties(sightline_cli PROPERTIES OUTPUT_NAME sightline RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    sightline_compile_options(sightline_cli)
    sightline_link_layer(sightline_cli cli)
  endif()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/sightline)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/demo/checkpoint ${PROJECT_BINARY_DIR}/share/sightline/demo SYMBOLIC)
endfunction()

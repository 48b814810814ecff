# Writes a C++ file that holds the text of other source files, for `sightline source`.
#   cmake -DROOT=DIR -DFILES=a,b,... -DOUT=FILE -P embed_sources.cmake
# FILES are paths below ROOT, separated by commas.
string(REPLACE "," ";" files "${FILES}")
list(SORT files)
set(text "// Made by cmake/embed_sources.cmake from the files that it names; not to be edited.\n")
string(APPEND text "#include \"audit/embedded_sources.hpp\"\n\nnamespace sightline::audit {\nnamespace {\n")
string(APPEND text "constexpr EmbeddedFile kFiles[] = {\n")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" content)
  string(FIND "${content}" ")sightline_source\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file}: holds the delimiter of embedded text")
  endif()
  string(APPEND text "{\"${file}\", R\"sightline_source(${content})sightline_source\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nstd::span<const EmbeddedFile> embedded_files() { return kFiles; }\n}\n")
file(WRITE "${OUT}" "${text}")

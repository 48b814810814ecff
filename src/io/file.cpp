// Reading and writing whole files with named errors (file.hpp).
#include "io/file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sightline/error.hpp"

namespace sightline::io {
namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) {
    throw Error(Code::file_not_found, fmt::format("{}: no such file", path), {{"file", path}});
  }
  if (fs::is_directory(status)) {
    throw Error(Code::file_unreadable, fmt::format("{}: expected a file, found a directory", path), {{"file", path}});
  }
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.good() && !stream.eof()) {
    throw Error(Code::file_unreadable, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)), {{"file", path}});
  }
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  std::error_code failure;
  if (stream.good()) fs::rename(temporary, path, failure);
  if (!stream.good() || failure) {
    const std::string why = failure ? failure.message() : std::strerror(errno);
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(Code::file_unwritable, fmt::format("{}: cannot be written: {}", path, why), {{"file", path}});
  }
}

bool is_file(const std::string& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

}  // namespace sightline::io

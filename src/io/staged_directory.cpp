// Temporary neighbour, rename (staged_directory.hpp).
#include "io/staged_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "sightline/error.hpp"

namespace sightline::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(Code::file_unwritable, fmt::format("{}: {}", path, why), {{"file", path}});
}

}  // namespace

StagedDirectory::StagedDirectory(const std::string& out) {
  if (out.empty()) fail("''", "expected the name of a directory, found an empty one");
  std::error_code error;
  out_ = fs::absolute(out, error).lexically_normal();
  if (error) fail(out, fmt::format("cannot be made: {}", error.message()));
  if (out_.filename().empty()) out_ = out_.parent_path();
  // A link to a directory stands for that directory; the rename at the end cannot replace a link.
  if (fs::is_symlink(fs::symlink_status(out_, error))) {
    out_ = fs::canonical(out_, error);
    if (error) fail(out, "is a link to nothing: give another name, or remove it");
  }
  if (fs::exists(out_, error) && (!fs::is_directory(out_, error) || !fs::is_empty(out_, error)))
    fail(out, "exists and is not an empty directory: give another name, or remove it");
  path_ = fmt::format("{}.{}.part", out_.string(), ::getpid());
  fs::create_directories(out_.parent_path(), error);
  if (!fs::create_directory(path_, error))
    fail(path_.string(), fmt::format("cannot be made: {}", error.message()));
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(path_, ignored);
}

void StagedDirectory::check_space(std::int64_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes)) return;
  fail(out_.string(),
       fmt::format("expected {} free bytes for the weights, found {}", bytes, space.available));
}

void StagedDirectory::commit() {
  std::error_code error;
  fs::rename(path_, out_, error);
  if (error) fail(out_.string(), fmt::format("cannot be made: {}", error.message()));
  committed_ = true;
}

}  // namespace sightline::io

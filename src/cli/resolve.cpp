// Where models lie. Layout of the cache (huggingface_hub): HUB/models--ORG--NAME/refs/BRANCH holds
// a commit, HUB/models--ORG--NAME/snapshots/COMMIT is the directory.
#include "cli/resolve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "io/file.hpp"
#include "sightline/error.hpp"

namespace sightline::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIdBytes = 96;  // of the whole repository id; rule of the hub
constexpr std::size_t kMaxReferenceBytes = 4096;

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// A variable that is set and not empty.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// The path in a variable, with "~" for HOME as the hub's own tools read it.
std::optional<fs::path> environment_path(const char* name) {
  const auto value = environment(name);
  if (!value) return std::nullopt;
  const auto home = environment("HOME");
  const bool in_home = home && (*value == "~" || value->starts_with("~/"));
  return in_home ? fs::path(*home + value->substr(1)) : fs::path(*value);
}

/// The cache's folder of repositories; nothing when neither a variable nor HOME says where.
std::optional<fs::path> hub_directory() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto hub = environment_path(name)) return hub;
  }
  if (const auto home = environment_path("HF_HOME")) return *home / "hub";
  if (const auto cache = environment_path("XDG_CACHE_HOME")) return *cache / "huggingface" / "hub";
  if (const auto home = environment("HOME")) {
    return fs::path(*home) / ".cache" / "huggingface" / "hub";
  }
  return std::nullopt;
}

[[noreturn]] void fail_not_found(const std::string& model, const std::vector<std::string>& tried) {
  throw Error(Code::model_not_found,
              fmt::format("model '{}' was not found; tried {}; expected a checkpoint directory, "
                          "'demo', or a repository id such as Qwen/Qwen3.5-2B in the Hugging Face "
                          "cache (nothing is downloaded)",
                          model, fmt::join(tried, "; ")),
              {{"model", model}, {"tried", fmt::format("{}", fmt::join(tried, "; "))}});
}

std::string resolve_demo() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> tried;
  if (error) fail_not_found("demo", {"/proc/self/exe, which cannot be read"});
  for (const char* place : {"../share/sightline/demo", "share/sightline/demo"}) {
    const fs::path directory = (binary.parent_path() / place).lexically_normal();
    if (directory_exists(directory)) return directory.string();
    tried.push_back(directory.string());
  }
  fail_not_found("demo", tried);
}

/// The commit that a branch or tag names, or nothing.
std::optional<std::string> read_reference(const fs::path& repository, const std::string& name) {
  const fs::path file = repository / "refs" / name;
  if (!io::is_file(file.string())) return std::nullopt;
  std::string commit = io::read_file(file.string(), kMaxReferenceBytes);
  while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back())) != 0) {
    commit.pop_back();
  }
  return commit;
}

/// A path below the repository that a revision may spell: no empty, "." or ".." component.
bool is_revision(const std::string& text) {
  if (text.empty() || text.front() == '/') return false;
  for (const fs::path& part : fs::path(text)) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

std::string resolve_repository(const std::string& model, const std::string& revision,
                               std::vector<std::string> tried) {
  const std::optional<fs::path> hub = hub_directory();
  if (!hub) {
    tried.emplace_back("the Hugging Face cache, but none of HF_HUB_CACHE, HF_HOME and HOME is set");
    fail_not_found(model, tried);
  }
  std::string folder = "models--" + model;
  const std::size_t slash = folder.find('/');
  if (slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path repository = *hub / folder;
  if (!directory_exists(repository)) {
    tried.push_back(repository.string());
    fail_not_found(model, tried);
  }
  const std::string commit = read_reference(repository, revision).value_or(revision);
  const fs::path snapshot = repository / "snapshots" / commit;
  if (is_revision(commit) && directory_exists(snapshot)) return snapshot.string();
  tried.push_back((repository / "refs" / revision).string());
  tried.push_back(snapshot.string());
  fail_not_found(model, tried);
}

}  // namespace

bool is_repository_id(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (text.empty() || text.size() > kMaxIdBytes || text.find("..") != std::string::npos ||
      text.find("--") != std::string::npos) {
    return false;
  }
  if (slash != std::string::npos &&
      (slash == 0 || slash + 1 == text.size() || text.find('/', slash + 1) != std::string::npos)) {
    return false;
  }
  for (const char c : text) {
    const bool allowed = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                         c == '.' || c == '/';
    if (!allowed) return false;
  }
  return text.front() != '.' && text.front() != '-';
}

std::string resolve_model(const std::string& model, const std::optional<std::string>& revision) {
  if (revision && !is_revision(*revision)) {
    throw Error(Code::invalid_option,
                fmt::format("--revision: expected a branch, tag or commit, found '{}'", *revision));
  }
  const bool directory = model != "demo" && directory_exists(model);
  if (revision && (directory || model == "demo")) {
    throw Error(
        Code::usage,
        fmt::format("--revision: '{}' is a directory; only a repository id has revisions", model));
  }
  if (model == "demo") return resolve_demo();
  if (directory) return model;
  const std::vector<std::string> tried{fmt::format("directory '{}'", model)};
  if (!is_repository_id(model)) fail_not_found(model, tried);
  return resolve_repository(model, revision.value_or("main"), tried);
}

}  // namespace sightline::cli

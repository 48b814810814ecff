// Processes, temporary folders and the test checkpoint.
#include "binary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "image/png_write.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

namespace fs = std::filesystem;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(const Surroundings& around) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : around.environment) {
      replaced = replaced || text.starts_with(name + "=");
    }
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : around.environment) {
    if (value) result.push_back(name + "=" + *value);
  }
  return result;
}

/// Starts the binary with the three descriptors; returns its process id.
int start(const std::vector<std::string>& arguments, const Surroundings& around,
          const std::array<int, 3>& streams) {
  const std::string binary = around.binary.empty() ? binary_path() : around.binary;
  std::vector<std::string> words{binary}, environment = environment_of(around);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = pointers(words), env = pointers(environment);
  const int pid = fork();
  if (pid != 0) return pid;
  for (int i = 0; i < 3; ++i) dup2(streams[static_cast<std::size_t>(i)], i);
  if (!around.folder.empty() && chdir(around.folder.c_str()) != 0) _exit(126);
  execve(binary.c_str(), argv.data(), env.data());
  _exit(127);
}

int status_of(int pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::vector<std::string> Finished::lines() const {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while (begin < out.size()) {
    const std::size_t end = std::min(out.find('\n', begin), out.size());
    result.push_back(out.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

io::Json Finished::json() const { return io::parse_json(out, "standard output"); }

Finished sightline(const std::vector<std::string>& arguments, const Surroundings& around) {
  const Folder folder;
  const std::string input = folder.write("in", around.input);
  const int in = open(input.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = open(folder.path("out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int err = open(folder.path("err").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int code = status_of(start(arguments, around, {in, out, err}));
  for (const int fd : {in, out, err}) close(fd);
  return {code, io::read_file(folder.path("out")), io::read_file(folder.path("err"))};
}

Running::Running(const std::vector<std::string>& arguments, const std::string& input,
                 const std::string& error_file)
    : input_file_(fs::temp_directory_path() / fmt::format("sightline-e2e-in-{}", getpid())) {
  io::write_file(input_file_.string(), input);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  (void)fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(sysconf(_SC_PAGESIZE)));
  const int in = open(input_file_.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = open(error_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  pid_ = start(arguments, {}, {in, ends[1], error});
  for (const int fd : {in, error, ends[1]}) close(fd);
  out_ = ends[0];
}

Running::~Running() {
  close_output();
  if (pid_ > 0) (void)wait();
  fs::remove(input_file_);
}

std::string Running::read_some() {
  std::array<char, 4096> block{};
  const ssize_t count = read(out_, block.data(), block.size());
  return {block.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

void Running::close_output() {
  if (out_ >= 0) close(out_);
  out_ = -1;
}

void Running::signal(int number) const { kill(pid_, number); }

int Running::wait() {
  const int code = status_of(pid_);
  pid_ = -1;
  return code;
}

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "sightline-e2e-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string Folder::path(const std::string& name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

std::string Folder::write(const std::string& name, std::string_view text) const {
  fs::create_directories((path_ / name).parent_path());
  io::write_file(path(name), text);
  return path(name);
}

void Folder::link(const std::string& data_file, const std::string& name) const {
  fs::create_symlink(data(data_file), path(name));
}

std::string binary_path() { return fs::absolute(SIGHTLINE_BINARY).string(); }

std::string data(const std::string& name) {
  return (fs::absolute(SIGHTLINE_TEST_DATA) / name).string();
}

std::string write_picture(const Folder& folder, const std::string& name, std::int64_t width,
                          std::int64_t height) {
  image::Image picture{width, height, {}};
  picture.rgb.resize(static_cast<std::size_t>(width * height * 3));
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb[i] = static_cast<std::uint8_t>(i * 7);
  }
  image::write_png(picture, folder.path(name));
  return folder.path(name);
}

}  // namespace sightline::e2e

// Runs the built binary as a user would: arguments, standard input, environment and folder in;
// exit code, standard output and standard error out. Also temporary folders for what tests write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json.hpp"

namespace sightline::e2e {

struct Finished {
  int code = 0;  ///< exit status, or 128 + signal
  std::string out, err;

  [[nodiscard]] std::vector<std::string> lines() const;  ///< of standard output
  [[nodiscard]] io::Json json() const;                   ///< standard output as one document
};

struct Surroundings {
  std::string input = {};
  /// Variables to set, or to remove (no value).
  std::vector<std::pair<std::string, std::optional<std::string>>> environment = {};
  std::string folder = {};  ///< to run in; empty: the test's
  std::string binary = {};  ///< empty: the built one
};

Finished sightline(const std::vector<std::string>& arguments, const Surroundings& around = {});

/// A running binary whose standard output is a pipe held by the test. The pipe holds one page: a
/// program that has more to say waits for the test to read.
class Running {
 public:
  /// Standard error goes to `error_file`, if there is one.
  explicit Running(const std::vector<std::string>& arguments, const std::string& input = {},
                   const std::string& error_file = "/dev/null");
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::string read_some();  ///< what comes next on standard output; empty at its end
  void close_output();
  void signal(int number) const;
  int wait();  ///< exit status, or 128 + signal

 private:
  int pid_ = -1, out_ = -1;
  std::filesystem::path input_file_;
};

/// A folder that goes away with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name = "") const;
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view text) const;
  /// A link to a file of tests/data.
  void link(const std::string& data_file, const std::string& name) const;

 private:
  std::filesystem::path path_;
};

/// The built binary, as an absolute path.
std::string binary_path();
/// An absolute path below tests/data.
std::string data(const std::string& name);
/// Writes a plain picture (8-bit RGB PNG).
std::string write_picture(const Folder& folder, const std::string& name, std::int64_t width,
                          std::int64_t height);
/// A small random checkpoint that can be asked: the weights of a model of tests/data/models with a
/// byte-level tokenizer of 512 ids, the published template and processor files. What it answers
/// means nothing.
void write_checkpoint(const Folder& folder, const std::string& model = "dense");
/// Makes that checkpoint one whose answers end at --max-tokens alone.
void leave_out_end_tokens(const Folder& folder);

}  // namespace sightline::e2e

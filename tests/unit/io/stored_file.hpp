// Builds safetensors bytes, right or wrong, and directories of them, for the tests of io/ and
// above. Independent of the writer under test: the header is the text that a test gives.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "sightline/error.hpp"

namespace sightline::io::testing {

/// Length, header, data.
inline std::string stored(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  bytes += header;
  bytes += data;
  return bytes;
}

/// The bytes of float32 values.
inline std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// An empty directory of this test, removed at its end.
class Directory {
 public:
  Directory() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            (std::string("sightline-") + std::to_string(getpid()) + "-" + info->test_suite_name() +
             "-" + info->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return file(name);
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

/// The Error that a call throws: its code and its message, "" if it throws none.
struct Failure {
  Code code = Code::internal;
  std::string message;
};

template <class Call>
Failure failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

#define EXPECT_FAILS(call, expected_code, part)                               \
  do {                                                                        \
    const auto failure = ::sightline::io::testing::failure_of([&] { call; }); \
    EXPECT_EQ(::sightline::code_name(failure.code),                           \
              std::string(::sightline::code_name(expected_code)))             \
        << failure.message;                                                   \
    EXPECT_NE(failure.message.find(part), std::string::npos)                  \
        << "message: " << failure.message << "\nwanted:  " << (part);         \
    EXPECT_EQ(failure.message.find('\n'), std::string::npos);                 \
  } while (false)

}  // namespace sightline::io::testing

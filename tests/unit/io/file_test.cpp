// What these protect: a read always ends and names its file when it fails; a write leaves all or
// nothing.
#include "io/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sightline/error.hpp"

namespace sightline::io {
namespace {
namespace fs = std::filesystem;

// A folder of its own for each test.
class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sightline_file_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  fs::path folder_;
};

template <class Call>
std::string message_of(Code code, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(code_name(error.code()), std::string(code_name(code)));
    EXPECT_EQ(error.context().at(0).first, "file");
    return error.what();
  }
  return "no error";
}

TEST_F(File, RoundTrip) {
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(i * 7);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{65536}, bytes.size()}) {
    write_file(path("a"), std::string_view(bytes).substr(0, size));
    EXPECT_EQ(read_file(path("a")), bytes.substr(0, size));
  }
  EXPECT_EQ(entries(), 1U) << "no temporary file stays";
}

TEST_F(File, WhatCanNotBeReadIsNamed) {
  EXPECT_EQ(message_of(Code::file_not_found, [&] { read_file(path("none")); }),
            path("none") + ": no such file");
  EXPECT_EQ(message_of(Code::file_not_found, [&] { read_file(""); }),
            "'': expected the name of a file, found an empty one");
  write_file(path("a"), "x");
  message_of(Code::file_not_found, [&] { read_file(path("a/b")); });
  EXPECT_EQ(message_of(Code::file_unreadable, [&] { read_file(folder_.string()); }),
            folder_.string() + ": expected a file, found a directory");
  fs::create_symlink("loop", path("loop"));
  message_of(Code::file_unreadable, [&] { read_file(path("loop")); });
  if (::geteuid() != 0) {
    fs::permissions(path("a"), fs::perms::none);
    message_of(Code::file_unreadable, [&] { read_file(path("a")); });
  }
}

// "<(command)" and /dev/stdin are pipes; one without a writer must not be waited for.
TEST_F(File, PipesAreReadToTheirEnd) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(path("pipe")), "");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::jthread writer([&] {
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(::write(ends[1], "some words", 10), 10);
    ::close(ends[1]);
  });
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])).size(), 10000U);
  ::close(ends[0]);
}

// /dev/zero would fill the memory.
TEST_F(File, DevicesAreRefused) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(message_of(Code::file_unreadable, [&] { read_file("/dev/zero"); }),
            "/dev/zero: expected a file, found a device");
  EXPECT_FALSE(is_file(path("pipe")));
  EXPECT_FALSE(is_file("/dev/zero"));
}

// Some files tell no size beforehand.
TEST_F(File, SizelessFiles) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

TEST_F(File, SizeIsLimitedBeforeAllocation) {
  std::ofstream(path("sparse")) << 'x';
  fs::resize_file(path("sparse"), std::uintmax_t{1} << 40);
  EXPECT_EQ(message_of(Code::file_too_large, [&] { read_file(path("sparse")); }),
            path("sparse") + ": expected at most 1073741824 bytes, found more");
  write_file(path("a"), "12345");
  EXPECT_EQ(read_file(path("a"), 5), "12345");
  message_of(Code::file_too_large, [&] { read_file(path("a"), 4); });
  message_of(Code::file_too_large, [&] { read_file("/proc/self/status", 4); });
}

TEST_F(File, FailedWritesLeaveNothing) {
  message_of(Code::file_unwritable, [&] { write_file(path("no/such/folder"), "x"); });
  message_of(Code::file_unwritable, [&] { write_file(folder_.string(), "x"); });
  message_of(Code::file_unwritable, [&] { write_file("/dev/full", "x"); });
  EXPECT_EQ(entries(), 0U);
}

// A folder where a file may be left out is no file left out.
TEST_F(File, WhatMayBeLeftOutIsAFileOrNothing) {
  EXPECT_FALSE(has_file(path("none")));
  write_file(path("a"), "x");
  EXPECT_TRUE(has_file(path("a")));
  fs::create_directory(path("folder"));
  EXPECT_EQ(message_of(Code::file_unreadable, [&] { has_file(path("folder")); }),
            path("folder") + ": expected a file, found a directory");
  EXPECT_EQ(message_of(Code::file_unreadable, [&] { has_file("/dev/zero"); }),
            "/dev/zero: expected a file, found a device or a pipe");
}

// /dev/stdout and the like must not be replaced by a file, a link must keep pointing to its target.
TEST_F(File, WritesThroughDevicesAndLinks) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
  EXPECT_TRUE(is_file(path("link")));
}

}  // namespace
}  // namespace sightline::io

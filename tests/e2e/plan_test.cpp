// `sightline plan` beside `sightline run`. Protects: the memory that a plan foretells is at least
// what the run takes, and near it.
#include <gtest/gtest.h>

#include "binary.hpp"

namespace sightline::e2e {
namespace {

TEST(Plan, ForetellsTheMemoryOfARun) {
#if defined(__clang__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  const Folder folder;
  const std::string picture = write_picture(folder, "picture.png", 640, 480);
  for (const char* isa : {"auto", "reference"}) {
    const Finished plan = sightline(
        {"plan", "demo", "--json", "--isa", isa, "--image", "640x480", "What do you see?"});
    ASSERT_EQ(plan.code, 0) << plan.err;
    const std::int64_t foretold = plan.json().find("memory")->find("total")->as_int();
    const Finished run = sightline({"run", "demo", "--json", "--isa", isa, "--max-tokens", "4",
                                    "-i", picture, "What do you see?"});
    ASSERT_EQ(run.code, 0) << run.err;
    const std::int64_t used = run.json().find("peak_memory_bytes")->as_int();
    EXPECT_GE(foretold, used) << isa;
    EXPECT_LE(foretold, used + used / 4) << isa;
  }
}

}  // namespace
}  // namespace sightline::e2e

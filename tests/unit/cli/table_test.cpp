// Protects: tables stay aligned with wide characters and inside their width, whatever they show.
#include "cli/table.hpp"

#include <gtest/gtest.h>

namespace sightline::cli {
namespace {

TEST(Table, AlignsByWhatATerminalShows) {
  Table table({{"name"}, {"n", true}});
  table.row({"图片.png", "1"});
  table.row({"a\tb", "1,234"});
  EXPECT_EQ(table.text(),
            "name          n\n"
            "图片.png      1\n"
            "a\\x09b    1,234\n");
}

TEST(Table, OnlyColumnsThatGiveAreCut) {
  Table table({{"path", false, true}, {"class"}});
  table.row({"model.language_model.layers.23.mlp", "Qwen3_5MLP"});
  EXPECT_EQ(table.text(30),
            "path                class\n"
            "model.language_...  Qwen3_5MLP\n");
}

TEST(Table, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("图片图片图片", 8), "图片...");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 2), "..");
  EXPECT_EQ(display_width("e\u0301图\xff"), 4U);
}

TEST(Table, Markdown) {
  Table table({{"a|b"}, {"n", true}});
  table.row({"x", "1"});
  EXPECT_EQ(table.markdown(), "| a\\|b | n |\n| --- | ---: |\n| x | 1 |\n");
}

TEST(Numbers, AsPeopleReadThem) {
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(byte_text(512), "512 B");
  EXPECT_EQ(byte_text(std::int64_t{61} * 1024 * 1024), "61.0 MiB");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'250'000), "1.2 M");
  EXPECT_EQ(count_text(2.5e15), "2500 T");
}

}  // namespace
}  // namespace sightline::cli

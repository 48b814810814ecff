// Protects: three-axis positions (bug log D): the worked example of specification 4.5, clips, and
// mismatching counts.
#include "model/positions.hpp"

#include <gtest/gtest.h>

#include "sightline/error.hpp"

namespace sightline::model {
namespace {

std::vector<TokenType> run_of(std::initializer_list<std::pair<TokenType, std::size_t>> runs) {
  std::vector<TokenType> types;
  for (const auto& [type, count] : runs) types.insert(types.end(), count, type);
  return types;
}

TEST(Positions, TheWorkedExample) {
  const auto types = run_of({{TokenType::text, 4}, {TokenType::image, 64}, {TokenType::text, 12}});
  const std::vector<nn::Grid> grids{{1, 16, 16}};
  nn::Positions positions;
  const std::int64_t next = append_positions(types, grids, {}, 2, 0, positions);
  ASSERT_EQ(positions.rows(), 80);
  const auto at = [&](std::size_t i) {
    return std::array{positions.axes[0][i], positions.axes[1][i], positions.axes[2][i]};
  };
  EXPECT_EQ(at(3), (std::array{3, 3, 3}));
  EXPECT_EQ(at(4), (std::array{4, 4, 4}));
  EXPECT_EQ(at(67), (std::array{4, 11, 11}));
  EXPECT_EQ(at(68), (std::array{12, 12, 12}));
  EXPECT_EQ(at(79), (std::array{23, 23, 23}));
  EXPECT_EQ(next - 80, -56);
}

// Bug log D3: 30 frames of 640x384 give 15 groups of 240 tokens; T is constant inside a group.
TEST(Positions, EveryGroupOfAClipIsARunOfItsOwn) {
  std::vector<TokenType> types;
  for (int group = 0; group < 15; ++group) {
    types.insert(types.end(), 6, TokenType::text);
    types.insert(types.end(), 240, TokenType::video);
  }
  const std::vector<nn::Grid> clips{{15, 24, 40}};
  nn::Positions positions;
  append_positions(types, {}, clips, 2, 0, positions);
  for (std::size_t i = 0; i < 240; ++i) EXPECT_EQ(positions.axes[0][6 + i], 6);
  // A group advances by its longer side (20), text by its length.
  EXPECT_EQ(positions.axes[0][246], 26);
}

TEST(Positions, MismatchNamesBothCounts) {
  const auto types = run_of({{TokenType::image, 63}});
  const std::vector<nn::Grid> grids{{1, 16, 16}};
  nn::Positions positions;
  try {
    append_positions(types, grids, {}, 2, 0, positions);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::placeholder_mismatch);
    EXPECT_NE(std::string(error.what()).find("63"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("64"), std::string::npos);
  }
}

TEST(Positions, NegativeIdsMatchNothing) {
  const std::vector<std::int32_t> ids{-1, 5};
  EXPECT_EQ(token_types(ids, -1, 5)[0], TokenType::text);
  EXPECT_EQ(token_types(ids, -1, 5)[1], TokenType::video);
}

}  // namespace
}  // namespace sightline::model

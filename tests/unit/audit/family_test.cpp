// Protects: parameters of every published size, counted over what each model claims, are those of
// the specification's table: vision, language, head, MTP, total, number of tensors.
#include "audit/family.hpp"

#include <gtest/gtest.h>

#include "audit/parameters.hpp"
#include "audit/subject.hpp"

namespace sightline::audit {
namespace {

struct Row {
  const char* name;
  std::int64_t vision, language, head, mtp, total, tensors;  // head 0: tied
};

class PublishedSize : public ::testing::TestWithParam<Row> {};

// Specification 1.4.
TEST_P(PublishedSize, HasTheParametersOfTheTable) {
  const Row& row = GetParam();
  const FamilyMember* member = find_member(row.name);
  ASSERT_NE(member, nullptr);
  const auto model = subject_of(*member).declare();
  const ParameterCounts counts = count_parameters(model->info(), module_tree(model->info().report));
  EXPECT_EQ(counts.vision, row.vision);
  EXPECT_EQ(counts.language, row.language);
  EXPECT_EQ(counts.head, row.head);
  EXPECT_EQ(counts.mtp, row.mtp);
  EXPECT_EQ(counts.total(), row.total);
  EXPECT_EQ(counts.tensors, row.tensors);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PublishedSize,
    ::testing::Values(
        Row{"qwen3.5-0.8b", 100'592'896, 752'393'024, 0, 20'452'864, 873'438'784, 488},
        Row{"qwen3.5-2b", 331'416'576, 1'881'825'088, 0, 60'828'160, 2'274'069'824, 632},
        Row{"qwen3.5-4b", 333'514'240, 4'205'751'296, 0, 120'599'552, 4'659'865'088, 738},
        Row{"qwen3.5-9b", 456'010'480, 7'936'684'544, 1'017'118'720, 243'290'624, 9'653'104'368,
            775},
        Row{"qwen3.5-27b", 460'730'096, 25'624'600'064, 1'271'398'400, 424'699'392, 27'781'427'952,
            1199},
        Row{"qwen3.5-35b-a3b", 446'571'248, 34'152'051'328, 508'559'360, 844'640'768,
            35'951'822'704, 1811},
        Row{"qwen3.5-122b-a10b", 451'290'864, 121'348'687'872, 762'839'040, 2'523'679'232,
            125'086'497'008, 1949},
        Row{"qwen3.5-397b-a17b", 456'010'480, 395'329'231'616, 1'017'118'720, 6'595'568'128,
            403'397'928'944, 2924}));

TEST(Family, EverySizeIsInTheTableAndIsFoundByItsName) {
  EXPECT_EQ(family().size(), 8U);
  for (const FamilyMember& member : family()) EXPECT_EQ(find_member(member.name), &member);
  EXPECT_EQ(find_member("QWEN3.5-2B"), find_member("qwen3.5-2b"));
  EXPECT_EQ(find_member("qwen3.5-3b"), nullptr);
}

}  // namespace
}  // namespace sightline::audit

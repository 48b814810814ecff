// What these protect: codes are stable strings that scripts match, and a domain fixes the exit
// code.
#include "sightline/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sightline {
namespace {

const std::vector<Code> kAllCodes = {
#define SIGHTLINE_X(code, domain) Code::code,
    SIGHTLINE_ERROR_CODES(SIGHTLINE_X)
#undef SIGHTLINE_X
};

TEST(Error, NamesAndDomainsComeFromOneTable) {
  EXPECT_STREQ(code_name(Code::missing_tensor), "missing_tensor");
  EXPECT_STREQ(code_name(Code::internal), "internal");
  EXPECT_EQ(code_domain(Code::missing_tensor), Domain::checkpoint);
  EXPECT_EQ(code_domain(Code::image_too_large), Domain::limit);
  std::set<std::string> names;
  for (const Code code : kAllCodes) names.insert(code_name(code));
  EXPECT_EQ(names.size(), kAllCodes.size());
}

TEST(Error, ExitCodes) {
  EXPECT_EQ(exit_code(Domain::usage), 2);
  EXPECT_EQ(exit_code(Domain::input), 3);
  EXPECT_EQ(exit_code(Domain::checkpoint), 4);
  EXPECT_EQ(exit_code(Domain::limit), 5);
  EXPECT_EQ(exit_code(Domain::internal), 70);
  EXPECT_EQ(exit_code(Domain::cancelled), 130);
}

TEST(Error, CarriesItsParts) {
  const Error error(Code::tensor_shape, "m.safetensors: x: expected [2], found [3]",
                    {{"tensor", "x"}});
  EXPECT_EQ(error.code(), Code::tensor_shape);
  EXPECT_EQ(error.domain(), Domain::checkpoint);
  EXPECT_STREQ(error.what(), "m.safetensors: x: expected [2], found [3]");
  EXPECT_EQ(error.context(), (Error::Context{{"tensor", "x"}}));
}

}  // namespace
}  // namespace sightline

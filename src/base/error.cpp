// The table behind include/sightline/error.hpp: spelling and domain of every code.
#include "sightline/error.hpp"

#include <array>
#include <cstddef>

namespace sightline {
namespace {

struct Entry {
  const char* name;
  Domain domain;
};

constexpr std::array kTable{
#define SIGHTLINE_X(code, domain) Entry{#code, Domain::domain},
    SIGHTLINE_ERROR_CODES(SIGHTLINE_X)
#undef SIGHTLINE_X
};

}  // namespace

const char* code_name(Code code) noexcept { return kTable[static_cast<std::size_t>(code)].name; }

Domain code_domain(Code code) noexcept { return kTable[static_cast<std::size_t>(code)].domain; }

int exit_code(Domain domain) noexcept {
  switch (domain) {
    case Domain::usage:
      return 2;
    case Domain::input:
      return 3;
    case Domain::checkpoint:
      return 4;
    case Domain::limit:
      return 5;
    case Domain::cancelled:
      return 130;
    case Domain::internal:
      break;
  }
  return 70;
}

}  // namespace sightline

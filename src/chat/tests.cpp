// The tests of `value is name`.
#include <fmt/format.h>

#include <algorithm>

#include "chat/library.hpp"
#include "chat/operators.hpp"

namespace sightline::chat {
namespace {

const Value& argument(Interpreter& vm, const Arguments& arguments) {
  if (arguments.positional.size() != 1) vm.fail("the test takes one argument");
  return arguments.positional[0];
}

bool is_defined(Interpreter&, const Value& v, const Arguments&) { return !v.is_undefined(); }
bool is_undefined(Interpreter&, const Value& v, const Arguments&) { return v.is_undefined(); }
bool is_none(Interpreter&, const Value& v, const Arguments&) { return v.is_none(); }
bool is_boolean(Interpreter&, const Value& v, const Arguments&) { return v.is_bool(); }
bool is_false(Interpreter&, const Value& v, const Arguments&) {
  return v.is_bool() && v.integer() == 0;
}
bool is_true_value(Interpreter&, const Value& v, const Arguments&) {
  return v.is_bool() && v.integer() != 0;
}
bool is_integer(Interpreter&, const Value& v, const Arguments&) { return v.is_int(); }
bool is_float(Interpreter&, const Value& v, const Arguments&) { return v.is_real(); }
bool is_number(Interpreter&, const Value& v, const Arguments&) { return v.is_number(); }
bool is_string(Interpreter&, const Value& v, const Arguments&) { return v.is_string(); }
bool is_mapping(Interpreter&, const Value& v, const Arguments&) { return v.is_dict(); }
bool is_sequence(Interpreter&, const Value& v, const Arguments&) {
  // What has both a length and items by index, as far as Python's attributes go: Undefined too.
  if (!v.is_sequence()) return v.is_string() || v.is_dict() || v.is_undefined();
  return v.sequence().kind <= Sequence::Kind::tuple || v.sequence().kind == Sequence::Kind::range;
}
bool is_iterable(Interpreter&, const Value& v, const Arguments&) {
  return v.is_sequence() || v.is_string() || v.is_dict() || v.is_undefined() ||
         v.is<std::shared_ptr<Loop>>();
}
bool is_callable(Interpreter&, const Value& v, const Arguments&) {
  return v.is<std::shared_ptr<const Callable>>() || v.is<std::shared_ptr<Loop>>() ||
         v.is_undefined();
}
bool is_escaped(Interpreter&, const Value& v, const Arguments&) {
  return v.is_string() && v.markup();
}

bool is_case(Interpreter& vm, const Value& v, const char* method) {
  const Value text = vm.make_text(vm.to_text(v));
  return is_true(find_method(text, method)(vm, text, {}));
}
bool is_lower(Interpreter& vm, const Value& v, const Arguments&) {
  return is_case(vm, v, "islower");
}
bool is_upper(Interpreter& vm, const Value& v, const Arguments&) {
  return is_case(vm, v, "isupper");
}

std::int64_t remainder(Interpreter& vm, const Value& v, const Value& divisor) {
  const Value result = binary_operation(vm, "%", v, divisor);
  if (!result.is_int())
    return result.is_real() && result.real() == 0   ? 0
           : result.is_real() && result.real() == 1 ? 1
                                                    : 2;
  return result.integer();
}
bool is_odd(Interpreter& vm, const Value& v, const Arguments&) {
  return remainder(vm, v, Value(std::int64_t{2})) == 1;
}
bool is_even(Interpreter& vm, const Value& v, const Arguments&) {
  return remainder(vm, v, Value(std::int64_t{2})) == 0;
}
bool is_divisible(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return remainder(vm, v, argument(vm, arguments)) == 0;
}

bool is_same(Interpreter& vm, const Value& v, const Arguments& arguments) {
  const Value& other = argument(vm, arguments);
  return v.data.index() == other.data.index() && equal(vm.meter(), v, other);
}
bool is_in(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return contains(vm, argument(vm, arguments), v);
}
bool is_eq(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, "==", v, argument(vm, arguments));
}
bool is_ne(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, "!=", v, argument(vm, arguments));
}
bool is_gt(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, ">", v, argument(vm, arguments));
}
bool is_ge(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, ">=", v, argument(vm, arguments));
}
bool is_lt(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, "<", v, argument(vm, arguments));
}
bool is_le(Interpreter& vm, const Value& v, const Arguments& arguments) {
  return comparison(vm, "<=", v, argument(vm, arguments));
}
bool is_filter(Interpreter&, const Value& v, const Arguments&) {
  return v.is_string() && find_filter(v.bytes()) != nullptr;
}
bool is_test(Interpreter&, const Value& v, const Arguments&) {
  return v.is_string() && find_test(v.bytes()) != nullptr;
}

using Entry = std::pair<std::string_view, TestFunction>;
constexpr Entry kTests[] = {{"defined", is_defined},
                            {"undefined", is_undefined},
                            {"none", is_none},
                            {"boolean", is_boolean},
                            {"false", is_false},
                            {"true", is_true_value},
                            {"integer", is_integer},
                            {"float", is_float},
                            {"number", is_number},
                            {"string", is_string},
                            {"mapping", is_mapping},
                            {"sequence", is_sequence},
                            {"iterable", is_iterable},
                            {"callable", is_callable},
                            {"escaped", is_escaped},
                            {"lower", is_lower},
                            {"upper", is_upper},
                            {"odd", is_odd},
                            {"even", is_even},
                            {"divisibleby", is_divisible},
                            {"sameas", is_same},
                            {"in", is_in},
                            {"filter", is_filter},
                            {"test", is_test},
                            {"==", is_eq},
                            {"eq", is_eq},
                            {"equalto", is_eq},
                            {"!=", is_ne},
                            {"ne", is_ne},
                            {">", is_gt},
                            {"gt", is_gt},
                            {"greaterthan", is_gt},
                            {">=", is_ge},
                            {"ge", is_ge},
                            {"<", is_lt},
                            {"lt", is_lt},
                            {"lessthan", is_lt},
                            {"<=", is_le},
                            {"le", is_le}};

}  // namespace

TestFunction find_test(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kTests), std::end(kTests),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(kTests) ? nullptr : it->second;
}

}  // namespace sightline::chat

// Python's arithmetic, comparison, membership and slicing.
#include "chat/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/python_text.hpp"

namespace sightline::chat {
namespace {

// Where the result of an operation came from: the first operand that is not the template's.
Origin origin_of(const Value& a, const Value& b) {
  return a.origin != kTemplateOrigin ? a.origin : b.origin;
}

[[noreturn]] void fail_operands(Interpreter& vm, std::string_view op, const Value& a,
                                const Value& b) {
  vm.fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", op, type_name(a),
                      type_name(b)));
}

std::int64_t integer_power(Interpreter& vm, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    vm.meter().step();
    if (__builtin_mul_overflow(result, base, &result))
      vm.fail("an integer beyond 64 bits is not supported");
    if (base == 1 || base == 0) break;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  }
  return result;
}

Value integer_operation(Interpreter& vm, std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) {
      if (a == 0) vm.fail("0.0 cannot be raised to a negative power");
      return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
    }
    return Value(integer_power(vm, a, b));
  } else {
    if (b == 0) vm.fail(op == "/" ? "division by zero" : "integer division or modulo by zero");
    if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
    if (b == -1) {
      overflow = op == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &result);
    } else {
      const std::int64_t remainder = a % b;
      const bool other_sign = remainder != 0 && (remainder < 0) != (b < 0);
      result = op == "//" ? a / b - (other_sign ? 1 : 0) : remainder + (other_sign ? b : 0);
    }
  }
  if (overflow) vm.fail("an integer beyond 64 bits is not supported");
  return Value(result);
}

Value real_operation(Interpreter& vm, std::string_view op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") {
    if (a < 0 && b != std::floor(b)) vm.fail("complex numbers are not supported");
    if (a == 0 && b < 0) vm.fail("0.0 cannot be raised to a negative power");
    return Value(std::pow(a, b));
  }
  if (b == 0) vm.fail(op == "%" ? "float modulo" : "float division by zero");
  if (op == "/") return Value(a / b);
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == "%") return Value(remainder);
  const double quotient = (a - remainder) / b;
  const double floor = std::floor(quotient);
  return Value(quotient - floor > 0.5 ? floor + 1 : floor);
}

Value add_texts(Interpreter& vm, const Value& a, const Value& b) {
  const bool markup = a.markup() || b.markup();
  Text text = markup && !a.markup() ? escape_html(vm, a.text()) : a.text();
  Meter::check_text(text.size() + b.text().size());
  text.append(markup && !b.markup() ? escape_html(vm, b.text()) : b.text());
  return vm.make_text(std::move(text), markup);
}

Value repeat(Interpreter& vm, const Value& value, std::int64_t count) {
  const std::size_t times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (value.is_string()) {
    const Text& text = value.text();
    if (!text.empty() && times > kMaxTextBytes / text.size()) Meter::check_text(kMaxTextBytes + 1);
    Text out;
    for (std::size_t i = 0; !text.empty() && i < times; ++i) out.append(text);
    return vm.make_text(std::move(out), value.markup());
  }
  const std::vector<Value>& items = value.sequence().items;
  if (!items.empty() && times > kMaxLiveBytes / sizeof(Value) / items.size())
    Meter::fail("makes a list that is too long");
  const Charge charge = vm.meter().hold(times * items.size() * sizeof(Value));
  std::vector<Value> out;
  for (std::size_t i = 0; !items.empty() && i < times; ++i)
    out.insert(out.end(), items.begin(), items.end());
  return vm.make_sequence(std::move(out), value.sequence().kind, value.origin);
}

bool repeatable(const Value& value) {
  return value.is_string() ||
         (value.is_sequence() && value.sequence().kind <= Sequence::Kind::tuple);
}

}  // namespace

Value binary_operation(Interpreter& vm, std::string_view op, const Value& a, const Value& b) {
  if (op == "%" && a.is_string()) return format_percent(vm, a, b);
  vm.require_defined(a);
  vm.require_defined(b);
  if (a.is_number() && b.is_number()) {
    const bool real = a.is_real() || b.is_real();
    Value result = real ? real_operation(vm, op, a.real(), b.real())
                        : integer_operation(vm, op, a.integer(), b.integer());
    result.origin = origin_of(a, b);
    return result;
  }
  if (op == "*") {
    if (repeatable(a) && b.is_number() && !b.is_real()) return repeat(vm, a, b.integer());
    if (repeatable(b) && a.is_number() && !a.is_real()) return repeat(vm, b, a.integer());
  }
  if (op == "+") {
    if (a.is_string() && b.is_string()) return add_texts(vm, a, b);
    if (a.is_string())
      vm.fail(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    if (repeatable(a) && b.is_sequence() && a.sequence().kind == b.sequence().kind) {
      std::vector<Value> items = vm.iterate(a);
      for (Value& item : vm.iterate(b)) items.push_back(std::move(item));
      return vm.make_sequence(std::move(items), a.sequence().kind, origin_of(a, b));
    }
    if (repeatable(a)) {
      vm.fail(
          fmt::format("can only concatenate {0} (not \"{1}\") to {0}", type_name(a), type_name(b)));
    }
  }
  fail_operands(vm, op == "**" ? "** or pow()" : op, a, b);
}

Value negated(Interpreter& vm, const Value& value) {
  vm.require_defined(value);
  if (value.is_real()) return {-value.real(), value.origin};
  if (!value.is_number())
    vm.fail(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
  Value result = integer_operation(vm, "-", 0, value.integer());
  result.origin = value.origin;
  return result;
}

bool contains(Interpreter& vm, const Value& haystack, const Value& needle) {
  if (haystack.is_string()) {
    if (!needle.is_string()) {
      vm.require_defined(needle);
      vm.fail(
          fmt::format("'in <string>' requires string as left operand, not {}", type_name(needle)));
    }
    vm.meter().step_bytes(haystack.bytes().size());
    return haystack.bytes().find(needle.bytes()) != std::string::npos;
  }
  if (haystack.is_undefined()) return false;
  const auto matches = [&](const Value& item) { return equal(vm.meter(), item, needle); };
  if (haystack.is_dict()) {
    if (needle.is_dict() ||
        (needle.is_sequence() && needle.sequence().kind == Sequence::Kind::list)) {
      vm.fail(fmt::format("unhashable type: '{}'", type_name(needle)));
    }
    const auto& items = haystack.dict().items;
    return std::any_of(items.begin(), items.end(),
                       [&](const auto& member) { return matches(member.first); });
  }
  if (!haystack.is_sequence())
    vm.fail(fmt::format("argument of type '{}' is not iterable", type_name(haystack)));
  const auto& items = haystack.sequence().items;
  return std::any_of(items.begin(), items.end(), matches);
}

bool comparison(Interpreter& vm, std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return equal(vm.meter(), a, b);
  if (op == "!=") return !equal(vm.meter(), a, b);
  if (op == "in") return contains(vm, b, a);
  if (op == "not in") return !contains(vm, b, a);
  vm.require_defined(a);
  vm.require_defined(b);
  bool comparable = true;
  const int order = compare(vm.meter(), a, b, comparable);
  if (!comparable) {
    vm.fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", op, type_name(a),
                        type_name(b)));
  }
  const bool nan = a.is_number() && b.is_number() && (std::isnan(a.real()) || std::isnan(b.real()));
  if (nan) return false;
  return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
}

namespace {

// Indices that Python's slice visits in a sequence of `size` elements.
std::vector<std::size_t> slice_indices(Interpreter& vm, const SliceBounds& bounds,
                                       std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  const std::int64_t step = bounds.step.value_or(1);
  if (step == 0) vm.fail("slice step cannot be zero");
  const std::int64_t least = step > 0 ? 0 : -1;
  const std::int64_t most = step > 0 ? n : n - 1;
  const auto clamp = [&](const std::optional<std::int64_t>& bound, std::int64_t absent) {
    if (!bound) return absent;
    const std::int64_t at = *bound < 0 ? (*bound < -n ? least : *bound + n) : *bound;
    return std::clamp(at, least, most);
  };
  const std::int64_t start = clamp(bounds.start, step > 0 ? 0 : n - 1);
  const std::int64_t stop = clamp(bounds.stop, step > 0 ? n : -1);
  std::vector<std::size_t> indices;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    indices.push_back(static_cast<std::size_t>(i));
    if (step > n || step < -n) break;  // i + step could overflow, and is beyond the end
    i += step;
  }
  return indices;
}

Value slice_text(Interpreter& vm, const Value& value, const SliceBounds& bounds) {
  const std::string& bytes = value.bytes();
  vm.meter().step_bytes(bytes.size() * 8);
  const Charge charge = vm.meter().hold(bytes.size() * 2 * sizeof(std::size_t));
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < bytes.size(); i += char_size(bytes, i)) starts.push_back(i);
  const std::vector<std::size_t> indices = slice_indices(vm, bounds, starts.size());
  starts.push_back(bytes.size());
  Text out;
  if (!indices.empty() && bounds.step.value_or(1) == 1) {
    out = value.text().slice(starts[indices.front()], starts[indices.back() + 1]);
  } else {
    for (const std::size_t i : indices) out.append(value.text(), starts[i], starts[i + 1]);
  }
  return vm.make_text(std::move(out), value.markup());
}

}  // namespace

Value slice(Interpreter& vm, const Value& value, const SliceBounds& bounds) {
  vm.require_defined(value);
  if (value.is_string()) return slice_text(vm, value, bounds);
  using Kind = Sequence::Kind;
  if (!value.is_sequence() ||
      (value.sequence().kind > Kind::tuple && value.sequence().kind != Kind::range)) {
    vm.fail(fmt::format("'{}' object is not subscriptable", type_name(value)));
  }
  const std::vector<Value>& items = value.sequence().items;
  std::vector<Value> out;
  for (const std::size_t i : slice_indices(vm, bounds, items.size())) out.push_back(items[i]);
  return vm.make_sequence(std::move(out), value.sequence().kind, value.origin);
}

}  // namespace sightline::chat

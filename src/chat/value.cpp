// Python's rules for truth, equality and order.
#include "chat/value.hpp"

#include <algorithm>
#include <cmath>

namespace sightline::chat {
namespace {

bool equal_sequences(Meter& meter, const Sequence& a, const Sequence& b) {
  using Kind = Sequence::Kind;
  if (&a == &b) return true;
  // Generators and views of values compare by identity.
  if (a.kind != b.kind || a.kind == Kind::generator || a.kind == Kind::values) return false;
  return a.items.size() == b.items.size() &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [&](const Value& x, const Value& y) { return equal(meter, x, y); });
}

bool equal_dicts(Meter& meter, const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& member) {
    const auto match = std::find_if(b.items.begin(), b.items.end(), [&](const auto& other) {
      return equal(meter, member.first, other.first);
    });
    return match != b.items.end() && equal(meter, member.second, match->second);
  });
}

int sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

int compare_numbers(const Value& a, const Value& b) {
  if (!a.is_real() && !b.is_real())
    return sign(a.integer() < b.integer(), a.integer() > b.integer());
  return sign(a.real() < b.real(), a.real() > b.real());
}

int compare_sequences(Meter& meter, const Sequence& a, const Sequence& b, bool& comparable) {
  const std::size_t common = std::min(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (equal(meter, a.items[i], b.items[i])) continue;
    return compare(meter, a.items[i], b.items[i], comparable);
  }
  return sign(a.items.size() < b.items.size(), a.items.size() > b.items.size());
}

}  // namespace

const Value* Dict::find(std::string_view key) const {
  const auto it = std::find_if(items.begin(), items.end(), [&](const auto& member) {
    return member.first.is_string() && member.first.bytes() == key;
  });
  return it == items.end() ? nullptr : &it->second;
}

const char* type_name(const Value& value) {
  constexpr const char* kNames[] = {"Undefined", "NoneType",    "bool",    "int",
                                    "float",     "str",         "list",    "dict",
                                    "Namespace", "LoopContext", "function"};
  constexpr const char* kSequences[] = {"list",      "tuple",       "generator", "range",
                                        "dict_keys", "dict_values", "dict_items"};
  if (value.is_sequence()) return kSequences[static_cast<std::size_t>(value.sequence().kind)];
  return kNames[value.data.index()];
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_real()) return value.real() != 0;
  if (value.is_number()) return value.integer() != 0;
  if (value.is_string()) return !value.text().empty();
  if (value.is_dict()) return !value.dict().items.empty();
  if (value.is_sequence()) {
    return value.sequence().kind == Sequence::Kind::generator || !value.sequence().items.empty();
  }
  return true;
}

bool equal(Meter& meter, const Value& a, const Value& b) {
  meter.step();
  if (a.is_number() && b.is_number())
    return compare_numbers(a, b) == 0 && a.real() == a.real() && b.real() == b.real();
  if (a.data.index() != b.data.index()) return false;
  if (a.is_string()) {
    if (a.bytes().size() == b.bytes().size()) meter.step_bytes(a.bytes().size());
    return a.bytes() == b.bytes();
  }
  if (a.is_sequence()) return equal_sequences(meter, a.sequence(), b.sequence());
  if (a.is_dict()) return equal_dicts(meter, a.dict(), b.dict());
  if (a.is<Namespace*>()) return std::get<Namespace*>(a.data) == std::get<Namespace*>(b.data);
  using LoopPtr = std::shared_ptr<Loop>;
  using CallPtr = std::shared_ptr<const Callable>;
  if (a.is<LoopPtr>()) return std::get<LoopPtr>(a.data) == std::get<LoopPtr>(b.data);
  if (a.is<CallPtr>()) return std::get<CallPtr>(a.data) == std::get<CallPtr>(b.data);
  return true;  // two undefined values, or two None
}

int compare(Meter& meter, const Value& a, const Value& b, bool& comparable) {
  meter.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    meter.step_bytes(std::min(a.bytes().size(), b.bytes().size()));
    // Order of UTF-8 bytes is the order of code points.
    const int order = a.bytes().compare(b.bytes());
    return sign(order < 0, order > 0);
  }
  const auto ordered = [](const Value& v) {
    return v.is_sequence() && v.sequence().kind <= Sequence::Kind::tuple;
  };
  if (ordered(a) && ordered(b) && a.sequence().kind == b.sequence().kind) {
    return compare_sequences(meter, a.sequence(), b.sequence(), comparable);
  }
  comparable = false;
  return 0;
}

std::size_t depth_of(const Value& value) {
  if (value.is_sequence()) return value.sequence().depth;
  if (value.is_dict()) return value.dict().depth;
  if (value.is<std::shared_ptr<Loop>>())
    return std::get<std::shared_ptr<Loop>>(value.data)->value_depth;
  if (value.is<std::shared_ptr<const Callable>>()) {
    return 1 + depth_of(std::get<std::shared_ptr<const Callable>>(value.data)->self);
  }
  return 0;
}

Value make_constant(std::string_view bytes) {
  auto string = std::make_shared<String>();
  string->text = Text(bytes);
  return Value(std::shared_ptr<const String>(std::move(string)));
}

}  // namespace sightline::chat

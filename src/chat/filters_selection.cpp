// Filters that apply attributes, other filters or tests to every element: map, select, reject,
// selectattr, rejectattr.
#include <fmt/format.h>

#include <algorithm>

#include "chat/library.hpp"
#include "chat/selection.hpp"
#include "chat/text_operations.hpp"

namespace sightline::chat {

Value key_of(Interpreter& vm, const Value& item, const Value* attribute, const Value* fallback) {
  if (attribute == nullptr || attribute->is_none()) return item;
  const auto step = [&](const Value& from, const Value& key) {
    Value found = vm.item(from, key);
    return found.is_undefined() && fallback != nullptr ? *fallback : found;
  };
  if (!attribute->is_string()) return step(item, *attribute);
  Value value = item;
  for (const Text& part : split_text(vm, attribute->text(), {"."})) {
    const std::string& name = part.bytes();
    const bool index = !name.empty() && name.size() < 10 &&
                       name.find_first_not_of("0123456789") == std::string::npos;
    value =
        step(value, index ? Value(static_cast<std::int64_t>(std::stol(name))) : vm.make_text(part));
  }
  return value;
}

namespace {

Arguments without_first(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                         arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Value map_attribute(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Value* attribute = nullptr;
  const Value* fallback = nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute") {
      attribute = &value;
    } else if (name == "default") {
      fallback = &value;
    } else {
      vm.fail(fmt::format("Unexpected keyword argument '{}'", name));
    }
  }
  if (attribute == nullptr) vm.fail("map requires a filter argument");
  std::vector<Value> items;
  for (const Value& item : vm.iterate(self)) {
    items.push_back(key_of(vm, item, attribute, fallback));
  }
  return vm.make_sequence(std::move(items), Sequence::Kind::generator, self.origin);
}

Value map(Interpreter& vm, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return map_attribute(vm, self, arguments);
  const Value& name = arguments.positional[0];
  const Function filter = name.is_string() ? find_filter(name.bytes()) : nullptr;
  if (filter == nullptr) vm.fail(fmt::format("No filter named '{}'.", vm.to_text(name).bytes()));
  const Arguments rest = without_first(arguments, 1);
  const DepthGuard depth(vm.meter());
  std::vector<Value> items;
  for (const Value& item : vm.iterate(self)) {
    vm.meter().step();
    items.push_back(filter(vm, item, rest));
  }
  return vm.make_sequence(std::move(items), Sequence::Kind::generator, self.origin);
}

// Elements for which the test (truth, without a test) gives `wanted`; `by_attribute`: the first
// argument names what is tested.
Value choose(Interpreter& vm, const Value& self, const Arguments& arguments, bool by_attribute,
             bool wanted) {
  if (by_attribute && arguments.positional.empty()) vm.fail("Missing parameter for attribute name");
  const std::size_t at = by_attribute ? 1 : 0;
  TestFunction test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > at) {
    const Value& name = arguments.positional[at];
    test = name.is_string() ? find_test(name.bytes()) : nullptr;
    if (test == nullptr) vm.fail(fmt::format("No test named '{}'.", vm.to_text(name).bytes()));
    rest = without_first(arguments, at + 1);
  }
  std::vector<Value> kept;
  if (is_true(self)) {
    for (const Value& item : vm.iterate(self)) {
      vm.meter().step();
      const Value tested = by_attribute ? key_of(vm, item, &arguments.positional[0]) : item;
      if ((test != nullptr ? test(vm, tested, rest) : is_true(tested)) == wanted)
        kept.push_back(item);
    }
  }
  return vm.make_sequence(std::move(kept), Sequence::Kind::generator, self.origin);
}

Value select(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return choose(vm, self, arguments, false, true);
}
Value reject(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return choose(vm, self, arguments, false, false);
}
Value selectattr(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return choose(vm, self, arguments, true, true);
}
Value rejectattr(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return choose(vm, self, arguments, true, false);
}

using Entry = std::pair<std::string_view, Function>;
constexpr Entry kFilters[] = {{"map", map},
                              {"select", select},
                              {"reject", reject},
                              {"selectattr", selectattr},
                              {"rejectattr", rejectattr}};

}  // namespace

Function find_selection_filter(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kFilters), std::end(kFilters),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(kFilters) ? nullptr : it->second;
}

Function find_filter(std::string_view name) {
  if (const Function filter = find_text_filter(name)) return filter;
  if (const Function filter = find_sequence_filter(name)) return filter;
  return find_selection_filter(name);
}

}  // namespace sightline::chat

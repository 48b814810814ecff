// The functions that every template can call: range, namespace, dict, and those that transformers
// adds.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/interpreter.hpp"
#include "chat/library.hpp"

namespace sightline::chat {
namespace {

Value range(Interpreter& vm, const Value&, const Arguments& arguments) {
  const Bound bound(vm, "range", arguments, {"start", "stop", "step"});
  bound.need(0);
  const bool one = bound.get(1) == nullptr;
  const std::int64_t start = one ? 0 : bound.integer(0, 0);
  const std::int64_t stop = bound.integer(one ? 0 : 1, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) vm.fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() >= kMaxRange)
      Meter::fail(fmt::format("makes a range of more than {} numbers", kMaxRange));
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return vm.make_sequence(std::move(items), Sequence::Kind::range);
}

// Members given as one mapping and as keywords.
std::vector<std::pair<Value, Value>> members(Interpreter& vm, const char* function,
                                             const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> items;
  if (arguments.positional.size() > 1)
    vm.fail(fmt::format("{} expected at most 1 argument", function));
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      items = source.dict().items;
    } else {
      for (const Value& pair : vm.iterate(source)) {
        std::vector<Value> two = vm.iterate(pair);
        if (two.size() != 2) vm.fail("dictionary update sequence element needs length 2");
        items.emplace_back(std::move(two[0]), std::move(two[1]));
      }
    }
  }
  for (const auto& [name, value] : arguments.named) items.emplace_back(make_constant(name), value);
  return items;
}

Value dict(Interpreter& vm, const Value&, const Arguments& arguments) {
  return vm.make_dict(members(vm, "dict", arguments));
}

Value make_namespace(Interpreter& vm, const Value&, const Arguments& arguments) {
  const Value merged = vm.make_dict(members(vm, "namespace", arguments));
  std::vector<std::pair<std::string, Value>> attributes;
  for (const auto& [key, value] : merged.dict().items) {
    if (!key.is_string()) vm.fail("attributes of a namespace must be named by strings");
    if (key.bytes().starts_with('_')) {
      vm.fail(fmt::format("an attribute of a namespace must not begin with an underscore: '{}'",
                          key.bytes()));
    }
    attributes.emplace_back(key.bytes(), value);
  }
  return vm.make_namespace(std::move(attributes));
}

Value raise_exception(Interpreter& vm, const Value&, const Arguments& arguments) {
  const Bound bound(vm, "raise_exception", arguments, {"message"});
  vm.raise(vm.to_text(bound.need(0)).bytes());
}

Value strftime_now(Interpreter& vm, const Value&, const Arguments& arguments) {
  const Bound bound(vm, "strftime_now", arguments, {"format"});
  bound.need(0);
  const std::string format = bound.text(0, "").bytes();
  constexpr std::size_t kMaxFormat = 200;
  if (format.size() > kMaxFormat) vm.fail("the format of strftime_now is too long");
  const std::time_t now = vm.now();
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 4096> buffer{};
  const std::size_t size =
      format.empty() ? 0 : std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  return vm.make_text(std::string_view(buffer.data(), size), bound.get(0)->origin);
}

using Entry = std::pair<std::string_view, Function>;
constexpr Entry kGlobals[] = {{"range", range},
                              {"dict", dict},
                              {"namespace", make_namespace},
                              {"raise_exception", raise_exception},
                              {"strftime_now", strftime_now}};

}  // namespace

Function find_global(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kGlobals), std::end(kGlobals),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(kGlobals) ? nullptr : it->second;
}

}  // namespace sightline::chat

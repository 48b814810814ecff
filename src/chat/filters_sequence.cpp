// Filters on sequences and mappings.
#include <fmt/format.h>

#include <algorithm>

#include "chat/library.hpp"
#include "chat/operators.hpp"
#include "chat/selection.hpp"
#include "chat/text_operations.hpp"

namespace sightline::chat {
namespace {

using Kind = Sequence::Kind;

Value fallback(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "default", arguments, {"default_value", "boolean"});
  const bool missing = self.is_undefined() || (bound.flag(1, false) && !is_true(self));
  if (!missing) return self;
  return bound.get(0) != nullptr ? *bound.get(0) : make_constant("");
}

Value length(Interpreter& vm, const Value& self, const Arguments&) {
  std::size_t size = 0;
  if (self.is_string()) {
    vm.meter().step_bytes(self.bytes().size());
    size = count_chars(self.bytes());
  } else if (self.is_dict()) {
    size = self.dict().items.size();
  } else if (self.is_sequence() && self.sequence().kind != Kind::generator) {
    size = self.sequence().items.size();
  } else if (!self.is_undefined()) {
    vm.fail(fmt::format("object of type '{}' has no len()", type_name(self)));
  }
  return Value(static_cast<std::int64_t>(size));
}

Value first(Interpreter& vm, const Value& self, const Arguments&) {
  const std::vector<Value> items = vm.iterate(self);
  return items.empty() ? Interpreter::make_undefined("No first item, sequence was empty.")
                       : items.front();
}
Value last(Interpreter& vm, const Value& self, const Arguments&) {
  if (self.is_sequence() && self.sequence().kind == Kind::generator)
    vm.fail("'generator' object is not reversible");
  const std::vector<Value> items = vm.iterate(self);
  return items.empty() ? Interpreter::make_undefined("No last item, sequence was empty.")
                       : items.back();
}

Value join(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "join", arguments, {"d", "attribute"});
  const Text separator = bound.get(0) != nullptr ? vm.to_text(*bound.get(0)) : Text();
  Text out;
  bool begun = false;
  for (const Value& item : vm.iterate(self)) {
    if (std::exchange(begun, true)) out.append(separator);
    const Text part = vm.to_text(key_of(vm, item, bound.get(1)));
    vm.meter().step_bytes(separator.size());
    Meter::check_text(out.size() + part.size());
    out.append(part);
  }
  return vm.make_text(std::move(out));
}

Value to_list(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_sequence(vm.iterate(self), Kind::list, self.origin);
}

Value reverse(Interpreter& vm, const Value& self, const Arguments&) {
  if (self.is_string()) return slice(vm, self, {std::nullopt, std::nullopt, -1});
  std::vector<Value> items = vm.iterate(self);
  std::reverse(items.begin(), items.end());
  return vm.make_sequence(std::move(items), Kind::generator, self.origin);
}

// Strings compare without case unless asked to.
Value folded(Interpreter& vm, const Value& value, bool case_sensitive) {
  return case_sensitive || !value.is_string()
             ? value
             : vm.make_text(change_case(vm, value.text(), Case::lower));
}

bool less(Interpreter& vm, const Value& a, const Value& b) { return comparison(vm, "<", a, b); }

struct Keyed {
  Value key;
  Value value;
};

void sort_keyed(Interpreter& vm, std::vector<Keyed>& items, bool descending) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return descending ? less(vm, b.key, a.key) : less(vm, a.key, b.key);
  });
}

Value values_of(Interpreter& vm, std::vector<Keyed> items, Origin origin) {
  std::vector<Value> values;
  for (Keyed& item : items) values.push_back(std::move(item.value));
  return vm.make_sequence(std::move(values), Kind::list, origin);
}

Value sort(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> items;
  for (const Value& item : vm.iterate(self)) {
    const Value* attribute = bound.get(2);
    Value key;
    if (attribute != nullptr && attribute->is_string()) {
      // "a,b" sorts by several attributes.
      std::vector<Value> keys;
      for (const Text& part : split_text(vm, attribute->text(), {","})) {
        const Value name = vm.make_text(part);
        keys.push_back(folded(vm, key_of(vm, item, &name), bound.flag(1, false)));
      }
      key = vm.make_sequence(std::move(keys));
    } else {
      key = folded(vm, key_of(vm, item, attribute), bound.flag(1, false));
    }
    items.push_back({std::move(key), item});
  }
  sort_keyed(vm, items, bound.flag(0, false));
  return values_of(vm, std::move(items), self.origin);
}

Value dictsort(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
  vm.require_defined(self);
  const std::string by = bound.text(1, "key").bytes();
  if (by != "key" && by != "value") vm.fail("You can only sort by either \"key\" or \"value\"");
  if (!self.is_dict())
    vm.fail(fmt::format("'{}' object has no attribute 'items'", type_name(self)));
  std::vector<Keyed> items;
  for (const auto& [key, value] : self.dict().items) {
    items.push_back({folded(vm, by == "key" ? key : value, bound.flag(0, false)),
                     vm.make_sequence({key, value}, Kind::tuple, self.origin)});
  }
  sort_keyed(vm, items, bound.flag(2, false));
  return values_of(vm, std::move(items), self.origin);
}

Value unique(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "unique", arguments, {"case_sensitive", "attribute"});
  std::vector<Value> keys;
  std::vector<Value> kept;
  for (const Value& item : vm.iterate(self)) {
    Value key = folded(vm, key_of(vm, item, bound.get(1)), bound.flag(0, false));
    if (std::any_of(keys.begin(), keys.end(),
                    [&](const Value& known) { return equal(vm.meter(), known, key); }))
      continue;
    keys.push_back(std::move(key));
    kept.push_back(item);
  }
  return vm.make_sequence(std::move(kept), Kind::generator, self.origin);
}

Value extreme(Interpreter& vm, const Value& self, const Arguments& arguments, bool largest) {
  const Bound bound(vm, largest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const std::vector<Value> items = vm.iterate(self);
  if (items.empty()) return Interpreter::make_undefined("No aggregated item, sequence was empty.");
  const auto key = [&](const Value& item) {
    return folded(vm, key_of(vm, item, bound.get(1)), bound.flag(0, false));
  };
  std::size_t best = 0;
  Value best_key = key(items[0]);
  for (std::size_t i = 1; i < items.size(); ++i) {
    Value candidate = key(items[i]);
    if (largest ? less(vm, best_key, candidate) : less(vm, candidate, best_key)) {
      best = i;
      best_key = std::move(candidate);
    }
  }
  return items[best];
}
Value min(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return extreme(vm, self, arguments, false);
}
Value max(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return extreme(vm, self, arguments, true);
}

Value sum(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "sum", arguments, {"attribute", "start"});
  Value total = bound.get(1) != nullptr ? *bound.get(1) : Value(std::int64_t{0});
  if (total.is_string()) vm.fail("sum() can't sum strings [use ''.join(seq) instead]");
  const Value* attribute =
      bound.get(0) != nullptr && bound.get(0)->is_none() ? nullptr : bound.get(0);
  for (const Value& item : vm.iterate(self))
    total = binary_operation(vm, "+", total, key_of(vm, item, attribute));
  return total;
}

Value items(Interpreter& vm, const Value& self, const Arguments&) {
  std::vector<Value> pairs;
  if (self.is_dict()) {
    for (const auto& [key, value] : self.dict().items) {
      pairs.push_back(vm.make_sequence({key, value}, Kind::tuple, self.origin));
    }
  } else if (!self.is_undefined()) {
    vm.fail("Can only get item pairs from a mapping.");
  }
  return vm.make_sequence(std::move(pairs), Kind::generator, self.origin);
}

Value batch(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "batch", arguments, {"linecount", "fill_with"});
  bound.need(0);
  const std::int64_t wanted = bound.integer(0, 1);
  if (wanted < 1 || wanted > static_cast<std::int64_t>(kMaxRange))
    vm.fail(fmt::format("batch({}) is not supported", wanted));
  const auto size = static_cast<std::size_t>(wanted);
  const std::vector<Value> items = vm.iterate(self);
  std::vector<Value> rows;
  for (std::size_t begin = 0; begin < items.size(); begin += size) {
    const std::size_t end = std::min(begin + size, items.size());
    std::vector<Value> row(items.begin() + static_cast<std::ptrdiff_t>(begin),
                           items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.get(1) != nullptr && !bound.get(1)->is_none()) row.resize(size, *bound.get(1));
    rows.push_back(vm.make_sequence(std::move(row), Kind::list, self.origin));
  }
  return vm.make_sequence(std::move(rows), Kind::generator, self.origin);
}

Value slice_columns(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "slice", arguments, {"slices", "fill_with"});
  bound.need(0);
  const std::int64_t wanted = bound.integer(0, 1);
  if (wanted < 1 || wanted > static_cast<std::int64_t>(kMaxRange))
    vm.fail(fmt::format("slice({}) is not supported", wanted));
  const auto slices = static_cast<std::size_t>(wanted);
  const std::vector<Value> items = vm.iterate(self);
  const std::size_t extra = items.size() % slices;
  std::vector<Value> columns;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t end = begin + items.size() / slices + (i < extra ? 1 : 0);
    std::vector<Value> column(items.begin() + static_cast<std::ptrdiff_t>(begin),
                              items.begin() + static_cast<std::ptrdiff_t>(end));
    if (bound.get(1) != nullptr && !bound.get(1)->is_none() && i >= extra)
      column.push_back(*bound.get(1));
    columns.push_back(vm.make_sequence(std::move(column), Kind::list, self.origin));
    begin = end;
  }
  return vm.make_sequence(std::move(columns), Kind::generator, self.origin);
}

using Entry = std::pair<std::string_view, Function>;
constexpr Entry kFilters[] = {
    {"default", fallback}, {"d", fallback},        {"length", length},
    {"count", length},     {"first", first},       {"last", last},
    {"join", join},        {"list", to_list},      {"reverse", reverse},
    {"sort", sort},        {"dictsort", dictsort}, {"unique", unique},
    {"min", min},          {"max", max},           {"sum", sum},
    {"items", items},      {"batch", batch},       {"slice", slice_columns}};

}  // namespace

Function find_sequence_filter(std::string_view name) {
  const auto* const it = std::find_if(std::begin(kFilters), std::end(kFilters),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(kFilters) ? nullptr : it->second;
}

}  // namespace sightline::chat

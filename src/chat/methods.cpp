// Methods of str, list, tuple, dict and the loop variable; those that change their object do not
// exist.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/library.hpp"
#include "chat/operators.hpp"
#include "chat/text_operations.hpp"

namespace sightline::chat {
namespace {

Value upper(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, self.text(), Case::upper));
}
Value lower(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, self.text(), Case::lower));
}
Value title(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, self.text(), Case::title));
}
Value capitalize(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, self.text(), Case::capitalize));
}
Value swapcase(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_text(change_case(vm, self.text(), Case::swap));
}

Value strip_sides(Interpreter& vm, const Value& self, const Arguments& arguments, Trim trim) {
  const Bound bound(vm, "strip", arguments, {"chars"});
  const bool given = bound.get(0) != nullptr && !bound.get(0)->is_none();
  const std::string chars = bound.text(0, "").bytes();
  if (given) trim.chars = &chars;
  vm.meter().step_bytes(self.bytes().size() + (given ? chars.size() : 0));
  const Range range = trim_range(self.bytes(), trim);
  return vm.make_text(self.text().slice(range.begin, range.end), self.markup());
}
Value strip(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return strip_sides(vm, self, arguments, {});
}
Value lstrip(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return strip_sides(vm, self, arguments, {.right = false});
}
Value rstrip(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return strip_sides(vm, self, arguments, {.left = false});
}

// Byte range of the characters [start, end) that find, count, startswith and endswith look at.
Range window(Interpreter& vm, const Value& self, const Bound& bound) {
  vm.meter().step_bytes(self.bytes().size());
  const std::string& bytes = self.bytes();
  const auto offset = [&](std::size_t i, std::size_t fallback) {
    if (bound.get(i) == nullptr || bound.get(i)->is_none()) return fallback;
    const std::int64_t index = bound.integer(i, 0);
    const auto size = static_cast<std::int64_t>(count_chars(bytes));
    return char_offset(bytes, static_cast<std::size_t>(std::clamp(index < 0 ? index + size : index,
                                                                  std::int64_t{0}, size)));
  };
  return {offset(1, 0), offset(2, bytes.size())};
}

Value has_affix(Interpreter& vm, const Value& self, const Arguments& arguments, bool front) {
  const Bound bound(vm, front ? "startswith" : "endswith", arguments, {"prefix", "start", "end"});
  const Range range = window(vm, self, bound);
  const std::string_view all = self.bytes();
  const std::string_view part =
      range.begin < range.end ? all.substr(range.begin, range.end - range.begin) : "";
  const Value& affixes = bound.need(0);
  vm.require_defined(affixes);
  const std::vector<Value> choices =
      affixes.is_string() ? std::vector<Value>{affixes} : vm.iterate(affixes);
  return Value(std::any_of(choices.begin(), choices.end(), [&](const Value& affix) {
    if (!affix.is_string()) {
      vm.fail(fmt::format("first arg must be str or a tuple of str, not {}", type_name(affix)));
    }
    return front ? part.starts_with(affix.bytes()) : part.ends_with(affix.bytes());
  }));
}
Value startswith(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return has_affix(vm, self, arguments, true);
}
Value endswith(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return has_affix(vm, self, arguments, false);
}

Value split_with(Interpreter& vm, const Value& self, const Arguments& arguments, bool from_right) {
  const Bound bound(vm, "split", arguments, {"sep", "maxsplit"});
  const bool given = bound.get(0) != nullptr && !bound.get(0)->is_none();
  const Text separator = bound.text(0, "");
  if (given && separator.empty()) vm.fail("empty separator");
  return list_of(
      vm, split_text(vm, self.text(), {separator.bytes(), bound.integer(1, -1), from_right}));
}
Value split(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return split_with(vm, self, arguments, false);
}
Value rsplit(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return split_with(vm, self, arguments, true);
}
Value splitlines(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "splitlines", arguments, {"keepends"});
  return list_of(vm, split_lines(vm, self.text(), bound.flag(0, false)));
}

Value partition_at(Interpreter& vm, const Value& self, const Arguments& arguments, bool last) {
  const Bound bound(vm, "partition", arguments, {"sep"});
  bound.need(0);
  const Text separator = bound.text(0, "");
  if (separator.empty()) vm.fail("empty separator");
  const std::string& bytes = self.bytes();
  const std::size_t at = last ? bytes.rfind(separator.bytes()) : bytes.find(separator.bytes());
  std::vector<Value> parts;
  if (at == std::string::npos) {
    parts = {self, vm.make_text(Text()), vm.make_text(Text())};
    if (last) std::swap(parts[0], parts[2]);
  } else {
    const std::size_t end = at + separator.size();
    parts = {vm.make_text(self.text().slice(0, at)), vm.make_text(self.text().slice(at, end)),
             vm.make_text(self.text().slice(end, bytes.size()))};
  }
  return vm.make_sequence(std::move(parts), Sequence::Kind::tuple);
}
Value partition(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return partition_at(vm, self, arguments, false);
}
Value rpartition(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return partition_at(vm, self, arguments, true);
}

Value replace(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "replace", arguments, {"old", "new", "count"});
  bound.need(0);
  bound.need(1);
  const Text old = bound.text(0, "");
  return vm.make_text(
      replace_text(vm, self.text(), old.bytes(), bound.text(1, ""), bound.integer(2, -1)));
}

Value join(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "join", arguments, {"iterable"});
  Text out;
  std::size_t i = 0;
  for (const Value& item : vm.iterate(bound.need(0))) {
    if (!item.is_string())
      vm.fail(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(item)));
    if (i++ > 0) out.append(self.text());
    vm.meter().step_bytes(self.text().size() + item.text().size());
    Meter::check_text(out.size() + item.text().size());
    out.append(item.text());
  }
  return vm.make_text(std::move(out));
}

Value locate(Interpreter& vm, const Value& self, const Arguments& arguments, bool last,
             bool required) {
  const Bound bound(vm, "find", arguments, {"sub", "start", "end"});
  const Range range = window(vm, self, bound);
  bound.need(0);
  const Text wanted = bound.text(0, "");
  const std::string_view bytes =
      std::string_view(self.bytes()).substr(0, std::max(range.begin, range.end));
  std::size_t at = last ? bytes.rfind(wanted.bytes()) : bytes.find(wanted.bytes(), range.begin);
  if (at != std::string_view::npos && (at < range.begin || range.begin > range.end))
    at = std::string_view::npos;
  if (at == std::string_view::npos && required) vm.fail("substring not found");
  return Value(at == std::string_view::npos
                   ? std::int64_t{-1}
                   : static_cast<std::int64_t>(count_chars(bytes.substr(0, at))));
}
Value find(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return locate(vm, self, arguments, false, false);
}
Value rfind(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return locate(vm, self, arguments, true, false);
}
Value index(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return locate(vm, self, arguments, false, true);
}
Value rindex(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return locate(vm, self, arguments, true, true);
}

Value count(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "count", arguments, {"sub", "start", "end"});
  bound.need(0);
  const Text wanted = bound.text(0, "");
  const Range range = window(vm, self, bound);
  if (range.begin > range.end) return Value(std::int64_t{0});
  const std::string_view bytes =
      std::string_view(self.bytes()).substr(range.begin, range.end - range.begin);
  if (wanted.empty()) return Value(static_cast<std::int64_t>(count_chars(bytes) + 1));
  std::int64_t found = 0;
  for (std::size_t at = bytes.find(wanted.bytes()); at != std::string_view::npos;
       at = bytes.find(wanted.bytes(), at + wanted.size())) {
    ++found;
  }
  return Value(found);
}

template <bool (*kHolds)(char32_t)>
Value all_chars(Interpreter& vm, const Value& self, const Arguments&) {
  const std::string& bytes = self.bytes();
  vm.meter().step_bytes(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += char_size(bytes, i)) {
    if (!kHolds(char_at(bytes, i))) return Value(false);
  }
  return Value(!bytes.empty());
}
bool holds_digit(char32_t c) { return is_digit(c); }
bool holds_alpha(char32_t c) { return is_alpha(c); }
bool holds_alnum(char32_t c) { return is_alpha(c) || is_digit(c); }
bool holds_space(char32_t c) { return is_space(c); }
bool holds_ascii(char32_t c) { return c < 0x80; }

Value is_case(const Value& self, bool upper_case) {
  const std::string& bytes = self.bytes();
  bool cased = false;
  for (std::size_t i = 0; i < bytes.size(); i += char_size(bytes, i)) {
    const char32_t c = char_at(bytes, i);
    const bool is_upper = to_lower(c) != c;
    const bool is_lower = to_upper(c) != c || c == 0xDF;
    if (upper_case ? is_lower : is_upper) return Value(false);
    cased = cased || is_upper || is_lower;
  }
  return Value(cased);
}
Value isupper(Interpreter&, const Value& self, const Arguments&) { return is_case(self, true); }
Value islower(Interpreter&, const Value& self, const Arguments&) { return is_case(self, false); }

Value remove_affix(Interpreter& vm, const Value& self, const Arguments& arguments, bool front) {
  const Bound bound(vm, front ? "removeprefix" : "removesuffix", arguments, {"affix"});
  bound.need(0);
  const Text affix = bound.text(0, "");
  const std::string& bytes = self.bytes();
  if (affix.empty() || !(front ? bytes.starts_with(affix.bytes()) : bytes.ends_with(affix.bytes())))
    return self;
  return vm.make_text(front ? self.text().slice(affix.size(), bytes.size())
                            : self.text().slice(0, bytes.size() - affix.size()));
}
Value removeprefix(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return remove_affix(vm, self, arguments, true);
}
Value removesuffix(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return remove_affix(vm, self, arguments, false);
}

// Missing characters up to the wanted width.
std::size_t missing(const Value& self, const Bound& bound) {
  bound.need(0);
  const auto size = static_cast<std::int64_t>(count_chars(self.bytes()));
  return static_cast<std::size_t>(std::max<std::int64_t>(bound.integer(0, 0), size) - size);
}
Value ljust(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "ljust", arguments, {"width", "fillchar"});
  return vm.make_text(pad_text(self.text(), 0, missing(self, bound), bound.text(1, " ")));
}
Value rjust(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "rjust", arguments, {"width", "fillchar"});
  return vm.make_text(pad_text(self.text(), missing(self, bound), 0, bound.text(1, " ")));
}
Value center(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "center", arguments, {"width", "fillchar"});
  const std::size_t pad = missing(self, bound);
  // CPython puts the odd character left when both the padding and the width are odd.
  const std::size_t left = pad / 2 + (pad & static_cast<std::size_t>(bound.integer(0, 0)) & 1U);
  return vm.make_text(pad_text(self.text(), left, pad - left, bound.text(1, " ")));
}
Value zfill(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "zfill", arguments, {"width"});
  const std::size_t sign = self.bytes().starts_with('-') || self.bytes().starts_with('+') ? 1 : 0;
  Text out = self.text().slice(0, sign);
  out.append(
      pad_text(self.text().slice(sign, self.text().size()), missing(self, bound), 0, Text("0")));
  return vm.make_text(std::move(out));
}
Value format(Interpreter& vm, const Value& self, const Arguments& arguments) {
  return format_braces(vm, self, arguments);
}

// list and tuple
Value list_index(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "index", arguments, {"value"});
  const std::vector<Value>& items = self.sequence().items;
  const auto it = std::find_if(items.begin(), items.end(),
                               [&](const Value& v) { return equal(vm.meter(), v, bound.need(0)); });
  if (it == items.end())
    vm.fail(fmt::format("{} is not in list", vm.to_text(bound.need(0)).bytes()));
  return Value(static_cast<std::int64_t>(it - items.begin()));
}
Value list_count(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "count", arguments, {"value"});
  const std::vector<Value>& items = self.sequence().items;
  return Value(
      static_cast<std::int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& v) {
        return equal(vm.meter(), v, bound.need(0));
      })));
}
Value copy(Interpreter&, const Value& self, const Arguments&) { return self; }

// dict
Value dict_get(Interpreter& vm, const Value& self, const Arguments& arguments) {
  const Bound bound(vm, "get", arguments, {"key", "default"});
  for (const auto& [key, value] : self.dict().items) {
    if (equal(vm.meter(), key, bound.need(0))) return value;
  }
  return bound.get(1) != nullptr ? *bound.get(1) : Value(None{});
}
Value dict_keys(Interpreter& vm, const Value& self, const Arguments&) {
  return vm.make_sequence(vm.iterate(self), Sequence::Kind::keys, self.origin);
}
Value dict_values(Interpreter& vm, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& member : self.dict().items) items.push_back(member.second);
  return vm.make_sequence(std::move(items), Sequence::Kind::values, self.origin);
}
Value dict_items(Interpreter& vm, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().items) {
    items.push_back(vm.make_sequence({key, value}, Sequence::Kind::tuple, self.origin));
  }
  return vm.make_sequence(std::move(items), Sequence::Kind::items, self.origin);
}

// loop
Value loop_cycle(Interpreter& vm, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) vm.fail("no items for cycling given");
  const Loop& loop = *std::get<std::shared_ptr<Loop>>(self.data);
  return arguments.positional[loop.index0 % arguments.positional.size()];
}
Value loop_changed(Interpreter& vm, const Value& self, const Arguments& arguments) {
  Loop& loop = *std::get<std::shared_ptr<Loop>>(self.data);
  if (loop.outer == nullptr) vm.fail("loop.changed after the end of the loop");
  Value now = vm.make_sequence(arguments.positional, Sequence::Kind::tuple);
  const bool same = loop.changed_called && equal(vm.meter(), now, loop.last_changed);
  loop.changed_called = true;
  loop.last_changed = std::move(now);
  return Value(!same);
}

using Entry = std::pair<std::string_view, Function>;

constexpr Entry kStringMethods[] = {{"upper", upper},
                                    {"lower", lower},
                                    {"casefold", lower},
                                    {"title", title},
                                    {"capitalize", capitalize},
                                    {"swapcase", swapcase},
                                    {"strip", strip},
                                    {"lstrip", lstrip},
                                    {"rstrip", rstrip},
                                    {"startswith", startswith},
                                    {"endswith", endswith},
                                    {"split", split},
                                    {"rsplit", rsplit},
                                    {"splitlines", splitlines},
                                    {"partition", partition},
                                    {"rpartition", rpartition},
                                    {"replace", replace},
                                    {"join", join},
                                    {"find", find},
                                    {"rfind", rfind},
                                    {"index", index},
                                    {"rindex", rindex},
                                    {"count", count},
                                    {"isdigit", all_chars<holds_digit>},
                                    {"isdecimal", all_chars<holds_digit>},
                                    {"isnumeric", all_chars<holds_digit>},
                                    {"isalpha", all_chars<holds_alpha>},
                                    {"isalnum", all_chars<holds_alnum>},
                                    {"isspace", all_chars<holds_space>},
                                    {"isascii", all_chars<holds_ascii>},
                                    {"isupper", isupper},
                                    {"islower", islower},
                                    {"removeprefix", removeprefix},
                                    {"removesuffix", removesuffix},
                                    {"ljust", ljust},
                                    {"rjust", rjust},
                                    {"center", center},
                                    {"zfill", zfill},
                                    {"format", format}};
constexpr Entry kListMethods[] = {{"index", list_index}, {"count", list_count}, {"copy", copy}};
constexpr Entry kDictMethods[] = {{"get", dict_get},
                                  {"keys", dict_keys},
                                  {"values", dict_values},
                                  {"items", dict_items},
                                  {"copy", copy}};
constexpr Entry kLoopMethods[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};

template <std::size_t kSize>
Function look_up(const Entry (&table)[kSize], std::string_view name) {
  const auto* const it = std::find_if(std::begin(table), std::end(table),
                                      [&](const Entry& e) { return e.first == name; });
  return it == std::end(table) ? nullptr : it->second;
}

bool is_list_like(const Value& value) {
  return value.is_sequence() && value.sequence().kind <= Sequence::Kind::tuple;
}

}  // namespace

Function find_method(const Value& value, std::string_view name) {
  if (value.is_string()) return look_up(kStringMethods, name);
  if (value.is_dict()) return look_up(kDictMethods, name);
  if (is_list_like(value)) return look_up(kListMethods, name);
  if (value.is<std::shared_ptr<Loop>>()) return look_up(kLoopMethods, name);
  return nullptr;
}

bool is_forbidden_method(const Value& value, std::string_view name) {
  constexpr std::array<std::string_view, 8> kList = {"append", "clear",  "extend",  "insert",
                                                     "pop",    "remove", "reverse", "sort"};
  constexpr std::array<std::string_view, 5> kDict = {"clear", "pop", "popitem", "setdefault",
                                                     "update"};
  if (value.is_dict()) return std::find(kDict.begin(), kDict.end(), name) != kDict.end();
  return value.is_sequence() && value.sequence().kind == Sequence::Kind::list &&
         std::find(kList.begin(), kList.end(), name) != kList.end();
}

}  // namespace sightline::chat

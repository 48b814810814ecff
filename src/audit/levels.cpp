// Selection and folding (levels.hpp).
#include "audit/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace sightline::audit {
namespace {

/// Modules that hold the stages of a model of this kind (specification 5.2, the five calls).
constexpr std::array<std::string_view, 4> kContainers{"", "model", "model.visual",
                                                      "model.language_model"};

bool is_container(const Event& event) {
  return !event.operation &&
         std::find(kContainers.begin(), kContainers.end(), event.path) != kContainers.end();
}

bool is_shown(const Events& events, const Event& event, Level level) {
  if (level == Level::all) return true;
  const bool top = is_container(event);
  if (level == Level::root) return top || (event.depth == 1 && !event.operation);
  return !top && event.parent >= 0 && is_container(events[static_cast<std::size_t>(event.parent)]);
}

/// "model.layers.3" is ("model.layers", "3").
std::pair<std::string_view, std::string_view> parted(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool same_tensors(const std::vector<EventTensor>& a, const std::vector<EventTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const EventTensor& x, const EventTensor& y) {
                      return x.dtype == y.dtype && x.shape == y.shape;
                    });
}

using Members = std::vector<std::size_t>;  // corresponding calls of equal neighbours

class Folder {
 public:
  Folder(const Events& events, const std::vector<std::size_t>& shown, Level level, bool full)
      : events_(events), full_(full) {
    for (std::size_t i = 0; i < shown.size(); ++i) number_[shown[i]] = i + 1;
    for (const std::size_t index : shown) {
      const std::int64_t parent = level == Level::all ? events[index].parent : -1;
      below_[parent].push_back(index);
    }
  }

  std::vector<Row> rows() {
    std::vector<Members> top;
    for (const std::size_t index : below_[-1]) top.push_back({index});
    emit(top, nullptr);
    return std::move(rows_);
  }

 private:
  const std::vector<std::size_t>& children(std::size_t index) {
    return below_[static_cast<std::int64_t>(index)];
  }

  bool alike(std::size_t first, std::size_t second) {
    const Event &a = events_[first], &b = events_[second];
    const auto &x = children(first), &y = children(second);
    if (a.class_name != b.class_name || a.operation != b.operation || a.call != b.call ||
        !same_tensors(a.inputs, b.inputs) || !same_tensors(a.outputs, b.outputs) ||
        x.size() != y.size()) {
      return false;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (parted(events_[x[i]].path).second != parted(events_[y[i]].path).second ||
          !alike(x[i], y[i])) {
        return false;
      }
    }
    return true;
  }

  bool foldable(const Members& first, const Members& next) {
    const auto [parent, number] = parted(events_[first[0]].path);
    const auto [other_parent, other] = parted(events_[next[0]].path);
    return !full_ && is_number(number) && is_number(other) && parent == other_parent &&
           alike(first[0], next[0]);
  }

  std::string name_of(const Members& members, std::size_t folded, const Row* parent) const {
    const Event& first = events_[members.front()];
    std::string name = first.name();
    if (folded > 1) {
      const Event& last = events_[members[members.size() - 1]];
      name += fmt::format("-{}", parted(last.path).second);
    }
    if (parent == nullptr) return name;
    const std::string above = events_[parent->members.front()].path;
    if (above.empty() || !name.starts_with(above + ".")) return name;
    return parent->name + name.substr(above.size());
  }

  void emit(const std::vector<Members>& siblings, const Row* parent) {
    for (std::size_t i = 0; i < siblings.size();) {
      std::size_t end = i + 1;
      while (end < siblings.size() && foldable(siblings[i], siblings[end])) ++end;
      Members members;
      for (std::size_t k = i; k < end; ++k)
        members.insert(members.end(), siblings[k].begin(), siblings[k].end());
      emit_row(members, end - i, parent);
      i = end;
    }
  }

  void emit_row(const Members& members, std::size_t folded, const Row* parent) {
    Row row;
    row.members = members;
    row.name = name_of(members, folded, parent);
    row.first = number_.at(members.front());
    row.depth = parent == nullptr ? 0 : parent->depth + 1;
    for (std::size_t i = 0; i < members.size(); ++i)
      row.consecutive = row.consecutive && number_.at(members[i]) == row.first + i;
    rows_.push_back(row);
    std::vector<Members> inside(children(members.front()).size());
    for (const std::size_t member : members) {
      const auto& below = children(member);
      for (std::size_t c = 0; c < inside.size(); ++c) inside[c].push_back(below[c]);
    }
    emit(inside, &row);
  }

  const Events& events_;
  bool full_;
  std::unordered_map<std::size_t, std::size_t> number_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> below_;  // by parent
  std::vector<Row> rows_;
};

}  // namespace

std::vector<std::size_t> shown_events(const Events& events, Level level) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_shown(events, events[i], level)) shown.push_back(i);
  }
  return shown;
}

std::vector<std::pair<std::string, std::string>> edges(const Events& events,
                                                       const std::vector<std::size_t>& shown) {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::size_t i = 1; i < shown.size(); ++i)
    result.emplace_back(events[shown[i - 1]].name(), events[shown[i]].name());
  return result;
}

std::vector<Row> folded_rows(const Events& events, const std::vector<std::size_t>& shown,
                             Level level, bool full) {
  return Folder(events, shown, level, full).rows();
}

}  // namespace sightline::audit

// Building, comparing and printing of the tree (module_tree.hpp).
#include "audit/module_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sightline::audit {
namespace {

bool is_index(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string joined(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// The child with this name, made if there is none; numbered children make their parent a list.
ModuleNode& child(ModuleNode& parent, std::string_view name) {
  for (ModuleNode& node : parent.children) {
    if (node.name == name) return node;
  }
  if (is_index(name) && parent.class_name.empty()) parent.class_name = "ModuleList";
  ModuleNode node;
  node.name = name;
  node.path = joined(parent.path, name);
  return parent.children.emplace_back(std::move(node));
}

/// The node at a path, its ancestors made where they are missing.
ModuleNode& reach(ModuleNode& root, std::string_view path) {
  ModuleNode* node = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    node = &child(*node, path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return *node;
}

/// The deepest existing module whose path begins a tensor's name.
ModuleNode& owner(ModuleNode& root, std::string_view tensor) {
  ModuleNode* node = &root;
  while (true) {
    const std::size_t dot = tensor.find('.');
    const auto found =
        std::find_if(node->children.begin(), node->children.end(),
                     [&](const ModuleNode& c) { return c.name == tensor.substr(0, dot); });
    if (found == node->children.end() || dot == std::string_view::npos) return *node;
    node = &*found;
    tensor = tensor.substr(dot + 1);
  }
}

void print(const ModuleNode& node, std::string_view label, int level, bool full, std::string& out) {
  out += fmt::format("{:{}}{}{}({}", "", 2 * level, label, node.class_name, node.extra);
  if (node.children.empty()) {
    out += ")\n";
    return;
  }
  out += '\n';
  const bool list = node.class_name == "ModuleList";
  for (const Run& run : folded(node.children)) {
    const ModuleNode& first = node.children[run.first];
    if (list && !full && run.last > run.first) {
      print(first,
            fmt::format("({}-{}): {} x ", first.name, node.children[run.last].name,
                        run.last - run.first + 1),
            level + 1, full, out);
      continue;
    }
    for (std::size_t i = run.first; i <= run.last; ++i)
      print(node.children[i], fmt::format("({}): ", node.children[i].name), level + 1, full, out);
  }
  out += fmt::format("{:{}})\n", "", 2 * level);
}

template <class F>
std::int64_t sum(const ModuleNode& node, const F& of_tensor) {
  std::int64_t total = 0;
  for (const io::ClaimedTensor& tensor : node.tensors) total += of_tensor(tensor);
  for (const ModuleNode& below : node.children) total += sum(below, of_tensor);
  return total;
}

}  // namespace

std::int64_t ModuleNode::parameters() const {
  return sum(*this, [](const io::ClaimedTensor& tensor) { return tensor.parameters(); });
}

std::int64_t ModuleNode::bytes() const {
  return sum(*this, [](const io::ClaimedTensor& tensor) { return tensor.bytes(); });
}

std::int64_t ModuleNode::tensor_count() const {
  return sum(*this, [](const io::ClaimedTensor&) { return std::int64_t{1}; });
}

std::string ModuleNode::stored() const {
  std::vector<std::string_view> kinds;
  std::string text;
  for (const io::ClaimedTensor& tensor : tensors) {
    if (tensor.stored.empty() ||
        std::find(kinds.begin(), kinds.end(), tensor.stored) != kinds.end())
      continue;
    kinds.emplace_back(tensor.stored);
    text += (text.empty() ? "" : "; ") + tensor.stored;
  }
  return text;
}

const ModuleNode* ModuleNode::find(std::string_view wanted) const {
  if (wanted == path || wanted.empty()) return this;
  const ModuleNode* node = this;
  while (!wanted.empty()) {
    const std::size_t dot = wanted.find('.');
    const auto found =
        std::find_if(node->children.begin(), node->children.end(),
                     [&](const ModuleNode& c) { return c.name == wanted.substr(0, dot); });
    if (found == node->children.end()) return nullptr;
    node = &*found;
    wanted = dot == std::string_view::npos ? "" : wanted.substr(dot + 1);
  }
  return node;
}

ModuleNode module_tree(const io::LoadReport& report) {
  ModuleNode root;
  for (const Site& site : report.modules) {
    ModuleNode& node = reach(root, site.path);
    node.class_name = site.kind;
    node.extra = site.extra;
  }
  for (const io::ClaimedTensor& tensor : report.tensors)
    owner(root, tensor.name).tensors.push_back(tensor);
  return root;
}

std::string torch_text(const ModuleNode& root, bool full) {
  std::string text;
  print(root, root.name.empty() ? "" : fmt::format("({}): ", root.name), 0, full, text);
  return text;
}

bool alike(const ModuleNode& a, const ModuleNode& b) {
  if (a.class_name != b.class_name || a.extra != b.extra ||
      a.children.size() != b.children.size() || a.tensors.size() != b.tensors.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const io::ClaimedTensor &left = a.tensors[i], &right = b.tensors[i];
    if (left.dtype != right.dtype || left.shape != right.shape || left.stored != right.stored)
      return false;
  }
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (a.children[i].name != b.children[i].name || !alike(a.children[i], b.children[i]))
      return false;
  }
  return true;
}

std::vector<Run> folded(const std::vector<ModuleNode>& children) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!runs.empty() && is_index(children[i].name) &&
        alike(children[runs.back().first], children[i])) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i});
    }
  }
  return runs;
}

}  // namespace sightline::audit

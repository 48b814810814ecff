// From recorded calls to nodes and edges (graph.hpp).
#include "audit/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sightline/error.hpp"

namespace sightline::audit {
namespace {

/// Calls of one kind in a row: one box.
struct Group {
  const Event* first = nullptr;
  std::int64_t count = 0;
  const Event* side = nullptr;  ///< what takes the last one's output beside the chain
};

std::string shape_of(const EventTensor& tensor) {
  std::string text = "(";
  for (int i = 0; i < tensor.shape.rank(); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", tensor.shape[i]);
  return text + ")";
}

const Event* find_event(const Events& events, std::string_view path) {
  for (const Event& event : events) {
    if (!event.operation && event.path == path) return &event;
  }
  return nullptr;
}

const EventTensor* find_tensor(const std::vector<EventTensor>& tensors, std::string_view name) {
  for (const EventTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
}

bool is_numbered(const Event& event) {
  const std::string_view last = last_part(event.path);
  return !last.empty() && std::all_of(last.begin(), last.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// A merger whose features go from an inner block straight to a language layer.
bool is_side(const Event& event) {
  return event.path.find("deepstack_merger_list") != std::string::npos;
}

/// True if the call takes what the chain carries: positions and angles are beside the chain.
bool carries_on(const Event& event, const Shape& carried) {
  return !event.inputs.empty() && !event.outputs.empty() && event.inputs.front().shape == carried &&
         event.class_name.find("Rotary") == std::string::npos;
}

/// The calls that `parent` makes one after the other, each taking what the one before gave.
std::vector<Group> chain(const Events& events, const Event& parent, Shape carried) {
  std::vector<Group> groups;
  for (const Event& event : events) {
    if (event.parent != parent.index || !carries_on(event, carried)) continue;
    if (is_side(event) && !groups.empty()) {
      groups.back().side = &event;
      continue;
    }
    carried = event.outputs.front().shape;
    const bool next = !groups.empty() && groups.back().side == nullptr && is_numbered(event) &&
                      is_numbered(*groups.back().first) &&
                      event.class_name == groups.back().first->class_name;
    if (next) {
      ++groups.back().count;
    } else {
      groups.push_back({&event, 1});
    }
  }
  return groups;
}

std::string id_of(std::string_view path) {
  std::string id(path);
  std::replace_if(id.begin(), id.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return id;
}

GraphNode node_of(const Group& group) {
  const Event& event = *group.first;
  const Channel channel = channel_of(event);
  const EventTensor& out = event.outputs.front();
  if (event.operation) {
    return {id_of(event.path + "." + event.class_name),
            "addition",
            {event.class_name, shape_of(out)},
            channel};
  }
  if (is_numbered(event)) {
    const char* what = channel == Channel::vision ? "vision block" : "decoder layer";
    const std::string_view list = std::string_view(event.path).substr(0, event.path.rfind('.'));
    return {id_of(list),
            group.count == 1 ? fmt::format("{} {}", what, last_part(event.path))
                             : fmt::format("{} × {}", group.count, what),
            {event.class_name, fmt::format("hidden {}", out.shape.back()), shape_of(out)},
            channel};
  }
  return {id_of(event.path),
          std::string(last_part(event.path)),
          {event.class_name, shape_of(out)},
          channel};
}

/// Builds a graph node by node; the last node of a row is what the next edge starts from.
class Builder {
 public:
  explicit Builder(FlowGraph& graph) : graph_(graph) {}

  /// A list in several parts has several boxes: the further ones are numbered from 2.
  std::size_t add(GraphNode node) {
    const int count = ++ids_[node.id];
    if (count > 1) node.id += fmt::format("_{}", count);
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }
  /// Adds the groups after `from`, each with an edge; returns the last node. Features that leave a
  /// group beside the chain go to the additions in their order.
  std::size_t add_after(std::size_t from, const std::vector<Group>& groups) {
    for (const Group& group : groups) {
      const std::size_t node = add(node_of(group));
      graph_.edges.push_back({from, node, ""});
      if (group.side != nullptr) sides_.push_back({node, group.side});
      if (group.first->operation && added_ < sides_.size()) add_lane(sides_[added_++], node);
      from = node;
    }
    return from;
  }

 private:
  struct Side {
    std::size_t from = 0;
    const Event* merger = nullptr;
  };
  void add_lane(const Side& side, std::size_t to) {
    const std::string& path = side.merger->path;
    graph_.edges.push_back({side.from, to, path.substr(path.find("deepstack"))});
  }

  FlowGraph& graph_;
  std::map<std::string, int> ids_;
  std::vector<Side> sides_;
  std::size_t added_ = 0;
};

std::size_t add_image_row(const Walk& walk, const EventTensor& pixels, Builder& builder) {
  const Event* visual = find_event(walk.events, "model.visual");
  const std::size_t source = builder.add(
      {"pixel_values", pixels.name, {"patches of the picture", shape_of(pixels)}, Channel::vision});
  std::vector<Group> groups = chain(walk.events, *visual, pixels.shape);
  return builder.add_after(source, groups);
}

std::size_t add_text_row(const Walk& walk, const EventTensor& ids, Builder& builder) {
  const std::int64_t others = walk.prompt_tokens - walk.visual_tokens;
  const std::size_t source =
      builder.add({"input_ids",
                   ids.name,
                   {walk.visual_tokens == 0
                        ? fmt::format("{} tokens", others)
                        : fmt::format("{} placeholders + {} others", walk.visual_tokens, others),
                    shape_of(ids)},
                   Channel::text});
  const Event* embed = find_event(walk.events, "model.language_model.embed_tokens");
  return builder.add_after(source, {{embed, 1}});
}

const Event* insertion(const Events& events) {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [](const Event& event) { return event.operation; });
  return found == events.end() ? nullptr : &*found;
}

}  // namespace

FlowGraph flow_graph(const Walk& walk, const std::string& name) {
  const Event& root = walk.events.front();
  const EventTensor* ids = find_tensor(root.inputs, "input_ids");
  const EventTensor* pixels = find_tensor(root.inputs, "pixel_values");
  if (pixels == nullptr) pixels = find_tensor(root.inputs, "pixel_values_videos");
  FlowGraph graph;
  Builder builder(graph);
  std::size_t image_end = 0;
  if (pixels != nullptr) {
    image_end = add_image_row(walk, *pixels, builder);
    graph.image_row = graph.nodes.size();
  }
  std::size_t last = add_text_row(walk, *ids, builder);
  graph.text_row = graph.nodes.size() - graph.image_row;
  if (const Event* op = insertion(walk.events); pixels != nullptr && op != nullptr) {
    const std::size_t joined = builder.add(
        {"insertion",
         "insertion",
         {fmt::format("{} rows replaced", walk.visual_tokens), shape_of(op->outputs.front())},
         Channel::merge});
    graph.edges.push_back({image_end, joined, "image_embeds"});
    graph.edges.push_back({last, joined, "text inputs_embeds"});
    last = joined;
  }
  const Event* language = find_event(walk.events, "model.language_model");
  const Shape hidden = find_tensor(language->inputs, "inputs_embeds")->shape;
  last = builder.add_after(last, chain(walk.events, *language, hidden));
  builder.add_after(last, {{find_event(walk.events, "lm_head"), 1}});
  const bool lanes = std::any_of(graph.edges.begin(), graph.edges.end(), [](const auto& edge) {
    return edge.label.starts_with("deepstack");
  });
  graph.title = fmt::format("{}: how {} become{} logits", name,
                            pixels == nullptr ? "a text" : "a picture and a text",
                            pixels == nullptr ? "s" : "");
  graph.description =
      pixels == nullptr
          ? fmt::format("{} prompt tokens are embedded and pass the language model.",
                        walk.prompt_tokens)
          : fmt::format(
                "{} prompt tokens, of which {} stand for the picture: its patches pass the "
                "vision tower (upper row) and replace the placeholders among the embedded "
                "text (lower row); the language model takes the joined rows.{}",
                walk.prompt_tokens, walk.visual_tokens,
                lanes ? " Features of inner blocks are added after its first layers." : "");
  return graph;
}

}  // namespace sightline::audit

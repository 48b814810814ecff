// The two branches of a run as a graph: the calls that hand the picture and the text on, joined
// where the features take the placeholders' rows. Made of recorded calls; describes no model
// itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/events.hpp"
#include "audit/walk.hpp"
#include "io/json.hpp"

namespace sightline::audit {

struct GraphNode {
  std::string id;                  ///< of the module, with underscores
  std::string title;               ///< "24 × vision block"
  std::vector<std::string> lines;  ///< class, shapes
  Channel channel = Channel::root;
};

struct GraphEdge {
  std::size_t from = 0, to = 0;
  std::string label;  ///< empty for most
};

/// Nodes: the image row from left to right, the text row, the insertion, what follows it.
struct FlowGraph {
  std::string title, description;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::size_t image_row = 0, text_row = 0;  ///< numbers of nodes; a prompt without pictures has no
                                            ///< image row and no insertion
};

/// The graph of a walk over a prompt of pictures and text. `name` is the model's.
FlowGraph flow_graph(const Walk& walk, const std::string& name);

std::string graph_dot(const FlowGraph& graph);
std::string graph_mermaid(const FlowGraph& graph);
/// A drawing of its own: no renderer is needed but one of SVG; light and dark, and light on paper.
std::string graph_svg(const FlowGraph& graph);
io::Json graph_json(const FlowGraph& graph);

}  // namespace sightline::audit

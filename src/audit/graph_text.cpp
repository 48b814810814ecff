// The graph for other programs: DOT, Mermaid, JSON (graph.hpp).
#include <fmt/format.h>

#include "audit/graph.hpp"

namespace sightline::audit {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string dot_text(const std::string& text) {
  return replaced(replaced(text, "\\", "\\\\"), "\"", "\\\"");
}

std::string mermaid_text(const std::string& text) { return replaced(text, "\"", "#quot;"); }

std::string_view dot_style(Channel channel) {
  if (channel == Channel::vision) return "style=dotted";
  if (channel == Channel::merge) return "peripheries=2";
  return "style=solid";
}

}  // namespace

std::string graph_dot(const FlowGraph& graph) {
  std::string text = fmt::format(
      "digraph sightline {{\n  label=\"{}\";\n  rankdir=LR;\n  splines=spline;\n"
      "  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n",
      dot_text(graph.title));
  for (const GraphNode& node : graph.nodes) {
    std::string label = dot_text(node.title);
    for (const std::string& line : node.lines) label += "\\n" + dot_text(line);
    text += fmt::format("  {} [label=\"{}\", {}];\n", node.id, label, dot_style(node.channel));
  }
  for (const GraphEdge& edge : graph.edges) {
    const std::string label =
        edge.label.empty() ? "" : fmt::format(" [label=\"{}\"]", dot_text(edge.label));
    text +=
        fmt::format("  {} -> {}{};\n", graph.nodes[edge.from].id, graph.nodes[edge.to].id, label);
  }
  return text + "}\n";
}

std::string graph_mermaid(const FlowGraph& graph) {
  std::string text = fmt::format("%% {}\nflowchart LR\n", graph.title);
  for (const GraphNode& node : graph.nodes) {
    std::string label = mermaid_text(node.title);
    for (const std::string& line : node.lines) label += "<br/>" + mermaid_text(line);
    text += fmt::format("  {}[\"{}\"]:::{}\n", node.id, label, channel_name(node.channel));
  }
  for (const GraphEdge& edge : graph.edges) {
    const std::string label =
        edge.label.empty() ? "" : fmt::format("|\"{}\"|", mermaid_text(edge.label));
    text +=
        fmt::format("  {} -->{} {}\n", graph.nodes[edge.from].id, label, graph.nodes[edge.to].id);
  }
  return text +
         "  classDef vision stroke-dasharray: 2 3\n  classDef text stroke-width: 1px\n"
         "  classDef merge stroke-width: 4px\n  classDef head stroke-width: 1px\n";
}

io::Json graph_json(const FlowGraph& graph) {
  io::Json nodes = io::Json::array(), edges = io::Json::array();
  for (const GraphNode& node : graph.nodes) {
    io::Json lines = io::Json::array();
    for (const std::string& line : node.lines) lines.push(line);
    nodes.push(io::Json::Object{{"id", node.id},
                                {"title", node.title},
                                {"lines", std::move(lines)},
                                {"channel", channel_name(node.channel)}});
  }
  for (const GraphEdge& edge : graph.edges) {
    edges.push(io::Json::Object{{"from", graph.nodes[edge.from].id},
                                {"to", graph.nodes[edge.to].id},
                                {"label", edge.label}});
  }
  return io::Json::Object{{"title", graph.title},
                          {"description", graph.description},
                          {"nodes", std::move(nodes)},
                          {"edges", std::move(edges)}};
}

}  // namespace sightline::audit

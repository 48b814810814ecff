// Drawing of the graph (graph.hpp): boxes in columns from left to right, the image row above, the
// text row below, what both share in the middle; or, where inner blocks feed the language model
// too, what both share in the text row, so that the lanes to it find room between the rows. Lengths
// are SVG user units.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/graph.hpp"
#include "audit/text_width.hpp"

namespace sightline::audit {
namespace {

constexpr double kMargin = 24, kGap = 44, kPadding = 12, kRowGap = 56, kTitleHeight = 54;
constexpr double kTitleSize = 14, kLineSize = 12, kLineHeight = 17, kLabelSize = 12, kHeading = 17;
constexpr double kLane = 28;  // from one lane to the next

// Light colours stand as attributes, for renderers without CSS variables; the style takes over
// where they are known. Contrast of text on its ground is at least 7:1, of lines at least 3:1.
constexpr const char* kStyle = R"css(
    .sl { --paper: #ffffff; --ink: #1b1f24; --soft: #4a5260; --line: #59636e;
          --vision: #0b62a8; --vision-fill: #eaf3fb; --text: #7a4a00; --text-fill: #fdf4e3;
          --merge: #6a2f9c; --merge-fill: #f5ecfb; --head: #1b6b3a; --head-fill: #eaf6ee; }
    @media screen and (prefers-color-scheme: dark) {
      .sl { --paper: #14171b; --ink: #f0f3f6; --soft: #c3cad3; --line: #98a2ad;
            --vision: #6cb6f5; --vision-fill: #12283a; --text: #eeb65c; --text-fill: #33270f;
            --merge: #cf9bf2; --merge-fill: #2c1b3a; --head: #71cf94; --head-fill: #12301e; }
    }
    .sl .paper { fill: var(--paper); } .sl .ink { fill: var(--ink); }
    .sl .soft { fill: var(--soft); } .sl .line { stroke: var(--line); }
    .sl .tip { fill: var(--line); }
    .sl .vision { stroke: var(--vision); fill: var(--vision-fill); }
    .sl .text { stroke: var(--text); fill: var(--text-fill); }
    .sl .merge { stroke: var(--merge); fill: var(--merge-fill); }
    .sl .head { stroke: var(--head); fill: var(--head-fill); }
)css";

struct Colours {
  const char *stroke, *fill;
};

Colours colours(Channel channel) {
  switch (channel) {
    case Channel::vision:
      return {"#0b62a8", "#eaf3fb"};
    case Channel::merge:
      return {"#6a2f9c", "#f5ecfb"};
    case Channel::head:
      return {"#1b6b3a", "#eaf6ee"};
    case Channel::text:
    case Channel::root:
      break;
  }
  return {"#7a4a00", "#fdf4e3"};
}

std::string_view class_of(Channel channel) {
  return channel == Channel::root ? "text" : channel_name(channel);
}

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double middle() const { return y + height / 2; }
  [[nodiscard]] double centre() const { return x + width / 2; }
};

double width_of(const GraphNode& node) {
  double width = text_width(node.title, true) * kTitleSize;
  for (const std::string& line : node.lines)
    width = std::max(width, text_width(line, false) * kLineSize);
  return width + 2 * kPadding;
}

bool from_image_row(const FlowGraph& graph, const GraphEdge& edge) {
  return edge.from < graph.image_row && edge.to >= graph.image_row;
}

struct Layout {
  std::vector<Box> boxes;
  std::vector<double> lanes;  ///< height of each edge's lane between the rows, 0 without
  double width = 0, height = 0;
};

/// Edges between the rows get lanes: that of the later box above that of the earlier one, so that
/// those to the right never cross; none of them if there is one edge only.
std::size_t number_lanes(const FlowGraph& graph, double top, std::vector<double>& lanes) {
  lanes.assign(graph.edges.size(), 0);
  std::vector<std::size_t> between;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (from_image_row(graph, graph.edges[i])) between.push_back(i);
  }
  if (between.size() < 2) return 0;
  std::sort(between.begin(), between.end(),
            [&](auto a, auto b) { return graph.edges[a].from > graph.edges[b].from; });
  for (std::size_t i = 0; i < between.size(); ++i)
    lanes[between[i]] = top + kLane * static_cast<double>(i + 1);
  return between.size();
}

/// Room behind a box: more if an edge along the row has a label.
double gap_behind(const FlowGraph& graph, std::size_t node) {
  for (const GraphEdge& edge : graph.edges) {
    const bool same_row = !from_image_row(graph, edge);
    if (edge.from == node && same_row && !edge.label.empty())
      return std::max(kGap, text_width(edge.label, false) * kLabelSize + 2 * kPadding);
  }
  return kGap;
}

/// Rows start at the left; the joined part begins where the longer row ends, or goes on behind the
/// text row if there are lanes.
Layout lay_out(const FlowGraph& graph) {
  Layout layout;
  std::size_t lines = 0;
  for (const GraphNode& node : graph.nodes) lines = std::max(lines, node.lines.size());
  const double height = 2 * kPadding + kLineHeight * static_cast<double>(lines + 1);
  const double upper = kMargin + kTitleHeight;
  const std::size_t lanes = number_lanes(graph, upper + height, layout.lanes);
  const double between = lanes > 0 ? kLane * static_cast<double>(lanes + 1) : kRowGap;
  const double lower = upper + height + between;
  const bool two_rows = graph.image_row > 0;
  std::array<double, 2> ends{kMargin, kMargin};
  double x = kMargin;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const double width = width_of(graph.nodes[i]);
    if (two_rows && (lanes > 0 || i < graph.image_row + graph.text_row)) {
      const std::size_t row = i < graph.image_row ? 0 : 1;
      layout.boxes.push_back({ends[row], row == 0 ? upper : lower, width, height});
      ends[row] += width + (lanes > 0 ? gap_behind(graph, i) : kGap);
      x = std::max(ends[0], ends[1]);
      continue;
    }
    layout.boxes.push_back({x, two_rows ? (upper + lower) / 2 : upper, width, height});
    x += width + kGap;
  }
  const double title = text_width(graph.title, true) * kHeading;
  layout.width = std::max(x - kGap, kMargin + title) + kMargin;
  layout.height = (two_rows ? lower : upper) + height + kMargin;
  return layout;
}

std::string text_at(double x, double y, double size, std::string_view name, bool bold,
                    std::string_view text) {
  const char* colour = name == "soft" ? "#4a5260" : "#1b1f24";
  return fmt::format(
      "  <text class=\"{}\" fill=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\"{}>{}</text>\n",
      name, colour, x, y, size, bold ? " font-weight=\"600\"" : "", xml(text));
}

std::string rectangle(const Box& box, Channel channel, double inset) {
  const Colours plain = colours(channel);
  return fmt::format(
      "  <rect class=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"{} x=\"{:.1f}\" "
      "y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\"/>\n",
      class_of(channel), plain.fill, plain.stroke,
      channel == Channel::vision ? " stroke-dasharray=\"2 3\"" : "", box.x + inset, box.y + inset,
      box.width - 2 * inset, box.height - 2 * inset);
}

std::string box_text(const GraphNode& node, const Box& box) {
  std::string text = rectangle(box, node.channel, 0);
  constexpr double kDouble = 3;  // the insertion has a double edge
  if (node.channel == Channel::merge) text += rectangle(box, node.channel, kDouble);
  const double height = kLineHeight * static_cast<double>(node.lines.size() + 1);
  double y = box.middle() - height / 2 + kTitleSize;
  text += text_at(box.centre(), y, kTitleSize, "ink", true, node.title);
  for (const std::string& line : node.lines)
    text += text_at(box.centre(), y += kLineHeight, kLineSize, "soft", false, line);
  return text;
}

std::string arrow(const std::string& path, double x, double y, std::string_view direction) {
  constexpr double kLong = 8, kHalf = 4;
  const bool down = direction == "down", up = direction == "up";
  const double back = up ? kLong : -kLong;
  const std::string tip = down || up ? fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x,
                                                   y, x - kHalf, y + back, x + kHalf, y + back)
                                     : fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x,
                                                   y, x - kLong, y - kHalf, x - kLong, y + kHalf);
  return fmt::format(
      "  <path class=\"line\" stroke=\"#59636e\" fill=\"none\" stroke-width=\"1.5\" d=\"{}\"/>\n"
      "  <polygon class=\"tip\" fill=\"#59636e\" points=\"{}\"/>\n",
      path, tip);
}

constexpr double kLift = 7;  // of a label above its line

/// Down to the lane, along it, down to the box.
std::string lane_text(const GraphEdge& edge, double lane, const Box& from, const Box& to) {
  const double x = from.centre(), end = to.centre();
  const double half = text_width(edge.label, false) * kLabelSize / 2 + kLift;
  return arrow(fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}", x, from.y + from.height, lane,
                           end, to.y - 4),
               end, to.y, "down") +
         text_at(end > x ? end - half : x - half, lane - kLift, kLabelSize, "ink", false,
                 edge.label);
}

/// Straight inside a row, by its lane if it has one, else round a corner into the insertion.
std::string edge_text(const FlowGraph& graph, std::size_t index, const Layout& layout) {
  const GraphEdge& edge = graph.edges[index];
  const Box &from = layout.boxes[edge.from], &to = layout.boxes[edge.to];
  if (layout.lanes[index] > 0) return lane_text(edge, layout.lanes[index], from, to);
  const double y = from.middle();
  if (y == to.middle()) {
    std::string text =
        arrow(fmt::format("M{:.1f} {:.1f}H{:.1f}", from.right(), y, to.x - 4), to.x, y, "right");
    if (edge.label.empty()) return text;
    return text +
           text_at((from.right() + to.x) / 2, y - kLift, kLabelSize, "ink", false, edge.label);
  }
  const bool above = edge.from < graph.image_row;
  const double end = above ? to.y : to.y + to.height;
  return arrow(fmt::format("M{:.1f} {:.1f}H{:.1f}V{:.1f}", from.right(), y, to.centre(),
                           above ? end - 4 : end + 4),
               to.centre(), end, above ? "down" : "up") +
         text_at((from.right() + to.centre()) / 2, y - kLift, kLabelSize, "ink", false, edge.label);
}

}  // namespace

std::string graph_svg(const FlowGraph& graph) {
  const Layout layout = lay_out(graph);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sl\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-labelledby=\"sl-title sl-desc\" "
      "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" text-anchor=\"middle\">\n"
      "  <title id=\"sl-title\">{2}</title>\n  <desc id=\"sl-desc\">{3}</desc>\n"
      "  <style>{4}  </style>\n"
      "  <rect class=\"paper\" fill=\"#ffffff\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
      layout.width, layout.height, xml(graph.title), xml(graph.description), kStyle);
  text += fmt::format(
      "  <text class=\"ink\" fill=\"#1b1f24\" x=\"{}\" y=\"{}\" font-size=\"{}\" "
      "font-weight=\"600\" text-anchor=\"start\">{}</text>\n",
      kMargin, kMargin + kHeading, kHeading, xml(graph.title));
  for (std::size_t i = 0; i < graph.edges.size(); ++i) text += edge_text(graph, i, layout);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    text += box_text(graph.nodes[i], layout.boxes[i]);
  return text + "</svg>\n";
}

}  // namespace sightline::audit

// Protects: the graph of the 2B model is the reference's, ten boxes and nine edges with its labels,
// and the drawing is well-formed XML that can be read aloud.
#include "audit/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "audit/subject.hpp"
#include "audit/text_width.hpp"

namespace sightline::audit {
namespace {

FlowGraph graph_of(const char* name, const PromptShape& prompt) {
  const auto model = subject_of(*find_member(name)).declare();
  return flow_graph(walk_whole(*model, prompt, nn::Precision::bf16), name);
}

FlowGraph reference_graph() { return graph_of("qwen3.5-2b", {{{1, 16, 16}}, {}, 16}); }

std::string id_at(const FlowGraph& graph, std::size_t node) { return graph.nodes[node].id; }

TEST(Graph, HasTheBoxesEdgesAndLabelsOfTheReference) {
  const FlowGraph graph = reference_graph();
  ASSERT_EQ(graph.nodes.size(), 10U);
  ASSERT_EQ(graph.edges.size(), 9U);
  std::vector<std::string> titles, labelled;
  for (const GraphNode& node : graph.nodes) titles.push_back(node.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"pixel_values", "patch_embed", "24 × vision block",
                                              "merger", "input_ids", "embed_tokens", "insertion",
                                              "24 × decoder layer", "norm", "lm_head"}));
  EXPECT_EQ(graph.nodes[4].lines.front(), "64 placeholders + 16 others");
  EXPECT_EQ(graph.nodes[7].lines[1], "hidden 2048");
  for (const GraphEdge& edge : graph.edges) {
    if (!edge.label.empty())
      labelled.push_back(id_at(graph, edge.from) + " " + edge.label + " " + id_at(graph, edge.to));
  }
  EXPECT_EQ(labelled, (std::vector<std::string>{
                          "model_visual_merger image_embeds insertion",
                          "model_language_model_embed_tokens text inputs_embeds insertion"}));
}

// Text is measured by the widest face that pages are likely to have.
TEST(Graph, TextWidthsAreThoseOfTheFace) {
  EXPECT_DOUBLE_EQ(text_width("MW i", false), 0.86 + 0.99 + 0.32 + 0.28);
  EXPECT_DOUBLE_EQ(text_width("MW i", true), 1.00 + 1.10 + 0.35 + 0.34);
  EXPECT_DOUBLE_EQ(text_width("\xc3\x97\xe7\xba\xa2", false), 2.0);  // a sign and an ideograph
}

TEST(Graph, WithoutAPictureTheTextRowGoesOn) {
  const FlowGraph graph = graph_of("qwen3.5-0.8b", {{}, {}, 5});
  EXPECT_EQ(graph.image_row, 0U);
  EXPECT_EQ(graph.nodes.size(), 5U);
  EXPECT_EQ(graph.edges.size(), 4U);
}

/// A strict reader of the little XML that a drawing needs: names of elements in order; empty with
/// `fault` set if something is not well-formed.
class Elements {
 public:
  explicit Elements(std::string_view text) : text_(text) {}

  std::vector<std::string> read() {
    constexpr std::string_view kDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    if (!text_.starts_with(kDeclaration)) return fail("declaration");
    text_.remove_prefix(kDeclaration.size());
    while (!text_.empty() && fault.empty()) {
      if (text_.front() == '<') {
        tag();
      } else {
        characters(std::min(text_.find('<'), text_.size()));
      }
    }
    if (fault.empty() && !open_.empty()) return fail("not closed: " + open_.back());
    return names_;
  }
  std::string fault;

 private:
  std::vector<std::string> fail(const std::string& what) {
    if (fault.empty()) fault = what;
    return {};
  }
  void characters(std::size_t count) {
    const std::string_view run = text_.substr(0, count);
    const bool blank = run.find_first_not_of(" \n") == std::string_view::npos;
    if (open_.empty() && !blank) fail("text outside of the root");
    entities(run);
    text_.remove_prefix(count);
  }
  void entities(std::string_view run) {
    for (std::size_t at = 0; (at = run.find('&', at)) != std::string_view::npos; ++at) {
      const std::string_view rest = run.substr(at);
      const auto known = {"&amp;", "&lt;", "&gt;", "&quot;"};
      if (std::none_of(known.begin(), known.end(),
                       [&](const char* entity) { return rest.starts_with(entity); })) {
        fail("entity");
      }
    }
  }
  void tag() {
    const std::size_t end = text_.find('>');
    if (end == std::string_view::npos) return void(fail("tag without an end"));
    std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    if (inside.starts_with('/')) {
      if (open_.empty() || open_.back() != inside.substr(1))
        return void(fail("closes " + std::string(inside)));
      open_.pop_back();
      return;
    }
    const bool empty = inside.ends_with('/');
    if (empty) inside.remove_suffix(1);
    const std::size_t blank = std::min(inside.find(' '), inside.size());
    const std::string name(inside.substr(0, blank));
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0)
      return void(fail("name " + name));
    attributes(inside.substr(blank));
    names_.push_back(name);
    if (!empty) open_.push_back(name);
  }
  void attributes(std::string_view text) {
    std::vector<std::string_view> seen;
    while (text.find_first_not_of(' ') != std::string_view::npos) {
      text.remove_prefix(text.find_first_not_of(' '));
      const std::size_t equals = text.find("=\"");
      const std::size_t end =
          equals == std::string_view::npos ? equals : text.find('"', equals + 2);
      if (end == std::string_view::npos) return void(fail("attribute " + std::string(text)));
      const std::string_view name = text.substr(0, equals);
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) fail("twice: attribute");
      seen.push_back(name);
      const std::string_view value = text.substr(equals + 2, end - equals - 2);
      if (value.find('<') != std::string_view::npos) fail("< in an attribute");
      entities(value);
      text.remove_prefix(end + 1);
    }
  }

  std::string_view text_;
  std::vector<std::string> names_, open_;
};

TEST(Graph, DrawingIsWellFormedAndNamed) {
  FlowGraph graph = reference_graph();
  graph.title = "a <model> & \"its\" name";
  const std::string svg = graph_svg(graph);
  Elements elements(svg);
  const std::vector<std::string> names = elements.read();
  EXPECT_EQ(elements.fault, "");
  ASSERT_GE(names.size(), 4U);
  EXPECT_EQ(names[0], "svg");
  EXPECT_EQ(names[1], "title");
  EXPECT_EQ(names[2], "desc");
  // The paper, a box each, and the insertion's second edge; an arrow for each edge.
  EXPECT_EQ(std::count(names.begin(), names.end(), "rect"), 1 + 10 + 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "path"), 9);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(svg.find(">a &lt;model&gt; &amp; &quot;its&quot; name</title>"), std::string::npos);
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Graph, OtherFormatsHaveAllEdgesWithTheirLabels) {
  const FlowGraph graph = reference_graph();
  const std::string dot = graph_dot(graph), mermaid = graph_mermaid(graph);
  EXPECT_EQ(count(dot, " -> "), 9U);
  EXPECT_EQ(count(mermaid, " -->"), 9U);
  for (const std::string& text : {dot, mermaid, io::to_json_text(graph_json(graph))}) {
    for (const char* part : {"image_embeds", "text inputs_embeds", "64 placeholders + 16 others",
                             "24 × vision block", "24 × decoder layer", "hidden 2048"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
  }
}

}  // namespace
}  // namespace sightline::audit

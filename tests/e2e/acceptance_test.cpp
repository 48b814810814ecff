// The reference's audit of the 2B model, value for value (tests/data/audit/qwen3.5-2b.json): by
// what the published shape alone declares, and by a run of a made-up checkpoint of the full size
// with the published tokenizer. Protects: every number that the audit shows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "binary.hpp"
#include "json_at.hpp"

namespace sightline::e2e {
namespace {

using io::Json;

Json shapes(const Json& tensors) {
  Json list = Json::array();
  for (const Json& tensor : tensors.as_array()) list.push(*tensor.find("shape"));
  return list;
}

/// Rows first..last of the expectation, one object a call, in the form of reduced().
std::vector<Json> expanded(const Json& rows) {
  std::vector<Json> list;
  for (const Json& row : rows.as_array()) {
    const std::int64_t first = at(row, {"first"}).as_int();
    for (std::int64_t i = first; i <= at(row, {"last"}).as_int(); ++i) {
      const Json& params = at(row, {"params"});
      const auto& cycle = params.is_array() ? params.as_array() : Json::Array{params};
      std::string name = at(row, {"name"}).as_string();
      if (const auto place = name.find("{}"); place != std::string::npos)
        name.replace(place, 2, std::to_string(i - first));
      list.push_back(
          Json::Object{{"i", i},
                       {"kind", at(row, {"kind"})},
                       {"name", name},
                       {"class", at(row, {"class"})},
                       {"in", at(row, {"in"})},
                       {"out", Json::Array{at(row, {"out"})}},
                       {"params", cycle[static_cast<std::size_t>(i - first) % cycle.size()]},
                       {"tied", row.find("tied") != nullptr}});
    }
  }
  return list;
}

std::vector<Json> reduced(const Json& events) {
  std::vector<Json> list;
  for (const Json& event : events.as_array()) {
    list.push_back(Json::Object{{"i", at(event, {"i"})},
                                {"kind", at(event, {"kind"})},
                                {"name", at(event, {"name"})},
                                {"class", at(event, {"class"})},
                                {"in", shapes(at(event, {"in"}))},
                                {"out", shapes(at(event, {"out"}))},
                                {"params", at(event, {"params"})},
                                {"tied", event.find("tied") != nullptr}});
  }
  return list;
}

void expect_equal(const std::vector<Json>& found, const std::vector<Json>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(io::to_json_text(found[i]), io::to_json_text(expected[i]));
}

/// The element of a list that is called so.
const Json* named(const Json& list, const std::string& name) {
  for (const Json& element : list.as_array()) {
    for (const char* key : {"path", "name", "id"}) {
      const Json* found = element.find(key);
      if (found != nullptr && found->is_string() && found->as_string() == name) return &element;
    }
  }
  return nullptr;
}

/// Holds a part of a document against what is expected, as the expectation file explains.
void expect_part(const Json* found, const Json& expected, const std::string& where) {
  ASSERT_NE(found, nullptr) << where << ": missing";
  if (expected.is_object() && (found->is_object() || found->is_array())) {
    for (const auto& [key, value] : expected.as_object()) {
      const std::string below = where + "." + key;
      if (key == "#") {
        EXPECT_EQ(found->as_array().size(), static_cast<std::size_t>(value.as_int())) << where;
      } else {
        expect_part(found->is_array() ? named(*found, key) : found->find(key), value, below);
      }
    }
    return;
  }
  if (expected.is_array() && found->is_array()) {
    ASSERT_EQ(found->as_array().size(), expected.as_array().size()) << where;
    for (std::size_t i = 0; i < expected.as_array().size(); ++i) {
      expect_part(&found->as_array()[i], expected.as_array()[i], fmt::format("{}[{}]", where, i));
    }
    return;
  }
  EXPECT_EQ(io::to_json_text(*found), io::to_json_text(expected)) << where;
}

/// The reference's picture.
std::string picture() { return data("images/red-64.png"); }

void expect_inputs_and_calls(const std::vector<std::string>& trace, const Json& expected) {
  for (const char* level : {"root", "stages"}) {
    std::vector<std::string> arguments = trace;
    arguments.insert(arguments.end(), {"--level", level, "--json"});
    const Finished done = sightline(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    const Json document = done.json();
    expect_part(document.find("inputs"), at(expected, {"inputs"}), "inputs");
    EXPECT_EQ(at(document, {"edges"}), at(expected, {"edges"}));
    expect_equal(reduced(at(document, {"events"})), expanded(at(expected, {level})));
  }
}

void expect_checks(const std::string& model, bool run, const Json& expected) {
  for (const Json& check : at(expected, {"checks"}).as_array()) {
    if (check.find("run") != nullptr && !run) continue;
    std::vector<std::string> arguments;
    for (const Json& word : at(check, {"command"}).as_array()) {
      const std::string& text = word.as_string();
      arguments.push_back(text == "MODEL" ? model : text == "PICTURE" ? picture() : text);
    }
    const Finished done = sightline(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    const Json document = done.json();
    expect_part(&document, at(check, {"expect"}), at(check, {"about"}).as_string());
  }
}

TEST(Acceptance, ThePublishedShape) {
  const Json expected = io::read_json_file(data("audit/qwen3.5-2b.json"));
  expect_inputs_and_calls({"trace", "qwen3.5-2b", "--shapes-only"}, expected);
  expect_checks("qwen3.5-2b", /*run=*/false, expected);
}

TEST(SlowAcceptance, ARunOfTheFullSize) {
  const Json expected = io::read_json_file(data("audit/qwen3.5-2b.json"));
  const Folder folder;
  const std::string model = folder.path("model");
  const Finished made = sightline({"synth", "qwen3.5-2b", model, "--tokenizer", data("processor")});
  ASSERT_EQ(made.code, 0) << made.err;
  expect_inputs_and_calls({"trace", model, "-i", picture(), "color?"}, expected);
  expect_checks(model, /*run=*/true, expected);
}

}  // namespace
}  // namespace sightline::e2e

// Protects the form of every trace: keys, call numbers, ports, selection, packed rows, and that a
// trace on disk holds what a trace in memory holds.
#include "trace/recorder.hpp"

#include <cstring>
#include <filesystem>

#include "gtest/gtest.h"
#include "sightline/error.hpp"
#include "trace/sinks.hpp"

namespace sightline::trace {
namespace {

constexpr auto kHere = [] { return std::source_location::current(); };

TensorRef ref(std::string_view name, const std::vector<float>& values, const Shape& shape,
              std::int64_t stride) {
  return {name, DType::f32, shape, reinterpret_cast<const std::byte*>(values.data()), stride};
}

// A model of two modules, the inner one called twice.
void run(Trace& trace) {
  const Site outer{0, "model", "Model"}, inner{1, "model.mlp", "Mlp"};
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  trace.enter(outer, kHere(), kHere());
  trace.input(outer, ref("x", values, {2, 2}, 2));
  trace.input(outer, ref("mask", values, {1}, 1));
  for (int i = 0; i < 2; ++i) {
    trace.enter(inner, kHere(), kHere());
    trace.input(inner, ref("x", values, {2, 2}, 4));
    trace.note(inner, ref("gate", values, {1, 8}, 8));
    trace.note(inner, ref("gate", values, {1, 4}, 4));
    trace.output(inner, ref("output", values, {2, 3}, 4));
    trace.leave(inner);
  }
  trace.output(outer, ref("output", values, {8}, 8));
  trace.leave(outer);
}

std::vector<std::string> keys_with(const RecordOptions& options) {
  MemorySink sink(1 << 20);
  Recorder recorder(options, sink);
  run(recorder);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < sink.size(); ++i) keys.emplace_back(sink.at(i).name);
  return keys;
}

TEST(Recorder, OutputsInCallOrder) {
  EXPECT_EQ(keys_with({}),
            (std::vector<std::string>{"trace/model.mlp", "trace/model.mlp#1", "trace/model"}));
}

TEST(Recorder, InputsAndInnerValues) {
  EXPECT_EQ(
      keys_with({{}, true, true, true}),
      (std::vector<std::string>{"trace/model|in", "trace/model|mask", "trace/model.mlp|in",
                                "trace/model.mlp|gate", "trace/model.mlp|gate@1", "trace/model.mlp",
                                "trace/model.mlp#1|in", "trace/model.mlp#1|gate",
                                "trace/model.mlp#1|gate@1", "trace/model.mlp#1", "trace/model"}));
}

TEST(Recorder, SelectsByPath) {
  EXPECT_EQ(keys_with({{"*.mlp"}}),
            (std::vector<std::string>{"trace/model.mlp", "trace/model.mlp#1"}));
  EXPECT_EQ(keys_with({{"nothing", "model"}}), (std::vector<std::string>{"trace/model"}));
  EXPECT_TRUE(keys_with({{"mlp"}}).empty());  // a pattern matches the whole path
}

TEST(Recorder, Globs) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c*", "abcbcd"));
  EXPECT_TRUE(glob_match("*layers.?.mlp", "model.layers.3.mlp"));
  EXPECT_FALSE(glob_match("*layers.?.mlp", "model.layers.13.mlp"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a*b", "abc"));
}

TEST(Sinks, RowsArePacked) {
  MemorySink sink(1 << 20);
  Recorder recorder({{"model.mlp"}}, sink);
  run(recorder);
  EXPECT_EQ(io::to_floats(sink.find("trace/model.mlp").value()),
            (std::vector<float>{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(sink.at(0).shape, Shape({2, 3}));
  EXPECT_FALSE(sink.find("trace/model").has_value());
}

TEST(Sinks, MemoryIsBounded) {
  MemorySink sink(40);
  Recorder recorder({}, sink);
  try {
    run(recorder);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::memory_limit);
    EXPECT_STREQ(error.what(),
                 "trace: trace/model.mlp#1: expected at most 40 bytes in memory, found 24 more "
                 "after 24: select fewer "
                 "modules or record to a file");
  }
}

TEST(Sinks, AFileHoldsWhatMemoryHolds) {
  const std::string path = ::testing::TempDir() + "sightline-trace-test.safetensors";
  MemorySink memory(1 << 20);
  Recorder in_memory({{}, true, true, true}, memory);
  run(in_memory);
  {
    FileSink file(path);
    Recorder in_file({{}, true, true, true}, file);
    run(in_file);
    file.metadata("format", "sightline trace");
    file.finish();
    EXPECT_EQ(file.tensors(), static_cast<std::int64_t>(memory.size()));
  }
  const io::SafetensorsFile stored(path);
  ASSERT_EQ(stored.entries().size(), memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const io::StoredTensor a = memory.at(i), b = stored.tensor(stored.entries()[i]);
    EXPECT_EQ(a.name, b.name);  // call order is kept
    ASSERT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes)), 0);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sightline::trace

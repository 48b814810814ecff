// Protects the Loader: paths, claims, shapes and types, and the account at the end. A wrong
// checkpoint is refused by the name of the tensor; nothing is ever read as another type or left
// unused in silence.
#include <fmt/format.h>

#include "io/checkpoint.hpp"
#include "stored_file.hpp"

namespace sightline::io {
namespace {

using testing::Directory;
using testing::floats;
using testing::stored;

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    const std::string header =
        R"({"model.a.w":{"dtype":"F32","shape":[2,1,2],"data_offsets":[0,16]},)"
        R"("model.layers.3.n":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]},)"
        R"("model.layers.30.n":{"dtype":"F16","shape":[2],"data_offsets":[20,24]},)"
        R"("model.visual.pos_embed.weight":{"dtype":"U8","shape":[4],"data_offsets":[24,28]},)"
        R"("mtp.fc.weight":{"dtype":"I8","shape":[4],"data_offsets":[28,32]},)"
        R"("mtpx":{"dtype":"I64","shape":[1],"data_offsets":[32,40]}})";
    directory_.write(
        "model.safetensors",
        stored(header, floats({1, 2, 3, 4}) +
                           std::string("\x80\x3F\x00\xC0\x00\x3C\x00\xC0\1\2\3\4\5\6\7\x08", 16) +
                           std::string("\2\0\0\0\0\0\0\0", 8)));
  }
  [[nodiscard]] Loader loader() const { return Loader(Checkpoint::open(directory_.path())); }
  Directory directory_;
};

TEST_F(LoaderTest, WalksPathsAndReadsEveryFloatType) {
  const Loader root = loader();
  EXPECT_EQ(root.path(), "");
  const Loader layers = root.at("model").at("layers");
  EXPECT_EQ(layers.at(3).path(), "model.layers.3");
  EXPECT_TRUE(layers.at(3).has("n"));
  EXPECT_FALSE(layers.at(4).has("n"));
  EXPECT_EQ(layers.at(3).values("n", {2}), (std::vector<float>{1, -2}));
  EXPECT_EQ(layers.at(30).values("n", {2}), (std::vector<float>{1, -2}));
  const Weight weight = root.at("model.a").weight("w", {2, 1, 2});
  EXPECT_EQ(weight.out, 2);
  EXPECT_EQ(weight.in, 2);
  EXPECT_EQ(weight.dtype, DType::f32);
  float last = 0;
  std::memcpy(&last, weight.row(1) + 4, 4);
  EXPECT_EQ(last, 4.0F);
}

TEST_F(LoaderTest, SitesAreNumberedAcrossCopies) {
  const Loader root = loader();
  const Site first = root.at("model").site("Model"),
             second = root.batched().at("model.a").site("A");
  EXPECT_EQ(first.id, 0U);
  EXPECT_EQ(second.id, 1U);
  EXPECT_EQ(second.path, "model.a");
  EXPECT_EQ(second.kind, "A");
  EXPECT_FALSE(first.batched);
  EXPECT_TRUE(second.batched);  // inherited by what lies below
}

TEST_F(LoaderTest, WrongShape) {
  EXPECT_FAILS(loader().at("model.a").weight("w", {2, 2}), Code::tensor_shape,
               "model.safetensors: tensor model.a.w: expected shape [2, 2] by the configuration, "
               "found [2, 1, 2]");
  EXPECT_FAILS(loader().at("model.layers.3").values("n", {3}), Code::tensor_shape,
               "expected shape [3]");
  EXPECT_FAILS((void)loader().tensor("mtpx", {}), Code::tensor_shape, "expected shape []");
}

// A packed tensor must never be read as numbers: the type is refused before the shape.
TEST_F(LoaderTest, WrongType) {
  EXPECT_FAILS(loader().at("model.visual.pos_embed").weight("weight", {64, 32}), Code::tensor_dtype,
               "model.safetensors: tensor model.visual.pos_embed.weight: expected F32, BF16 or "
               "F16, found U8: quantised, though nothing");
  EXPECT_FAILS(loader().values("mtpx", {1}), Code::tensor_dtype, "found I64");
  EXPECT_EQ(loader().tensor("mtpx", {1}).bytes, 8);  // a tensor as such may be of any type
}

TEST_F(LoaderTest, MissingTensorNamesTheNearest) {
  EXPECT_FAILS(loader().at("model.b").weight("w", {1}), Code::missing_tensor,
               "tensor model.b.w: expected by the configuration, found none among the 6 tensors of "
               "the checkpoint");
  EXPECT_FAILS(loader().at("vision.visual.pos_embed").weight("weight", {1}), Code::missing_tensor,
               "the nearest that it holds is model.visual.pos_embed.weight");
}

TEST_F(LoaderTest, FinishCountsAndRefusesTheRest) {
  const Loader root = loader();
  root.at("model.a").weight("w", {2, 1, 2});
  root.at("model.a").weight("w", {2, 1, 2});  // a tied head claims it again
  root.at("model.layers.3").values("n", {2});
  EXPECT_FAILS(root.finish(), Code::unexpected_tensor,
               "found 3 more: model.layers.30.n, model.visual.pos_embed.weight, mtpx");
  root.at("model.layers.3").skip();  // does not cover layers.30
  EXPECT_FAILS(root.finish(), Code::unexpected_tensor, "found 3 more");
  root.at("model.layers.30").skip();
  root.at("model.visual").skip();
  root.at("mtpx").skip();
  const LoadReport report = root.finish();
  EXPECT_EQ(report.used, 2);
  EXPECT_EQ(report.skipped, 3);
  EXPECT_EQ(report.ignored_mtp, 1);
  EXPECT_EQ(report.ignored, (std::vector<std::string>{"mtp.fc.weight"}));
}

TEST_F(LoaderTest, ManyUnexpectedTensorsAreCounted) {
  Directory directory;
  std::string header = "{";
  for (int i = 0; i < 9; ++i) {
    header += fmt::format("{}\"t{}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                          i == 0 ? "" : ",", i);
  }
  directory.write("model.safetensors", stored(header + "}", ""));
  const Loader root(Checkpoint::open(directory.path()));
  EXPECT_FAILS(root.finish(), Code::unexpected_tensor, "found 9 more: t0, t1, t2, t3, t4, …");
}

}  // namespace
}  // namespace sightline::io

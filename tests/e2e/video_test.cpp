// Videos through the binary: prompts as the reference makes them, files and folders answered about,
// order and company, and every error that a user can run into.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "binary.hpp"
#include "io/file.hpp"

namespace sightline::e2e {
namespace {

bool has_ffmpeg() {
  static const bool has =
      sightline({"pixels", data("processor"), "--video", data("video/counted.mp4")}).code == 0;
  return has;
}

/// Writes `count` frame pictures into the folder FOLDER/name and returns its path.
std::string write_frames(const Folder& folder, const std::string& name, std::int64_t count,
                         std::int64_t width, std::int64_t height) {
  std::filesystem::create_directory(folder.path(name));
  for (std::int64_t i = 1; i <= count; ++i)
    write_picture(folder, fmt::format("{}/{}.png", name, i), width, height);
  return folder.path(name);
}

io::Json slice(const io::Json& list, std::size_t count) {
  io::Json part = io::Json::array();
  for (std::size_t i = 0; i < count; ++i) part.push(list.as_array().at(i));
  return part;
}

// processor_videos.json: ids, grids and the time stamps in the ids, of transformers' processor.
TEST(VideoGoldens, PromptsAreTheReferences) {
  const Folder folder;
  const io::Json cases = io::read_json_file(data("text/processor_videos.json"));
  ASSERT_EQ(cases.as_array().size(), 7U);
  for (const io::Json& c : cases.as_array()) {
    const std::string frames = write_frames(
        folder, fmt::format("{}", folder.path().size() + c.find("ids")->as_array().size()),
        c.find("frames")->as_int(), c.find("width")->as_int(), c.find("height")->as_int());
    std::vector<std::string> words{"prompt", data("processor"), "--video",
                                   frames,   "what happens?",   "--json"};
    if (!c.find("fps")->is_null()) {
      const std::string rate = fmt::format("{}", c.find("fps")->as_double());
      words.insert(words.end(), {"--video-fps", rate, "--fps", "2"});
    }
    const Finished done = sightline(words);
    ASSERT_EQ(done.code, 0) << done.err;
    const io::Json json = done.json();
    const auto length = static_cast<std::size_t>(json.find("generation_start")->as_int());
    EXPECT_EQ(slice(*json.find("ids"), length), *c.find("ids"));
    const io::Json& video = json.find("videos")->as_array()[0];
    EXPECT_EQ(io::Json(io::Json::Array{*video.find("grid")}), *c.find("grid"));
    std::string stamps;
    for (const io::Json& stamp : video.find("timestamps")->as_array()) {
      stamps += stamp.as_string() + "<|vision_start|><|vision_end|>";
      EXPECT_NE(c.find("text")->as_string().find(stamp.as_string()), std::string::npos);
    }
    EXPECT_NE(c.find("text")->as_string().find(stamps), std::string::npos) << stamps;
    std::filesystem::remove_all(frames);
  }
}

// 291 frames at 30 a second, as a file would be; the older wrapper has no pair around the groups.
TEST(VideoGoldens, TheOlderWrapperReplacesThePair) {
  const Folder folder;
  const std::string frames = write_frames(folder, "clip", 4, 32, 32);
  const auto ids = [&](const char* form) {
    const Finished done = sightline({"prompt", data("processor"), "--video", frames, "--video-fps",
                                     "2", "--video-wrapper", form, "?", "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return io::to_json_text(*done.json().find("ids"));
  };
  // Specification 3.4: a chat that starts with a video, older form and newer form.
  EXPECT_EQ(ids("whole").find("[248045,846,198,27,15,13,17,6283,29,248053,248057"), 0U);
  EXPECT_EQ(ids("inner").find("[248045,846,198,248053,27,15,13,17,6283,29,248053,248057"), 0U);
}

class AskingAboutVideos : public testing::Test {
 protected:
  void SetUp() override {
    write_checkpoint(folder_);
    folder_.link("processor/video_preprocessor_config.json", "video_preprocessor_config.json");
  }
  Finished ask(std::vector<std::string> more, const std::string& command = "run",
               const std::string& input = {}) {
    more.insert(more.begin(), {command, folder_.path()});
    Surroundings around;
    around.input = input;
    return sightline(more, around);
  }
  io::Json ask_json(std::vector<std::string> more, const std::string& command = "run") {
    more.emplace_back("--json");
    const Finished done = ask(std::move(more), command);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.json();
  }
  void expect_refused(const std::vector<std::string>& words, int code, const char* name,
                      std::initializer_list<std::string_view> parts) {
    const Finished done = ask(words);
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find(name), std::string::npos) << done.err;
    for (const std::string_view part : parts)
      EXPECT_NE(done.err.find(part), std::string::npos) << done.err << " lacks " << part;
  }

  Folder folder_;
  const std::string picture_ = data("images/red-64.png");
};

TEST_F(AskingAboutVideos, AFolderOfFramesIsAnswered) {
  const std::string frames = write_frames(folder_, "frames", 5, 40, 40);
  const io::Json json =
      ask_json({"--video", frames, "--video-fps", "4", "moves?", "--max-tokens", "3"});
  const io::Json& video = json.find("pictures")->as_array()[0];
  EXPECT_EQ(video.find("format")->as_string(), "frames (PNG)");
  EXPECT_EQ(io::to_json_text(*video.find("grid")), "[3,2,2]");
  EXPECT_EQ(io::to_json_text(*video.find("video")->find("indices")), "[0,1,2,3,4]");
  EXPECT_EQ(io::to_json_text(*video.find("video")->find("seconds")), "[0.125,0.625,1.0]");
  EXPECT_TRUE(video.find("encoded")->as_bool());
}

TEST_F(AskingAboutVideos, AFileIsAnsweredWhereverItComesFrom) {
  if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  const std::string file = data("video/counted.mp4");
  const std::vector<std::string> rest{"what?", "--max-tokens", "4", "--temperature", "0"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), rest.begin(), rest.end());
    return ask_json(words);
  };
  const io::Json asked = with({"--video", file});
  const io::Json& video = asked.find("pictures")->as_array()[0];
  EXPECT_EQ(video.find("video")->find("frames")->as_int(), 30);
  EXPECT_EQ(io::to_json_text(*video.find("video")->find("indices")), "[0,6,12,17,23,29]");
  // The same clip as a messages file, and as a line of requests.
  const io::Json part = io::Json::Object{{"type", "video"}, {"video", file}};
  const io::Json messages = io::Json::Array{io::Json::Object{
      {"role", "user"},
      {"content", io::Json::Array{part, io::Json::Object{{"type", "text"}, {"text", "what?"}}}}}};
  const std::string talk = folder_.write("talk.json", io::to_json_text(messages));
  const io::Json told = ask_json({"--messages", talk, "--max-tokens", "4", "--temperature", "0"});
  EXPECT_EQ(*told.find("token_ids"), *asked.find("token_ids"));
  const std::string line = folder_.write(
      "lines.jsonl", io::to_json_text(io::Json::Object{{"question", "what?"},
                                                       {"videos", io::Json::Array{file}},
                                                       {"max_tokens", 4},
                                                       {"temperature", 0}}));
  const Finished lines = ask({"--jsonl", line});
  ASSERT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(*lines.json().find("token_ids"), *asked.find("token_ids"));
}

// What is cut into few groups at a time, or computed in other pieces, answers the same.
TEST_F(AskingAboutVideos, PiecesAndThreadsDoNotAlterTheAnswer) {
  if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  const std::vector<std::string> base{"--video",
                                      data("video/counted.webm"),
                                      "--num-frames",
                                      "30",
                                      "what?",
                                      "--max-tokens",
                                      "6",
                                      "--temperature",
                                      "0",
                                      "--logprobs",
                                      "1"};
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> words = base;
    words.insert(words.end(), more.begin(), more.end());
    return io::to_json_text(*ask_json(words).find("logprobs"));
  };
  const std::string plain = with({});
  EXPECT_EQ(plain, with({"--threads", "1"}));
  EXPECT_EQ(plain, with({"--prefill-chunk", "64"}));
}

TEST_F(AskingAboutVideos, PicturesAndVideosStandInTheOrderGiven) {
  const std::string a = write_frames(folder_, "a", 2, 32, 32);
  const std::string b = write_frames(folder_, "b", 3, 64, 32);
  const io::Json json = ask_json(
      {"--video", a, "-i", picture_, "--video", b, "-i", picture_, "--add-vision-id", "which?"},
      "prompt");
  std::vector<std::int64_t> pictures, firsts;
  for (const io::Json& run : json.find("runs")->as_array()) {
    pictures.push_back(run.find("picture")->as_int());
    firsts.push_back(run.find("first")->as_int());
  }
  EXPECT_EQ(pictures, (std::vector<std::int64_t>{0, 1, 2, 2, 3}));
  EXPECT_TRUE(std::is_sorted(firsts.begin(), firsts.end()));
  const std::string& text = json.find("text")->as_string();
  std::size_t at = 0;
  for (const char* part : {"Video 1: ", "Picture 1: ", "Video 2: ", "Picture 2: ", "which?"}) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in " << text;
    at = found;
  }
}

// A clip's features are the same bits alone and among others, and they stand where its placeholders
// stood.
TEST_F(AskingAboutVideos, FeaturesDoNotDependOnCompany) {
  const std::string a = write_frames(folder_, "a", 4, 64, 32);
  const std::string b = write_frames(folder_, "b", 5, 32, 32);
  const auto hashes = [&](const std::vector<std::string>& words, const std::string& name) {
    const io::Json json = ask_json(words, "merge");
    const io::Json& proof = *json.find("proof");
    const io::Json& videos = proof.find("video") != nullptr ? *proof.find("video") : proof;
    EXPECT_TRUE(videos.find("ok")->as_bool());
    std::vector<std::string> list;
    for (const io::Json& picture : json.find("pictures")->as_array()) {
      if (picture.find("name")->as_string() != name) continue;
      for (const io::Json& run : picture.find("runs")->as_array()) {
        for (const io::Json& proven : videos.find("runs")->as_array()) {
          if (*proven.find("first") == *run.find("first"))
            list.push_back(proven.find("sha256")->as_string());
        }
      }
    }
    return list;
  };
  const auto alone = hashes({"--video", b, "?"}, b);
  EXPECT_EQ(alone.size(), 3U);
  EXPECT_EQ(alone, hashes({"-i", picture_, "--video", a, "--video", b, "?"}, b));
  EXPECT_EQ(alone, hashes({"--video", b, "--video", a, "-i", picture_, "?"}, b));
}

TEST_F(AskingAboutVideos, AConversationEncodesAVideoOnce) {
  const std::string frames = write_frames(folder_, "clip", 4, 32, 32);
  const Finished done =
      ask({"--max-tokens", "2", "--json"}, "chat",
          "/video " + frames + "\nwhat?\n/image " + picture_ + "\nand this?\n/video absent\n");
  const auto lines = done.lines();  // two answers, and the error
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[2].find("absent: expected a video file or a folder"), std::string::npos);
  const io::Json second = io::parse_json(lines[1], "second");
  const auto& pictures = second.find("pictures")->as_array();
  ASSERT_EQ(pictures.size(), 2U);
  EXPECT_FALSE(pictures[0].find("encoded")->as_bool());
  EXPECT_TRUE(pictures[1].find("encoded")->as_bool());
}

TEST_F(AskingAboutVideos, PixelsShowsTheFramesThatAreLookedAt) {
  if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  const Finished done = sightline({"pixels", data("processor"), "--video",
                                   data("video/counted.mp4"), "--out", folder_.path("seen")});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json line = done.json();
  EXPECT_EQ(line.find("resized_rgb_sha256")->as_array().size(), 6U);
  EXPECT_EQ(io::to_json_text(*line.find("grid")), "[3,4,4]");
  for (int k = 1; k <= 6; ++k)
    EXPECT_TRUE(io::is_file(folder_.path(fmt::format("seen/counted.mp4-{:04}.png", k))));
}

TEST_F(AskingAboutVideos, DamagedAndForeignFilesAreNamed) {
  const std::string empty = folder_.write("empty.mp4", "");
  const std::string text = folder_.write("text.mp4", "this is no video\n");
  const std::string frames = write_frames(folder_, "one", 1, 32, 32);
  expect_refused({"--video", "absent.mp4", "?"}, 3, "absent.mp4", {"no such file"});
  expect_refused({"--video", empty, "?"}, 3, "empty.mp4", {"0 bytes"});
  expect_refused({"--video", picture_, "?"}, 3, "red-64.png", {"one PNG picture", "-i"});
  expect_refused({"--video", frames, "?"}, 3, "one", {"at least 2 frames", "found 1"});
  expect_refused({"--video", frames, "--fps", "1", "--num-frames", "4", "?"}, 2, "one",
                 {"mutually exclusive"});
  if (!has_ffmpeg()) {
    expect_refused({"--video", text, "?"}, 3, "text.mp4",
                   {"libavformat-dev", "build again", "--video-fps"});
    return;
  }
  expect_refused({"--video", text, "?"}, 3, "text.mp4", {"expected a video", "MP4", "convert"});
  expect_refused({"--video", data("video/sound.mp4"), "?"}, 3, "sound.mp4", {"video track"});
  expect_refused({"--video", data("video/no-frames.mp4"), "?"}, 3, "no-frames.mp4",
                 {"video track"});
  expect_refused({"--video", data("video/one-frame.mp4"), "?"}, 3, "one-frame.mp4",
                 {"at least 2 frames"});
  expect_refused({"--video", data("video/counted.mp4"), "--max-image-pixels", "100", "?"}, 5,
                 "counted.mp4", {"64x48", "--max-image-pixels"});
}

TEST_F(AskingAboutVideos, ACutFileIsAnsweredAndSaysSo) {
  if (!has_ffmpeg()) GTEST_SKIP() << "built without FFmpeg";
  const io::Json json = ask_json({"--video", data("video/cut.mp4"), "what?", "--max-tokens", "2"});
  const io::Json& notes = *json.find("pictures")->as_array()[0].find("notes");
  ASSERT_FALSE(notes.as_array().empty());
  EXPECT_NE(notes.as_array()[0].as_string().find("of 30 frames are there"), std::string::npos)
      << notes.as_array()[0].as_string();
  // Without --json too, once, on standard error.
  const std::string file = data("video/cut.mp4");
  Surroundings around;
  around.input = "/video " + file + "\nwhat?\nAnd then?\n";
  const Finished chat =
      sightline({"chat", folder_.path(), "--max-tokens", "2", "--no-thinking"}, around);
  EXPECT_EQ(chat.code, 0) << chat.err;
  const std::string line = "sightline: " + file + ": ends early: ";
  const std::size_t at = chat.err.find(line);
  EXPECT_NE(at, std::string::npos) << chat.err;
  EXPECT_EQ(chat.err.find(line, at + 1), std::string::npos) << chat.err;
}

TEST_F(AskingAboutVideos, AVideoThatIsTooLongForTheContextIsRefusedBeforeItIsDecoded) {
  const std::string frames = write_frames(folder_, "clip", 40, 64, 64);
  expect_refused({"--video", frames, "--ctx", "100", "?"}, 5, "clip 80",
                 {"the context holds 100", "--max-frames"});
}

TEST_F(AskingAboutVideos, MembersOfRequestsAreChecked) {
  const auto refused = [&](const char* line, std::string_view part) {
    const Finished done = ask({"--jsonl", folder_.write("bad.jsonl", line)});
    EXPECT_EQ(done.code, 3) << done.err;
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
  };
  refused(R"({"question": "?", "fps": 2})", "\"videos\" beside it");
  refused(R"({"question": "?", "videos": ["a"], "fps": 0})", "fps");
  refused(R"({"messages": [{"role": "user", "content": [{"type": "video", "video": []}]}]})",
          "an empty list");
  refused(
      R"({"messages": [{"role": "user", "content": [{"type": "video", "video": "a", "fps": -1}]}]})",
      "messages[0].content[0]");
}

}  // namespace
}  // namespace sightline::e2e

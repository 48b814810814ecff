// Protects: what is documented as safe to share between threads is: the tokenizer, a chat template,
// an open safetensors file (mapped by whoever comes first), the store of picture features.
#include <gtest/gtest.h>

#include <thread>

#include "chat/chat_template.hpp"
#include "generate/feature_store.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "tokenizer/tokenizer.hpp"

namespace sightline {
namespace {

const std::string kDemo = std::string(SIGHTLINE_TEST_DATA) + "/../../demo/checkpoint/";

template <class F>
void on_three_threads(const F& task) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&task, i] { task(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadShared, Tokenizer) {
  const auto tokenizer = tokenizer::Tokenizer::load(kDemo + "tokenizer.json");
  const std::string text = "What's the colour of <|im_end|> \xC3\xA9?\n 123";
  const std::vector<tokenizer::TokenId> expected = tokenizer.encode(text);
  const std::string decoded = tokenizer.decode(expected);
  ASSERT_FALSE(expected.empty());
  on_three_threads([&](int) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(tokenizer.encode(text), expected);
      EXPECT_EQ(tokenizer.decode(expected), decoded);
    }
  });
}

TEST(ThreadShared, ChatTemplate) {
  const auto program = chat::ChatTemplate::parse(io::read_file(kDemo + "chat_template.jinja"),
                                                 "chat_template.jinja");
  const io::Json messages =
      io::parse_json(R"([{"role": "user", "content": "color?"}])", "messages");
  const std::string expected = program.render({messages}).bytes;
  ASSERT_NE(expected.find("color?"), std::string::npos);
  on_three_threads([&](int) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(program.render({messages}).bytes, expected);
  });
}

TEST(ThreadShared, SafetensorsFile) {
  for (const bool use_mmap : {true, false}) {
    const io::SafetensorsFile file(kDemo + "model.safetensors", use_mmap);
    std::vector<const std::byte*> first(3);
    on_three_threads([&](int i) {
      for (const io::TensorEntry& entry : file.entries()) {
        const io::StoredTensor tensor = file.tensor(entry);
        ASSERT_NE(tensor.data, nullptr);
        EXPECT_EQ(tensor.bytes, entry.bytes);
        EXPECT_EQ(io::to_floats(*file.find(entry.name)).size(),
                  static_cast<std::size_t>(entry.shape.elements()));
        if (first[static_cast<std::size_t>(i)] == nullptr)
          first[static_cast<std::size_t>(i)] = tensor.data;
      }
    });
    EXPECT_EQ(first[0], first[1]);  // one mapping for all
    EXPECT_EQ(first[0], first[2]);
  }
}

TEST(ThreadShared, FeatureStore) {
  constexpr std::size_t kFloats = 16;
  generate::FeatureStore store(4 * kFloats * sizeof(float));  // half of what is put in
  on_three_threads([&](int) {
    for (std::uint8_t i = 0; i < 200; ++i) {
      generate::PictureHash hash{};
      hash.bytes[0] = i % 8;
      if (const generate::Features found = store.find(hash)) {
        EXPECT_EQ(found->at(kFloats - 1), static_cast<float>(i % 8));
      } else {
        store.insert(hash,
                     std::make_shared<std::vector<float>>(kFloats, static_cast<float>(i % 8)));
      }
    }
  });
}

}  // namespace
}  // namespace sightline

// Protects: of a mapped mixture of experts only the experts that a token goes to are read, so that
// a model larger than memory still answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "io/safetensors_writer.hpp"
#include "qwen3_5/moe.hpp"
#include "unit/io/stored_file.hpp"

namespace sightline::qwen3_5 {
namespace {

using io::testing::Directory;

constexpr std::int64_t kHidden = 256, kWidth = 2048, kExperts = 8;
constexpr std::int64_t kMatrixBytes = kHidden * kWidth * 2;  // BF16: 1 MiB
constexpr std::int64_t kExpertBytes = 3 * kMatrixBytes;

std::string write_experts(const Directory& directory) {
  const std::vector<std::uint16_t> values(kHidden * kWidth, to_bf16(0.01F).bits);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  io::SafetensorsWriter writer(directory.file("model.safetensors"));
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const std::string path = "experts." + std::to_string(e) + ".";
    const Shape inward{kWidth, kHidden}, outward{kHidden, kWidth};
    for (const char* leaf : {"gate_proj.weight", "up_proj.weight"})
      writer.add(path + leaf, {path, DType::bf16, inward, bytes, kHidden});
    writer.add(path + "down_proj.weight", {path, DType::bf16, outward, bytes, kWidth});
  }
  writer.finish();
  return directory.file("model.safetensors");
}

/// The share of every expert's pages that are in memory.
std::vector<double> resident(const std::string& file) {
  const FileBytes map = FileBytes::map(file);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((map.bytes().size() + page - 1) / page);
  EXPECT_EQ(mincore(const_cast<std::byte*>(map.bytes().data()), map.bytes().size(), pages.data()),
            0);
  const auto header = static_cast<std::int64_t>(map.bytes().size()) - kExperts * kExpertBytes;
  std::vector<double> shares;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const auto first = static_cast<std::size_t>(header + e * kExpertBytes) / page + 1;
    const auto count = static_cast<std::size_t>(kExpertBytes) / page - 2;
    std::size_t present = 0;
    for (std::size_t i = first; i < first + count; ++i) present += pages[i] & 1U;
    shares.push_back(static_cast<double>(present) / static_cast<double>(count));
  }
  return shares;
}

/// Turns the system's read-ahead off for a mapped tensor, so that a page in memory is one that was
/// touched.
void read_nothing_ahead(const io::Checkpoint& checkpoint) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const std::string_view name : checkpoint.names()) {
    const io::StoredTensor tensor = *checkpoint.find(name);
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor.data) / page * page;
    const auto end =
        reinterpret_cast<std::uintptr_t>(tensor.data) + static_cast<std::uintptr_t>(tensor.bytes);
    ASSERT_EQ(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_RANDOM), 0);
  }
}

/// Lets the file's pages leave memory, but for those next to the header, which stay mapped.
void evict(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(fsync(fd), 0);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

TEST(PageIn, OnlyTheExpertsOfATokenAreTouched) {
  const Directory directory;
  const std::string file = write_experts(directory);
  const auto checkpoint = io::Checkpoint::open(directory.path());
  read_nothing_ahead(*checkpoint);
  evict(file);
  const std::vector<double> before = resident(file);
  if (std::any_of(before.begin() + 1, before.end(), [](double share) { return share > 0; }))
    GTEST_SKIP() << "this file system keeps its pages in memory";

  TextConfig config;
  config.hidden_size = kHidden;
  config.num_experts = kExperts;
  config.moe_intermediate_size = kWidth;
  const Experts experts = Experts::load(io::Loader(checkpoint).at("experts"), config);
  EXPECT_EQ(resident(file), before);  // loading touches none

  Threads threads(2);
  Arena arena;
  nn::Pass pass(kernels::select("auto"), threads, arena);
  const std::vector<float> x(kHidden, 1.0F);
  std::vector<float> y(kHidden);
  experts(pass, {x.data(), 1, kHidden}, {1, 2, {2, 7}, {0.5F, 0.5F}}, {y.data(), 1, kHidden});
  const std::vector<double> after = resident(file);
  for (std::size_t e = 1; e < after.size(); ++e)
    EXPECT_EQ(after[e], e == 2 || e == 7 ? 1 : 0) << "expert " << e;
}

}  // namespace
}  // namespace sightline::qwen3_5

// model.safetensors.index.json: any bytes are either a map to plain file names, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/shard_index.hpp"
#include "sightline/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sightline;
  try {
    const io::ShardIndex index =
        io::parse_shard_index({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const std::string& shard : index.shards) {
      if (shard.empty() || shard.find('/') != std::string::npos) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}

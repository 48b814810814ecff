// Arena: chunks of raw memory, a bump pointer in the current one, and a count of what is in use.
#include "base/arena.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "base/reserved.hpp"
#include "sightline/error.hpp"

namespace sightline {

struct Arena::Chunk {
  struct Free {
    void operator()(std::byte* bytes) const {
      ::operator delete(static_cast<void*>(bytes), std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::unique_ptr<ReservedMemory> addresses;
  std::byte* data = nullptr;
  std::size_t size = 0, used = 0;
  std::size_t before = 0;  ///< bytes in use in the chunks before this one
};

namespace {

constexpr std::size_t kFirstChunk = std::size_t{1} << 20;
constexpr std::size_t kLargestStep = std::size_t{1} << 26;  // growth by doubling ends here

[[noreturn]] void fail(std::size_t bytes) {
  throw Error(Code::memory_limit,
              "scratch memory: the system refused " + std::to_string(bytes) +
                  " bytes; use a shorter prompt, a smaller --prefill-chunk or fewer image pixels",
              {{"bytes", std::to_string(bytes)}});
}

std::byte* allocate_aligned(std::size_t bytes) {
  void* data = ::operator new(bytes, std::align_val_t{Arena::kAlignment}, std::nothrow);
  if (data == nullptr) fail(bytes);
  return static_cast<std::byte*>(data);
}

}  // namespace

Arena::Arena(Kind kind) : kind_(kind) {}
Arena::~Arena() = default;

Arena::Chunk Arena::new_chunk(Kind kind, std::size_t size) {
  Chunk chunk;
  if (kind == Kind::memory) {
    chunk.memory.reset(allocate_aligned(size));
    chunk.data = chunk.memory.get();
  } else {
    chunk.addresses = std::make_unique<ReservedMemory>(size, ReservedMemory::Kind::untouchable);
    chunk.data = chunk.addresses->data();
  }
  chunk.size = size;
  return chunk;
}

void* Arena::allocate(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) fail(bytes);
  bytes = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const bool fits_current =
      current_ < chunks_.size() && chunks_[current_].size - chunks_[current_].used >= bytes;
  if (!fits_current) {
    const std::size_t next = chunks_.empty() ? 0 : current_ + 1;
    if (next == chunks_.size() || chunks_[next].size < bytes) {
      const std::size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().size;
      const std::size_t size = std::max(bytes, std::min(last * 2, kLargestStep));
      // Nothing above the current chunk is in use: marks are released in the order of a stack.
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(next), chunks_.end());
      chunks_.push_back(new_chunk(kind_, size));
    }
    chunks_[next].used = 0;
    chunks_[next].before = next == 0 ? 0 : chunks_[current_].before + chunks_[current_].used;
    current_ = next;
  }
  Chunk& chunk = chunks_[current_];
  void* result = chunk.data + chunk.used;
  chunk.used += bytes;
  peak_ = std::max(peak_, chunk.before + chunk.used);
  return result;
}

View Arena::matrix(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;
  if (rows < 0 || cols < 0 || (cols > 0 && rows > kMost / cols)) {
    fail(std::numeric_limits<std::size_t>::max());
  }
  return {array<float>(rows * cols), rows, cols};
}

Arena::Mark Arena::mark() const noexcept {
  if (chunks_.empty()) return {};
  return {current_, chunks_[current_].used};
}

void Arena::release(Mark mark) noexcept {
  if (chunks_.empty()) return;
  current_ = mark.chunk;
  chunks_[current_].used = mark.used;
}

std::size_t Arena::peak_bytes() const noexcept { return peak_; }

}  // namespace sightline

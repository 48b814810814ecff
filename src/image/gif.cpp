// GIF through giflib: the first frame on its canvas, as Pillow composes it. Rows are decoded one by
// one, nothing is allocated by the library from declared sizes. Later frames are counted by walking
// over their blocks.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <gif_lib.h>

#include "image/codec.hpp"

namespace sightline::image {
namespace {

struct Reader {
  std::string_view bytes;
  std::size_t position = 0;
};

int on_read(GifFileType* file, GifByteType* out, int count) {
  Reader& reader = *static_cast<Reader*>(file->UserData);
  const std::size_t left = reader.bytes.size() - reader.position;
  const std::size_t size = std::min(left, static_cast<std::size_t>(std::max(count, 0)));
  std::memcpy(out, reader.bytes.data() + reader.position, size);
  reader.position += size;
  return static_cast<int>(size);
}

std::string error_text(int code) {
  const char* text = GifErrorString(code);
  return text != nullptr ? text : "unexpected end of file";
}

class GifReader {
 public:
  explicit GifReader(const Source& source) : source_(source), reader_{source.bytes} {
    int error = 0;
    file_ = DGifOpen(&reader_, on_read, &error);
    if (file_ == nullptr) fail_corrupt(source, error_text(error));
  }
  ~GifReader() { DGifCloseFile(file_, nullptr); }
  GifReader(const GifReader&) = delete;
  GifReader& operator=(const GifReader&) = delete;

  GifFileType& file() { return *file_; }
  void require(int result) {
    if (result == GIF_ERROR) fail_corrupt(source_, error_text(file_->Error));
  }
  /// Up to the first picture; the transparent index that was announced for it, or -1.
  int skip_to_image();
  [[nodiscard]] std::string_view rest() const { return reader_.bytes.substr(reader_.position); }

 private:
  int read_extension();

  const Source& source_;
  Reader reader_;
  GifFileType* file_ = nullptr;
};

int GifReader::read_extension() {
  int transparent = -1, code = 0;
  GifByteType* block = nullptr;
  require(DGifGetExtension(file_, &code, &block));
  while (block != nullptr) {
    GraphicsControlBlock control{};
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      transparent = control.TransparentColor;
    }
    require(DGifGetExtensionNext(file_, &block));
  }
  return transparent;
}

int GifReader::skip_to_image() {
  int transparent = -1;
  while (true) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    require(DGifGetRecordType(file_, &type));
    if (type == IMAGE_DESC_RECORD_TYPE) break;
    if (type == TERMINATE_RECORD_TYPE) fail_corrupt(source_, "there is no picture in it");
    if (type == EXTENSION_RECORD_TYPE) transparent = std::max(transparent, read_extension());
  }
  require(DGifGetImageDesc(file_));
  return transparent;
}

using Palette = std::array<std::array<std::uint8_t, 4>, 256>;  // RGBA

// Entries that the file does not have are grey, as in Pillow; so is a file without any palette.
Palette make_palette(const GifFileType& file, int transparent) {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const auto grey = static_cast<std::uint8_t>(i);
    palette[i] = {grey, grey, grey, 255};
  }
  const ColorMapObject* colours = file.Image.ColorMap ? file.Image.ColorMap : file.SColorMap;
  const int count = colours ? std::min(colours->ColorCount, 256) : 0;
  for (int i = 0; i < count; ++i) {
    const GifColorType& colour = colours->Colors[i];
    palette[static_cast<std::size_t>(i)] = {colour.Red, colour.Green, colour.Blue, 255};
  }
  if (transparent >= 0) palette[static_cast<std::size_t>(transparent)][3] = 0;
  return palette;
}

// Place in the frame of every stored row of an interlaced picture: every 8th row comes first, then
// those between (GIF89a, appendix E).
std::vector<std::int64_t> interlaced_order(std::int64_t height) {
  struct Pass {
    std::int64_t first, step;
  };
  std::vector<std::int64_t> order;
  for (const Pass pass : {Pass{0, 8}, Pass{4, 8}, Pass{2, 4}, Pass{1, 2}}) {
    for (std::int64_t y = pass.first; y < height; y += pass.step) order.push_back(y);
  }
  return order;
}

// Colour indices of the frame, rows from the top.
std::vector<GifByteType> read_indices(GifReader& reader) {
  const GifImageDesc& frame = reader.file().Image;
  const auto width = static_cast<std::size_t>(frame.Width);
  std::vector<GifByteType> stored;
  stored.reserve(width * static_cast<std::size_t>(frame.Height));
  for (int y = 0; y < frame.Height; ++y) {
    stored.resize(stored.size() + width);
    reader.require(DGifGetLine(&reader.file(), &stored[stored.size() - width], frame.Width));
  }
  if (!frame.Interlace) return stored;
  std::vector<GifByteType> indices(stored.size());
  const auto order = interlaced_order(frame.Height);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(&stored[i * width], width, &indices[static_cast<std::size_t>(order[i]) * width]);
  }
  return indices;
}

void paint(Canvas& canvas, const GifImageDesc& frame, const std::vector<GifByteType>& indices,
           const Palette& palette, int transparent) {
  const bool has_alpha = transparent >= 0;
  const std::size_t background = has_alpha ? static_cast<std::size_t>(transparent) : 0;
  const int channels = has_alpha ? 4 : 3;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(canvas.width() * channels));
  for (std::int64_t y = 0; y < canvas.height(); ++y) {
    const bool inside_rows = y >= frame.Top && y < frame.Top + frame.Height;
    std::uint8_t* out = row.data();
    for (std::int64_t x = 0; x < canvas.width(); ++x, out += channels) {
      const bool inside = inside_rows && x >= frame.Left && x < frame.Left + frame.Width;
      const std::size_t index =
          inside ? indices[static_cast<std::size_t>((y - frame.Top) * frame.Width + x - frame.Left)]
                 : background;
      std::copy_n(palette[index].data(), channels, out);
    }
    canvas.add_row(row.data(), static_cast<Layout>(channels));
  }
}

// Skips data sub-blocks from `at`; the offset after their end mark, or nothing when the bytes run
// out.
std::optional<std::size_t> skip_blocks(std::string_view bytes, std::size_t at) {
  while (at < bytes.size()) {
    const auto size = static_cast<std::uint8_t>(bytes[at]);
    at += 1 + size;
    if (size == 0) return at;
  }
  return std::nullopt;
}

// Offset after the block that starts at `at`, or nothing when the bytes run out inside it.
std::optional<std::size_t> skip_record(std::string_view bytes, std::size_t at) {
  constexpr std::size_t kDescriptor = 10;  // mark, 4 x 16 bits, flags
  if (bytes[at] == '!') return skip_blocks(bytes, at + 2);
  if (bytes.size() - at < kDescriptor + 1) return std::nullopt;
  const auto flags = static_cast<std::uint8_t>(bytes[at + kDescriptor - 1]);
  const std::size_t palette = (flags & 0x80) != 0 ? std::size_t{3} << ((flags & 7) + 1) : 0;
  return skip_blocks(bytes, at + kDescriptor + palette + 1);  // and the code size
}

// Counts the frames after the first. A missing end mark is forgiven, a file that ends inside a
// block is not.
std::int64_t count_frames(const Source& source, Canvas& canvas, std::string_view rest) {
  std::int64_t frames = 0;
  std::size_t at = 0;
  while (at < rest.size() && (rest[at] == '!' || rest[at] == ',')) {
    frames += rest[at] == ',' ? 1 : 0;
    const auto next = skip_record(rest, at);
    if (!next) fail_corrupt(source, "unexpected end of file after the first frame");
    at = *next;
  }
  if (at >= rest.size() || rest[at] != ';') canvas.warn("the end mark of the GIF file is missing");
  return frames;
}

}  // namespace

void decode_gif(const Source& source, Canvas& canvas) {
  GifReader reader(source);
  const int transparent = reader.skip_to_image();
  const GifFileType& file = reader.file();
  const GifImageDesc frame = file.Image;
  if (frame.Width <= 0 || frame.Height <= 0) fail_corrupt(source, "the first frame is empty");
  // A frame that leaves the screen enlarges it, as in Pillow.
  canvas.start(std::max(file.SWidth, frame.Left + frame.Width),
               std::max(file.SHeight, frame.Top + frame.Height));
  const auto indices = read_indices(reader);
  paint(canvas, frame, indices, make_palette(file, transparent), transparent);
  canvas.report().frames_ignored = count_frames(source, canvas, reader.rest());
}

}  // namespace sightline::image

#!/usr/bin/env python3
"""Writes the odd pictures of tests/data/image_cases and their index.json.

Usage: image_cases.py OUTPUT_DIR

Each case is a tiny file and either what Pillow makes of it (size, SHA-256 of the RGB bytes, alpha onto white) or the
error that is expected. Deterministic for one version of Pillow. Needs pillow, numpy, torch (see image_differential.py).
"""

import io
import json
import pathlib
import struct
import sys
import zlib

import numpy as np
from PIL import Image, PngImagePlugin

from image_differential import reference_rgb, sha

RNG = np.random.default_rng(20)


def gradient(height, width, channels=3):
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 9 + y, y * 13, 255 - x * 5, 40 + y * 9 + x * 3]
    return np.stack([planes[c] % 256 for c in range(channels)], axis=-1).astype(np.uint8)


def encode(picture, **options):
    out = io.BytesIO()
    picture.save(out, **options)
    return out.getvalue()


def exif_block(orientation, endian):
    exif = Image.Exif()
    exif.endian = endian
    exif[0x0112] = orientation
    return exif.tobytes()


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png_file(width, height, depth, colour, rows, interlace=0, extra=b"", end=True):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    body = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + body + (png_chunk(b"IEND", b"") if end else b"")


def tiff_file(pixels, tags, order="<"):
    """One uncompressed page: `pixels` are the bytes of the strips or tiles, in order."""
    entries = dict(tags)
    offset_tag, count_tag = (324, 325) if 322 in entries else (273, 279)
    entries[count_tag] = ("I", [len(part) for part in pixels])
    entries[offset_tag] = ("I", [0] * len(pixels))
    sizes = {"H": 2, "I": 4}
    codes = {"H": 3, "I": 4}
    directory_at = 8
    spill_at = directory_at + 2 + 12 * len(entries) + 4
    spill_size = sum(sizes[t] * len(v) for t, v in entries.values() if sizes[t] * len(v) > 4)
    data_at = spill_at + spill_size
    offsets, position = [], data_at
    for part in pixels:
        offsets.append(position)
        position += len(part)
    entries[offset_tag] = ("I", offsets)
    directory, spill = struct.pack(order + "H", len(entries)), b""
    for tag in sorted(entries):
        kind, values = entries[tag]
        packed = struct.pack(f"{order}{len(values)}{kind}", *values)
        if len(packed) > 4:
            field = struct.pack(order + "I", spill_at + len(spill))
            spill += packed
        else:
            field = packed.ljust(4, b"\0")
        directory += struct.pack(order + "HHI", tag, codes[kind], len(values)) + field
    magic = b"II*\0" if order == "<" else b"MM\0*"
    return magic + struct.pack(order + "I", 8) + directory + struct.pack(order + "I", 0) + spill + b"".join(pixels)


def tiff_tags(width, height, bits, photometric, samples=1, **more):
    tags = {256: ("I", [width]), 257: ("I", [height]), 258: ("H", [bits] * samples), 259: ("H", [1]),
            262: ("H", [photometric]), 277: ("H", [samples])}
    tags.update({int(name[1:]): value for name, value in more.items()})
    if 322 not in tags:
        tags.setdefault(278, ("I", [height]))
    return tags


class Cases:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.index = []

    def add(self, file, data, **facts):
        """A file that must decode to what Pillow makes of it, or to `rgb` where Pillow cannot read it or errs."""
        rgb = facts.pop("rgb", None)
        expected = reference_rgb(data) if rgb is None else rgb
        self.write(file, data, {"decoded": list(expected.shape[:2]), "decoded_rgb_sha256": sha(expected), **facts})

    def refuse(self, file, data, code, *parts):
        self.write(file, data, {"error": code, "parts": list(parts)})

    def write(self, file, data, facts):
        (self.folder / file).write_bytes(data)
        self.index.append({"file": file, **facts})


def orientations(cases):
    picture = Image.fromarray(gradient(16, 24))
    for orientation in range(1, 9):
        for endian, suffix in (("<", "ii"), (">", "mm")):
            exif = exif_block(orientation, endian)
            facts = {"orientation": orientation}
            cases.add(f"orient-{orientation}-{suffix}.png", encode(picture, format="PNG", exif=exif), **facts)
            cases.add(f"orient-{orientation}-{suffix}.webp",
                      encode(picture, format="WEBP", lossless=True, exif=exif), **facts)
            cases.add(f"orient-{orientation}-{suffix}.jpg", encode(picture, format="JPEG", exif=exif), **facts)
        cases.add(f"orient-{orientation}.tiff",
                  encode(picture, format="TIFF", tiffinfo={274: orientation}), orientation=orientation)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    cases.add("orient-xmp.jpg", encode(picture, format="JPEG", xmp=xmp), orientation=6)
    cases.add("orient-xmp.webp", encode(picture, format="WEBP", lossless=True, xmp=xmp), orientation=6)
    text = PngImagePlugin.PngInfo()
    text.add_itxt("XML:com.adobe.xmp", xmp.decode())
    cases.add("orient-xmp.png", encode(picture, format="PNG", pnginfo=text), orientation=6)


def transparency(cases):
    red = np.zeros((64, 64, 4), np.uint8)
    red[20:28, 30:38] = (255, 0, 0, 255)
    noise = red.copy()
    hidden = noise[..., 3] == 0
    noise[hidden, :3] = RNG.integers(0, 256, (hidden.sum(), 3), dtype=np.uint8)
    cases.add("alpha-hidden-black.png", encode(Image.fromarray(red), format="PNG"), had_alpha=True)
    cases.add("alpha-hidden-noise.png", encode(Image.fromarray(noise), format="PNG"), had_alpha=True)
    cases.add("alpha-hidden-noise.webp",
              encode(Image.fromarray(noise), format="WEBP", lossless=True, exact=True), had_alpha=True)
    wide = RNG.integers(0, 65536, (9, 11), dtype=np.uint16)
    wide[3] = 0x1234
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in wide)
    grey = (wide.astype(np.int64) * 255 + 32767) // 65535
    grey[wide == 0x1234] = 255
    cases.add("gray16-trns.png", png_file(11, 9, 16, 0, rows, extra=png_chunk(b"tRNS", b"\x12\x34")), had_alpha=True,
              rgb=np.repeat(grey[..., None], 3, axis=2))
    two = RNG.integers(0, 256, (9, 2), dtype=np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in two)
    grey = np.stack([(two >> shift & 3) for shift in (6, 4, 2, 0)], axis=-1).reshape(9, 8)
    cases.add("gray2-trns.png", png_file(8, 9, 2, 0, rows, extra=png_chunk(b"tRNS", b"\0\2")), had_alpha=True,
              rgb=np.repeat(np.where(grey == 2, 255, grey * 85)[..., None], 3, axis=2))
    deep = RNG.integers(0, 256, (7, 5, 8), dtype=np.uint8)
    cases.add("rgba16-adam7.png", png_file(5, 7, 16, 6, adam7(deep), interlace=1), had_alpha=True)


def adam7(pixels):
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [pixels[top::down, left::right] for top, left, down, right in passes]
    return b"".join(b"\0" + row.tobytes() for part in parts if part.size for row in part)


def animations(cases):
    red, blue = (Image.new("RGB", (64, 64), colour) for colour in ("red", "blue"))
    cases.add("two-frames.gif", encode(red, format="GIF", save_all=True, append_images=[blue], disposal=2),
              frames_ignored=1)
    cases.add("three-frames.webp",
              encode(red, format="WEBP", save_all=True, lossless=True, append_images=[blue, red]), frames_ignored=2)
    cases.add("two-frames.png", encode(red, format="PNG", save_all=True, append_images=[blue]), frames_ignored=1)
    cases.add("two-pages.tiff", encode(red, format="TIFF", save_all=True, append_images=[blue]), frames_ignored=1)
    cases.add("lossless-webp-named.png", encode(Image.fromarray(gradient(64, 64)), format="WEBP", lossless=True))
    cases.add("png-named.jpg", encode(Image.fromarray(gradient(20, 20)), format="PNG"))


def jpegs(cases):
    picture = Image.fromarray(gradient(40, 50))
    cases.add("rgb-adobe.jpg", encode(picture, format="JPEG", keep_rgb=True))
    inks = encode(Image.fromarray(gradient(40, 50, 4), "CMYK"), format="JPEG")
    at = inks.index(b"Adobe") + 11
    assert inks[at] == 0
    cases.add("ycck.jpg", inks[:at] + b"\2" + inks[at + 1:])
    whole = encode(picture, format="JPEG", quality=90)
    scan = whole.index(b"\xff\xda")
    cases.refuse("scan-damaged.jpg", whole[:scan + 60] + b"\x55" * 200 + whole[scan + 260:], "invalid_image", "JPEG")
    table = whole.index(b"\xff\xc4")
    cases.refuse("bad-huffman-table.jpg", whole[:table + 5] + b"\xff" * 16 + whole[table + 21:], "invalid_image",
                 "Huffman")
    size = whole.index(b"\xff\xc0") + 5
    cases.refuse("bomb-64250x64250.jpg", whole[:size] + struct.pack(">HH", 64250, 64250) + whole[size + 4:],
                 "image_too_large", "64250x64250")
    cases.refuse("twelve-bit.jpg", whole[:size - 1] + b"\x0c" + whole[size:], "unsupported_image_format", "12")
    # Extraneous bytes before a marker are common in camera files and harmless.
    cases.add("stray-bytes.jpg", whole[:table] + b"\0\0\0" + whole[table:], warnings=1)


def bombs(cases):
    rows = b"\0" * 300_000  # 300 compressed bytes
    cases.refuse("bomb-20000x20000.png", png_file(20000, 20000, 8, 2, rows), "image_too_large", "20000x20000")
    cases.refuse("short-9000x9000.png", png_file(9000, 9000, 8, 2, rows, end=False), "invalid_image", "PNG")
    cases.refuse("short-9000x9000-adam7.png", png_file(9000, 9000, 8, 2, rows, interlace=1), "invalid_image", "PNG")
    cases.refuse("huge-chunk.png", b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 0xFFFFFFFF) + b"IHDR" + b"\0" * 40,
                 "invalid_image", "PNG")
    cases.refuse("bomb-exif.png", png_file(8, 8, 8, 0, b"\0" * 72, extra=struct.pack(">I", 0x7FFFFFF0) + b"eXIf"),
                 "invalid_image", "PNG")
    cases.refuse("short-9000x9000.gif", b"GIF89a" + struct.pack("<HHBBB", 9000, 9000, 0, 0, 0) +
                 b"," + struct.pack("<HHHHB", 0, 0, 9000, 9000, 0) + b"\2\2\x4c\1\0;", "invalid_image", "GIF")
    run_lengths = struct.pack("<IiiHHIIiiII", 40, 9000, 9000, 1, 8, 1, 0, 0, 0, 1, 0) + b"\0" * 4 + b"\4\0\0\0"
    cases.refuse("short-9000x9000-rle8.bmp", b"BM" + struct.pack("<IHHI", 62, 0, 0, 58) + run_lengths,
                 "invalid_image", "run lengths")
    whole = encode(Image.fromarray(gradient(40, 50)), format="JPEG", progressive=True)
    size = whole.index(b"\xff\xc2") + 5
    cases.refuse("short-9000x9000.jpg", whole[:size] + struct.pack(">HH", 9000, 9000) + whole[size + 4:],
                 "invalid_image", "JPEG")
    cases.refuse("bomb.gif", b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) +
                 b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\2\2\x4c\1\0;", "image_too_large", "65535x65535")
    cases.refuse("bomb.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) +
                 struct.pack("<IiiHHIIiiII", 40, 100000, 100000, 1, 24, 0, 0, 0, 0, 0, 0), "image_too_large",
                 "100000x100000")
    cases.refuse("bomb.tiff", tiff_file([b"\0" * 8], tiff_tags(100000, 100000, 8, 1)), "image_too_large",
                 "100000x100000")
    cases.refuse("bomb-tiles.tiff", tiff_file([b"\0" * 8], tiff_tags(
        10, 10, 8, 1, t322=("I", [1 << 20]), t323=("I", [1 << 20]))), "image_too_large", "1048576x1048576")
    cases.refuse("short-strip-9000x9000.tiff", tiff_file([b"\0" * 8], tiff_tags(9000, 9000, 8, 1)), "invalid_image",
                 "TIFF")
    canvas = struct.pack("<I", 0)[:4] + (16383).to_bytes(3, "little") * 2
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + canvas
    cases.refuse("bomb.webp", b"RIFF" + struct.pack("<I", len(body)) + body, "image_too_large", "16384x16384")


def tiffs(cases):
    rgb, rgba = gradient(10, 13), gradient(10, 13, 4)
    for mode, name in (("1", "group4"), ("L", "tiff_lzw"), ("P", "packbits"), ("LA", "tiff_adobe_deflate"),
                       ("CMYK", "tiff_lzw"), ("RGBA", "tiff_lzw"), ("RGB", "jpeg")):
        picture = Image.fromarray(rgba).convert("RGB").convert(mode)
        cases.add(f"{mode}-{name}.tiff", encode(picture, format="TIFF", compression=name))
    cases.add("big.tiff", encode(Image.fromarray(rgb), format="TIFF", big_tiff=True))
    planes = [rgb[..., c].tobytes() for c in range(3)]
    cases.add("planar.tiff", tiff_file(planes, tiff_tags(13, 10, 8, 2, 3, t284=("H", [2]))))
    cases.add("motorola.tiff", tiff_file([rgb.tobytes()], tiff_tags(13, 10, 8, 2, 3), order=">"))
    padded = np.zeros((16, 16, 3), np.uint8)
    padded[:10, :13] = rgb
    tile = {"t322": ("I", [16]), "t323": ("I", [16])}
    cases.add("tiled.tiff", tiff_file([padded.tobytes()], tiff_tags(13, 10, 8, 2, 3, **tile)))
    big = gradient(33, 37)
    padded = np.zeros((48, 48, 3), np.uint8)
    padded[:33, :37] = big
    tiles = [padded[y:y + 16, x:x + 16].tobytes() for y in (0, 16, 32) for x in (0, 16, 32)]
    cases.add("nine-tiles.tiff", tiff_file(tiles, tiff_tags(37, 33, 8, 2, 3, **tile)))
    premultiplied = rgba.copy()
    premultiplied[..., :3] = (rgba[..., :3].astype(int) * rgba[..., 3:] // 255).astype(np.uint8)
    cases.add("premultiplied.tiff", tiff_file([premultiplied.tobytes()],
                                              tiff_tags(13, 10, 8, 2, 4, t338=("H", [1]))), had_alpha=True)
    cases.add("padding-sample.tiff", tiff_file([rgba.tobytes()], tiff_tags(13, 10, 8, 2, 4, t338=("H", [0]))))
    wide = RNG.integers(0, 65536, (10, 13, 3), dtype=np.uint16)
    cases.add("rgb16.tiff", tiff_file([wide.astype(">u2").tobytes()], tiff_tags(13, 10, 16, 2, 3), order=">"))
    grey = wide[..., 0]
    inverted = np.repeat((((65535 - grey.astype(int)) * 255 + 32767) // 65535)[..., None], 3, axis=2)
    cases.add("white-is-zero-16.tiff", tiff_file([grey.tobytes()], tiff_tags(13, 10, 16, 0)), rgb=inverted)
    packed = RNG.integers(0, 256, (10, 7), dtype=np.uint8)
    cases.add("gray4.tiff", tiff_file([packed.tobytes()], tiff_tags(13, 10, 4, 1)))
    cases.add("gray2-white-is-zero.tiff", tiff_file([packed[:, :4].tobytes()], tiff_tags(13, 10, 2, 0)))
    cases.refuse("float32.tiff", tiff_file([b"\0" * 520], tiff_tags(13, 10, 32, 1, t339=("H", [3]))),
                 "unsupported_image_format", "floating-point")
    cases.refuse("old-jpeg.tiff", tiff_file([b"\0" * 520], tiff_tags(13, 10, 8, 6, 3, t259=("H", [6]))),
                 "unsupported_image_format", "compression 6")


def bmps(cases):
    height, width = 5, 7

    def bmp(bits, compression, body, palette=b"", fields=b"", size=40, more=b"", flip=1):
        offset = 14 + size + len(fields) + len(palette)
        header = struct.pack("<IiiHHIIiiII", size, width, flip * height, 1, bits, compression, len(body), 0, 0,
                             len(palette) // 4, 0) + more
        return b"BM" + struct.pack("<IHHI", offset + len(body), 0, 0, offset) + header + fields + palette + body

    def noise(count):
        return RNG.integers(0, 256, count, dtype=np.uint8).tobytes()

    cases.add("555.bmp", bmp(16, 0, noise(16 * height)))
    cases.add("565.bmp", bmp(16, 3, noise(16 * height), fields=struct.pack("<3I", 0xF800, 0x7E0, 0x1F)))
    cases.add("top-down-32.bmp", bmp(32, 0, noise(28 * height), flip=-1))
    masks = struct.pack("<4I", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    cases.add("alpha-v4.bmp", bmp(32, 3, noise(28 * height), size=108, more=masks + b"\0" * 52), had_alpha=True)
    palette = noise(4 * 16)
    cases.add("4.bmp", bmp(4, 0, noise(4 * height), palette))
    run = bytes([4, 0x12, 3, 0x30, 0, 0])
    literal = bytes([0, 5, 0x12, 0x34, 0x50, 0, 2, 0x77, 0, 0])
    cases.add("rle4.bmp", bmp(4, 2, run + literal + run + literal + run + b"\0\1", palette))
    run = bytes([7, 200, 0, 0])
    literal = bytes([0, 7, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0])
    cases.add("rle8-delta.bmp", bmp(8, 1, run + literal + b"\0\2\3\1" + bytes([4, 9, 0, 0]) + run + b"\0\1",
                                    noise(4 * 256)))
    cases.refuse("rle8-short.bmp", bmp(8, 1, run + literal, noise(4 * 256)), "invalid_image", "run lengths")
    core = struct.pack("<IHHHH", 12, width, height, 1, 8) + noise(3 * 256)
    cases.add("os2.bmp", b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(core)) + core + noise(8 * height))
    cases.refuse("jpeg-inside.bmp", bmp(24, 4, noise(40)), "unsupported_image_format", "compression 4")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = Cases(folder)
    for part in (orientations, transparency, animations, jpegs, bombs, tiffs, bmps):
        part(cases)
    (folder / "index.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases.index) + "\n]\n")
    print(f"{len(cases.index)} cases")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Random small pictures of every format and mode: our decoder and resize against Pillow and torch.

Usage: image_differential.py SIGHTLINE MODEL [--count N] [--seed S]

SIGHTLINE is the built program, MODEL a directory with a preprocessor_config.json. Needs pillow, numpy, torch.
Prints every difference and a summary; exit code 1 if there is any. Documented differences (16-bit grey is scaled by us
and clipped by Pillow) are accounted for in the expectation.
"""

import argparse
import collections
import hashlib
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch
from PIL import Image, ImageOps

Case = collections.namedtuple("Case", "name data expected")


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array, dtype=np.uint8).tobytes()).hexdigest()


def onto_white(rgba):
    rgba = rgba.astype(np.int64)
    alpha = rgba[..., 3:4]
    return ((rgba[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def reference_rgb(data):
    """What the reference's loader and conversion make of an encoded picture, alpha onto white."""
    picture = Image.open(io.BytesIO(data))
    picture.load()
    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I;16"):
        wide = np.asarray(picture, dtype=np.uint16).astype(np.int64)
        return np.repeat(((wide * 255 + 32767) // 65535)[..., None], 3, axis=2).astype(np.uint8)
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        if picture.mode == "La":
            picture = picture.convert("LA")
        return onto_white(np.asarray(picture.convert("RGBA")))
    return np.asarray(picture.convert("RGB"))


def reference_resize(rgb, height, width):
    planes = torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))[None]
    if (height, width) == rgb.shape[:2]:
        return rgb
    out = torch.nn.functional.interpolate(planes, size=(height, width), mode="bicubic", antialias=True)
    return out[0].numpy().transpose(1, 2, 0)


class Maker:
    """Random pictures from one seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.np = np.random.default_rng(seed)

    def pixels(self, channels):
        height, width = self.rng.randint(1, 70), self.rng.randint(1, 70)
        kind = self.rng.randrange(3)
        if kind == 0:
            return self.np.integers(0, 256, (height, width, channels), dtype=np.uint8)
        y, x = np.mgrid[0:height, 0:width]
        smooth = np.stack([(y * a + x * b + c) % 256 for a, b, c in self.np.integers(0, 9, (channels, 3))], axis=-1)
        if kind == 1:
            smooth = (smooth // 64) * 64
        return smooth.astype(np.uint8)

    def picture(self, mode):
        channels = {"1": 1, "L": 1, "P": 1, "LA": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "RGBA": 4, "CMYK": 4}[mode]
        raw = self.pixels(channels)
        if mode == "P":
            picture = Image.fromarray(raw[..., 0] % np.uint8(self.rng.choice([2, 4, 16, 255])))
            picture = picture.convert("P")
            colours = self.np.integers(0, 256, 768, dtype=np.uint8).tolist()
            picture.putpalette(colours)
            return picture
        if mode == "1":
            return Image.fromarray((raw[..., 0] > 120).astype(np.uint8) * 255).convert("1")
        if channels == 1:
            return Image.fromarray(raw[..., 0])
        return Image.frombytes(mode, (raw.shape[1], raw.shape[0]), raw.tobytes())

    def encode(self, picture, **options):
        out = io.BytesIO()
        picture.save(out, **options)
        return out.getvalue()

    def exif(self):
        exif = Image.Exif()
        exif.endian = self.rng.choice("<>")
        exif[0x0112] = self.rng.randint(1, 8)
        return exif.tobytes()

    def maybe_exif(self):
        return {"exif": self.exif()} if self.rng.random() < 0.4 else {}

    def png(self):
        mode = self.rng.choice(["1", "L", "P", "LA", "RGB", "RGBA", "P-trns", "L-trns", "RGB-trns"])
        base = mode.split("-")[0]
        picture = self.picture(base)
        options = self.maybe_exif()
        if mode == "P-trns":
            options["transparency"] = bytes(self.np.integers(0, 256, self.rng.randint(1, 16), dtype=np.uint8))
        elif mode == "L-trns":
            options["transparency"] = picture.getpixel((0, 0))
        elif mode == "RGB-trns":
            options["transparency"] = picture.getpixel((0, 0))
        return "png-" + mode, self.encode(picture, format="PNG", **options)

    def raw_png(self):
        """PNG written here: 16-bit and Adam7 forms that Pillow does not write."""
        colour, channels = self.rng.choice([(0, 1), (2, 3), (4, 2), (6, 4)])
        depth = self.rng.choice([8, 16])
        interlaced = self.rng.random() < 0.5
        height, width = self.rng.randint(1, 40), self.rng.randint(1, 40)
        data = self.np.integers(0, 256, (height, width, channels * depth // 8), dtype=np.uint8)
        rows = b""
        passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
        for top, left, down, right in passes if interlaced else [(0, 0, 1, 1)]:
            part = data[top::down, left::right]
            if part.size:
                rows += b"".join(b"\0" + row.tobytes() for row in part)

        def chunk(name, body):
            return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

        header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
        body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
        return f"png-raw-{colour}-{depth}{'-adam7' if interlaced else ''}", b"\x89PNG\r\n\x1a\n" + body

    def jpeg(self):
        mode = self.rng.choice(["L", "RGB", "RGB", "CMYK"])
        options = self.maybe_exif()
        if mode == "RGB":
            options["subsampling"] = self.rng.choice([0, 1, 2])
        options["progressive"] = self.rng.random() < 0.4
        options["restart_marker_rows"] = self.rng.choice([0, 0, 1])
        return "jpeg-" + mode, self.encode(
            self.picture(mode), format="JPEG", quality=self.rng.randint(20, 100), **options)

    def webp(self):
        mode = self.rng.choice(["RGB", "RGBA"])
        options = self.maybe_exif()
        options["lossless"] = self.rng.random() < 0.5
        if self.rng.random() < 0.3:
            first = self.picture(mode)
            others = [self.picture(mode).resize(first.size) for _ in range(2)]
            return "webp-animated-" + mode, self.encode(
                first, format="WEBP", save_all=True, append_images=others, **options)
        return "webp-" + mode, self.encode(self.picture(mode), format="WEBP", exact=True, **options)

    def gif(self):
        mode = self.rng.choice(["1", "L", "P", "P-trns", "RGB"])
        picture = self.picture(mode.split("-")[0])
        options = {"interlace": self.rng.randrange(2)}
        if mode == "P-trns":
            options["transparency"] = picture.getpixel((0, 0))
        if self.rng.random() < 0.4:
            other = self.picture("P").resize(picture.size)
            options.update(save_all=True, append_images=[other], disposal=self.rng.choice([0, 1, 2, 3]))
        return "gif-" + mode, self.encode(picture, format="GIF", **options)

    def shifted_gif(self):
        """A frame smaller than, beside or beyond the screen."""
        data = bytearray(self.gif()[1])
        screen = struct.unpack_from("<HH", data, 6)
        struct.pack_into("<HH", data, 6, *(max(1, s + self.rng.randint(-5, 9)) for s in screen))
        flags = data[10]
        position = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
        while data[position] == 0x21:
            position += 2
            while data[position]:
                position += 1 + data[position]
            position += 1
        struct.pack_into("<HH", data, position + 1, self.rng.randint(0, 7), self.rng.randint(0, 7))
        return "gif-shifted", bytes(data)

    def tiff(self):
        mode = self.rng.choice(["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I;16", "YCbCr"])
        compression = self.rng.choice([None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
        if mode == "I;16":
            raw = self.np.integers(0, 65536, (self.rng.randint(1, 40), self.rng.randint(1, 40)), dtype=np.uint16)
            picture = Image.fromarray(raw)
        else:
            picture = self.picture(mode)
        if mode == "1" and self.rng.random() < 0.5:
            compression = self.rng.choice(["group3", "group4", "tiff_ccitt"])
        if mode in ("L", "RGB", "YCbCr") and self.rng.random() < 0.3:
            compression = "jpeg"
        elif mode == "YCbCr":
            mode, picture = "RGB", picture.convert("RGB")
        options = {"tiffinfo": {274: self.rng.randint(1, 8)}} if self.rng.random() < 0.4 else {}
        if self.rng.random() < 0.3:
            options.setdefault("tiffinfo", {})[278] = self.rng.randint(1, 9) * (8 if compression == "jpeg" else 1)
        return f"tiff-{mode}-{compression}", self.encode(
            picture, format="TIFF", compression=compression, **options)

    def bmp(self):
        mode = self.rng.choice(["1", "L", "P", "RGB", "RGBA"])
        return "bmp-" + mode, self.encode(self.picture(mode), format="BMP")

    def raw_bmp(self):
        """BMP written here: depths, bit fields, directions and run lengths that Pillow reads but does not write."""
        height, width = self.rng.randint(1, 30), self.rng.randint(1, 30)
        bits, compression, masks = self.rng.choice([
            (4, 0, ()), (16, 0, ()), (32, 0, ()), (4, 2, ()), (8, 1, ()),
            (16, 3, (0xF800, 0x7E0, 0x1F)), (16, 3, (0x7C00, 0x3E0, 0x1F)),
            (32, 3, (0xFF0000, 0xFF00, 0xFF)), (32, 3, (0xFF000000, 0xFF0000, 0xFF00))])
        colours = 1 << bits if bits <= 8 else 0
        palette = self.np.integers(0, 256, (colours, 4), dtype=np.uint8).tobytes()
        if compression in (1, 2):
            pixels = b"".join(self.run_length_row(width, bits) for _ in range(height)) + b"\0\1"
        else:
            stride = (width * bits + 31) // 32 * 4
            pixels = self.np.integers(0, 256, height * stride, dtype=np.uint8).tobytes()
        top_down = compression not in (1, 2) and self.rng.random() < 0.4
        fields = struct.pack(f"<{len(masks)}I", *masks)
        offset = 14 + 40 + len(fields) + len(palette)
        header = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, compression,
                             len(pixels), 2835, 2835, colours, 0)
        data = b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) + header + fields + palette + pixels
        return f"bmp-raw-{bits}-{compression}{'-down' if top_down else ''}", data

    def run_length_row(self, width, bits):
        out, left = b"", width
        while left:
            count = self.rng.randint(1, min(left, 255))
            if count >= 3 and self.rng.random() < 0.5:
                size = count if bits == 8 else (count + 1) // 2
                literal = self.np.integers(0, 256, size, dtype=np.uint8).tobytes()
                out += bytes([0, count]) + literal + b"\0" * (size % 2)
            else:
                out += bytes([count, self.rng.randrange(256)])
            left -= count
        return out + b"\0\0"

    def case(self):
        makers = [self.png, self.raw_png, self.jpeg, self.webp, self.gif, self.shifted_gif, self.tiff, self.bmp,
                  self.raw_bmp]
        while True:
            try:
                name, data = self.rng.choice(makers)()
                return Case(name, data, reference_rgb(data))
            except (OSError, ValueError, SystemError, KeyError, RuntimeError) as error:
                print(f"not made: {error}", file=sys.stderr)  # Pillow cannot write or read this mixture


def run(program, model, paths):
    out = subprocess.run([program, "pixels", model, *paths], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    return {line["file"]: line for line in lines if "file" in line}, out


def compare(case, found):
    """Empty when equal, else what differs."""
    if found is None:
        return "refused"
    if found["decoded"] != list(case.expected.shape[:2]):
        return f"size {found['decoded']}, expected {list(case.expected.shape[:2])}"
    if found["decoded_rgb_sha256"] != sha(case.expected):
        return "decoded pixels differ"
    height, width = found["resized"]
    if height and found["resized_rgb_sha256"] != sha(reference_resize(case.expected, height, width)):
        return "resized pixels differ"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sightline")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="directory for the files that differ")
    arguments = parser.parse_args()
    maker = Maker(arguments.seed)
    total, bad = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for i in range(arguments.count):
            case = maker.case()
            path = pathlib.Path(folder) / f"{i}-{case.name.replace(';', '')}"
            path.write_bytes(case.data)
            cases[str(path)] = case
        for path, case in cases.items():
            found, out = run(arguments.sightline, arguments.model, [path])
            difference = compare(case, found.get(path))
            total[case.name] += 1
            if difference:
                bad[case.name] += 1
                print(f"{case.name}: {pathlib.Path(path).name}: {difference} {out.stdout if difference == 'refused' else ''}{out.stderr}".rstrip())
                if arguments.keep:
                    (pathlib.Path(arguments.keep) / pathlib.Path(path).name).write_bytes(case.data)
    for name in sorted(total):
        print(f"{name:28} {total[name]:5} files, {bad[name]} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

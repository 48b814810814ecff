#!/usr/bin/env python3
"""Fails on an #include against the layer arrows, or on a third-party header outside its layer.

usage: tools/check_layers.py
The arrows are the sightline_layer(NAME USES ... LINK ...) lines of CMakeLists.txt: a file in src/NAME may include its
own layer, the layers that it uses, and what those use. Third-party headers belong to the layer that links the library.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# First part of a third-party include -> the target that a layer must LINK. fmt belongs to all.
THIRD_PARTY = {
    "nlohmann": "nlohmann_json::nlohmann_json", "histedit.h": "PkgConfig::EDIT",
    "editline": "PkgConfig::EDIT", "pcre2.h": "PkgConfig::PCRE2", "utf8proc.h": "PkgConfig::UTF8PROC",
    "jpeglib.h": "PkgConfig::JPEG", "png.h": "PkgConfig::PNG", "webp": "PkgConfig::WEBP", "tiff.h": "PkgConfig::TIFF",
    "tiffio.h": "PkgConfig::TIFF", "gif_lib.h": "PkgConfig::GIF", "libavcodec": "sightline_ffmpeg",
    "libavformat": "sightline_ffmpeg", "libavutil": "sightline_ffmpeg", "libswscale": "sightline_ffmpeg",
}


def read_layers():
    """{layer: (layers used directly, libraries linked)} from CMakeLists.txt."""
    layers = {}
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    for name, rest in re.findall(r"^sightline_layer\((\w+)\s+([^)]*)\)", text, re.M):
        uses, _, link = rest.partition("LINK")
        layers[name] = (uses.replace("USES", "").split(), link.split())
    return layers


def closure(layers, name):
    """Every layer that `name` may include."""
    found, todo = {name}, [name]
    while todo:
        for used in layers[todo.pop()][0]:
            if used not in found:
                found.add(used)
                todo.append(used)
    return found


def check_file(path, layer, layers, allowed):
    """The complaints about one file; layer is None for the public headers."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        quote, target = match.groups()
        where = f"{path.relative_to(ROOT)}:{number}: includes {target}: "
        first = target.split("/")[0]
        if quote == '"' and first not in allowed:
            yield where + f"{layer or 'a public header'} may include {', '.join(sorted(allowed))}"
        if first in THIRD_PARTY and (layer is None or THIRD_PARTY[first] not in layers[layer][1]):
            yield where + f"no layer but the one that links {THIRD_PARTY[first]} may"


def main():
    layers = read_layers()
    complaints = []
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        layer = path.relative_to(ROOT / "src").parts[0]
        if layer not in layers:
            complaints.append(f"{path.relative_to(ROOT)}: no sightline_layer({layer}) in CMakeLists.txt")
            continue
        complaints += check_file(path, layer, layers, closure(layers, layer) | {"sightline"})
    for path in sorted((ROOT / "include").rglob("*.h*")):
        complaints += check_file(path, None, layers, {"sightline"})
    print("\n".join(complaints) if complaints else f"layers: {len(layers)}, no arrow the wrong way")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

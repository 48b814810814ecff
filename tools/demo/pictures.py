"""Draw the handful of files in demo/pictures, the ones that the README and `./dev demo` show.

usage: pictures.py OUT_DIR
Fixed scenes and seeds; the digit is one of the handwriting samples that no training has seen.
"""
import pathlib
import sys

import numpy as np
from PIL import Image

import scenes


def figure(shape, colour, cx, cy, r, turn=0.0):
    return {"shape": shape, "colour": colour, "rgb": scenes.PALETTE[colour][0], "cx": cx, "cy": cy, "r": r, "turn": turn}


def scene(background, *objects):
    return {"kind": "scene", "bg_name": None, "bg": background, "objects": list(objects), "aspect": 1.0}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(77)
    three = scene((235, 235, 228), figure("circle", "red", 0.2, 0.25, 0.16), figure("square", "blue", 0.52, 0.72, 0.18, 0.05),
                  figure("star", "green", 0.8, 0.27, 0.17))
    Image.fromarray(scenes.render(rng, three, 256, 256, 0.0)).save(out / "scene.png", optimize=True)
    four = scene((60, 90, 150), *(figure("ring" if i else "cross", "yellow" if i else "white", x, y, 0.15)
                                  for i, (x, y) in enumerate(((0.22, 0.22), (0.78, 0.24), (0.24, 0.78), (0.77, 0.76)))))
    noisy = np.clip(scenes.render(rng, four, 200, 200, 0.0) + rng.normal(0, 4, (200, 200, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(out / "four.jpg", quality=85)
    wide = scene((250, 220, 120), figure("triangle", "purple", 0.2, 0.5, 0.24), figure("square", "black", 0.78, 0.5, 0.22))
    Image.fromarray(scenes.render(rng, dict(wide, aspect=4 / 3), 320, 240, 0.0)).save(out / "wide.webp", lossless=True)
    digits = scenes.load_digits()["heldout"]
    seven = int(np.flatnonzero(digits[1] == 7)[3])
    digit = dict(scenes.sample_digit(rng, digits, index=seven), bg=(255, 255, 255), rgb=(0, 0, 0), r=0.42, cx=0.5, cy=0.5, angle=0.0, shear=0.0)
    Image.fromarray(scenes.render(rng, digit, 128, 128, 0.0)).save(out / "digit.png", optimize=True)
    Image.new("RGB", (64, 64), (255, 0, 0)).save(out / "red.png", optimize=True)
    clip = {"kind": "clip", "direction": "right", "frames": 6, "bg": (240, 240, 240), "step": (0.5, 0.0), "mid": (0.5, 0.5),
            "objects": [figure("circle", "blue", 0.5, 0.5, 0.2)]}
    frames = [Image.fromarray(f).quantize(32) for f in scenes.render_clip(np.random.default_rng(4), clip, 64)]
    frames[0].save(out / "clip.gif", save_all=True, append_images=frames[1:], duration=250, loop=0, optimize=False)
    for path in sorted(out.iterdir()):
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

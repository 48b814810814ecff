"""Pictures of the demo: palette, figures, scenes, handwritten digits and short clips.

Everything is drawn from a numpy Generator that the caller seeds, so a picture is a function of its seed.
A scene is a plain dict (size, background, objects) in relative coordinates; `render` draws it at a native
size, and `token_labels` says which merged visual token sees what (the supervision of the tower's first stage).
"""
import io
import math

import numpy as np
from PIL import Image, ImageDraw

PALETTE = {
    "red": [(255, 0, 0), (220, 20, 30), (190, 15, 15), (235, 50, 45)],
    "green": [(0, 128, 0), (0, 255, 0), (30, 160, 60), (60, 180, 90), (20, 200, 40)],
    "blue": [(0, 0, 255), (30, 80, 220), (20, 40, 160), (50, 110, 235)],
    "yellow": [(255, 255, 0), (245, 220, 30), (250, 235, 80)],
    "orange": [(255, 140, 0), (255, 165, 0), (240, 120, 20)],
    "purple": [(128, 0, 128), (150, 40, 190), (100, 30, 150)],
    "pink": [(255, 105, 180), (255, 150, 190), (255, 180, 200)],
    "white": [(255, 255, 255), (245, 245, 245)],
    "black": [(0, 0, 0), (20, 20, 20)],
    "gray": [(128, 128, 128), (110, 110, 110), (150, 150, 150)],
}
COLOURS = list(PALETTE)
SHAPES = ["circle", "square", "triangle", "star", "cross", "ring"]
TILT = 0.12  # figures stand upright, give or take 7 degrees
DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def shade(rng, name):
    """One concrete RGB of a named colour."""
    base = np.array(pick(rng, PALETTE[name]), dtype=np.int64)
    if name in ("white", "black", "gray"):
        return tuple(int(v) for v in np.clip(base + rng.integers(-8, 9) + rng.integers(-3, 4, 3), 0, 255))
    return tuple(int(v) for v in np.clip(base + rng.integers(-12, 13, 3), 0, 255))


def colour_distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))


def background(rng, taken):
    """A background away from the colours in `taken`: (name or None, rgb)."""
    for _ in range(200):
        mode = rng.random()
        if mode < 0.6:
            name = pick(rng, COLOURS) if mode < 0.35 else pick(rng, ["white", "black", "gray", "white"])
            rgb = shade(rng, name)
        elif mode < 0.8:  # light and muted
            name, rgb = None, tuple(int(v) for v in rng.integers(175, 250, 3))
        else:
            name, rgb = None, tuple(int(v) for v in rng.integers(10, 245, 3))
        if all(n != name and colour_distance(rgb, c) > 110 for n, c in taken):
            return name, rgb
    return None, (128, 128, 128)


def _coordinate(rng, r):
    """One relative coordinate, mostly well inside the left, middle or right third."""
    if rng.random() < 0.12:
        return float(rng.uniform(r, 1 - r))
    bands = [b for b in ((r, 0.27), (0.41, 0.59), (0.73, 1 - r)) if b[1] > b[0]]
    lo, hi = bands[int(rng.integers(len(bands)))]
    return float(rng.uniform(lo, hi))


def sample_scene(rng, aspect=1.0, smallest=0.11, count=None):
    """aspect = width / height. Objects never overlap and never have the background's colour."""
    if count is None:
        count = int(rng.choice(5, p=[0.06, 0.26, 0.26, 0.21, 0.21]))
    if count == 0:
        name = pick(rng, COLOURS)
        return {"kind": "plain", "bg_name": name, "bg": shade(rng, name), "objects": [], "aspect": aspect}
    mode = rng.random()
    one_shape, one_colour = pick(rng, SHAPES), pick(rng, COLOURS)
    ax, ay = max(1.0, aspect), max(1.0, 1 / aspect)  # sides in units of the shorter one
    objects = []
    for _ in range(count):
        shape = one_shape if (count > 1 and mode < 0.22) or (mode > 0.6 and rng.random() < 0.3) else pick(rng, SHAPES)
        colour = one_colour if (count > 1 and 0.12 < mode < 0.36) or (mode > 0.6 and rng.random() < 0.2) else pick(rng, COLOURS)
        top = {1: 0.42, 2: 0.25, 3: 0.21, 4: 0.19}[count]
        for _ in range(60):
            r = float(rng.uniform(smallest, top)) if rng.random() < 0.8 else float(rng.uniform(smallest, smallest * 1.6))
            cx, cy = _coordinate(rng, r / ax * 1.04), _coordinate(rng, r / ay * 1.04)
            if all(math.hypot((cx - o["cx"]) * ax, (cy - o["cy"]) * ay) > (r + o["r"]) * 1.08 + 0.02 for o in objects):
                break
        else:
            continue
        rgb = shade(rng, colour)
        turn = float(rng.uniform(-TILT, TILT))
        objects.append({"shape": shape, "colour": colour, "rgb": rgb, "cx": cx, "cy": cy, "r": r, "turn": turn})
    bg_name, bg = background(rng, [(o["colour"], o["rgb"]) for o in objects])
    return {"kind": "scene", "bg_name": bg_name, "bg": bg, "objects": objects, "aspect": aspect}


def _outline(shape, turn):
    """Corner points of a figure of circumradius 1 (None for round ones)."""
    if shape == "square":
        pts = [(a, 1) for a in (45, 135, 225, 315)]
    elif shape == "triangle":
        pts = [(a, 1) for a in (-90, 30, 150)]
    elif shape == "star":
        pts = [(-90 + 36 * i, 1 if i % 2 == 0 else 0.42) for i in range(10)]
    elif shape == "cross":
        t = 0.32
        xy = [(-t, -1), (t, -1), (t, -t), (1, -t), (1, t), (t, t), (t, 1), (-t, 1), (-t, t), (-1, t), (-1, -t), (-t, -t)]
        n = math.hypot(1, t)
        pts = [(math.degrees(math.atan2(y, x)), math.hypot(x, y) / n) for x, y in xy]
    else:
        return None
    return [(q * math.cos(math.radians(a) + turn), q * math.sin(math.radians(a) + turn)) for a, q in pts]


def draw_mask(size, obj, cx, cy, r, factor=4):
    """Coverage of a figure on a (w, h) raster as an 'L' picture, anti-aliased by `factor`."""
    w, h = size
    mask = Image.new("L", (w * factor, h * factor), 0)
    d = ImageDraw.Draw(mask)
    cx, cy, r = cx * factor, cy * factor, r * factor
    pts = _outline(obj["shape"], obj["turn"])
    if pts is not None:
        d.polygon([(cx + x * r, cy + y * r) for x, y in pts], fill=255)
    else:
        d.ellipse([cx - r * 0.9, cy - r * 0.9, cx + r * 0.9, cy + r * 0.9], fill=255)
        if obj["shape"] == "ring":
            q = r * 0.55
            d.ellipse([cx - q, cy - q, cx + q, cy + q], fill=0)
    return mask.reduce(factor) if factor > 1 else mask


def paint(canvas, obj):
    """Draw one object (relative coordinates) on a PIL canvas, within its bounding box only."""
    w, h = canvas.size
    r = obj["r"] * min(w, h)
    x, y = obj["cx"] * w, obj["cy"] * h
    x0, y0 = int(math.floor(x - r - 1)), int(math.floor(y - r - 1))
    side = int(math.ceil(2 * r + 3))
    canvas.paste(obj["rgb"], (x0, y0), draw_mask((side, side), obj, x - x0, y - y0, r))


def degrade(rng, pixels, strength=1.0):
    """Light ramp, noise, JPEG artefacts; uint8 in and out."""
    h, w, _ = pixels.shape
    out = pixels
    if rng.random() < 0.35 * strength:
        a = rng.uniform(0, 2 * math.pi)
        ramp = (np.linspace(-1, 1, w)[None, :] * math.cos(a) + np.linspace(-1, 1, h)[:, None] * math.sin(a))
        out = np.clip(out * (1 + rng.uniform(0.03, 0.13) * ramp[..., None]), 0, 255)
    if rng.random() < 0.4 * strength:
        out = np.clip(out + rng.normal(0, rng.uniform(1, 7), out.shape), 0, 255)
    out = out.astype(np.uint8)
    if rng.random() < 0.35 * strength:
        buf = io.BytesIO()
        Image.fromarray(out).save(buf, "JPEG", quality=int(rng.integers(55, 96)), subsampling=int(rng.choice([0, 2])))
        out = np.asarray(Image.open(buf).convert("RGB"))
    return out


def render(rng, scene, width, height, strength=1.0):
    """uint8 [height, width, 3] of a scene."""
    canvas = Image.new("RGB", (width, height), scene["bg"])
    if scene["kind"] == "digit":
        paste_digit(canvas, scene)
    elif scene["kind"] == "word":
        paste_word(canvas, scene)
    for obj in scene["objects"]:
        paint(canvas, obj)
    return degrade(rng, np.asarray(canvas), strength * (0.3 if scene["kind"] == "plain" else 1.0))


# ---- handwritten digits ---------------------------------------------------------------------------------

def load_digits():
    """scikit-learn's 1,797 digits in three fixed parts: 1,257 to train, 180 to decide, 360 held out."""
    from sklearn.datasets import load_digits as bundled
    data = bundled()
    order = np.random.default_rng(20260).permutation(len(data.target))
    parts = {"train": order[:1257], "validate": order[1257:1437], "heldout": order[1437:]}
    return {k: (data.images[v].astype(np.float32) / 16.0, data.target[v]) for k, v in parts.items()}


def sample_digit(rng, digits, aspect=1.0, index=None):
    images, labels = digits
    i = int(rng.integers(len(labels))) if index is None else index
    ink = pick(rng, COLOURS) if rng.random() < 0.6 else pick(rng, ["black", "white", "black"])
    rgb = shade(rng, ink)
    for _ in range(50):
        bg_name, bg = background(rng, [(ink, rgb)])
        if abs(sum(bg) - sum(rgb)) > 150 or colour_distance(bg, rgb) > 190:
            break
    r = float(rng.uniform(0.24, 0.48))
    return {"kind": "digit", "bg_name": bg_name, "bg": bg, "objects": [], "aspect": aspect, "digit": int(labels[i]),
            "glyph": images[i], "ink": ink, "rgb": rgb, "r": r,
            "cx": float(rng.uniform(r, 1 - r)), "cy": float(rng.uniform(r, 1 - r)),
            "angle": float(rng.uniform(-13, 13)), "stretch": float(rng.uniform(0.85, 1.15)),
            "shear": float(rng.uniform(-0.15, 0.15)), "gain": float(rng.uniform(1.0, 1.6))}


def paste_digit(canvas, s):
    w, h = canvas.size
    side = max(8, int(2 * s["r"] * min(w, h)))
    glyph = np.pad(s["glyph"], 1)  # room for the rotation
    big = Image.fromarray((np.clip(glyph, 0, 1) * 255).astype(np.uint8)).resize((side, side), Image.BICUBIC)
    a, k = math.radians(s["angle"]), s["shear"]
    c = side / 2
    m = np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]) @ np.array([[1 / s["stretch"], k], [0, 1.0]])
    off = np.array([c, c]) - m @ np.array([c, c])
    big = big.transform((side, side), Image.AFFINE, (m[0, 0], m[0, 1], off[0], m[1, 0], m[1, 1], off[1]), Image.BILINEAR)
    alpha = np.clip(np.asarray(big, dtype=np.float32) * s["gain"], 0, 255).astype(np.uint8)
    canvas.paste(s["rgb"], (int(s["cx"] * w - side / 2), int(s["cy"] * h - side / 2)), Image.fromarray(alpha))


# ---- clips ----------------------------------------------------------------------------------------------

def sample_clip(rng):
    """One figure that moves in a straight line; the frames are drawn by `render_clip`."""
    name = pick(rng, list(DIRECTIONS))
    dx, dy = DIRECTIONS[name]
    r = float(rng.uniform(0.13, 0.25))
    frames = int(rng.integers(2, 9))
    span = 1 - 2 * r
    travel = float(rng.uniform(max(0.14, 0.045 * (frames - 1)), min(0.62, span)))
    drift = float(rng.uniform(-0.12, 0.12)) * travel
    along, across = float(rng.uniform(r + travel / 2, 1 - r - travel / 2)), float(rng.uniform(r, 1 - r))
    mid = (along, across) if dx else (across, along)
    colour = pick(rng, COLOURS)
    rgb = shade(rng, colour)
    bg_name, bg = background(rng, [(colour, rgb)])
    return {"kind": "clip", "direction": name, "frames": frames, "bg_name": bg_name, "bg": bg, "aspect": 1.0,
            "step": (dx * travel + (0 if dx else drift), dy * travel + (drift if dx else 0)), "mid": mid,
            "objects": [{"shape": pick(rng, SHAPES), "colour": colour, "rgb": rgb, "r": r, "cx": 0.5, "cy": 0.5,
                         "turn": float(rng.uniform(-TILT, TILT))}]}


def clip_objects(clip, n):
    """The figure of a clip in each of n frames."""
    for i in range(n):
        t = i / max(1, n - 1) - 0.5
        yield dict(clip["objects"][0], cx=clip["mid"][0] + t * clip["step"][0], cy=clip["mid"][1] + t * clip["step"][1])


def clip_masks(clip, n, cells):
    """Figure masks of the n frames (the last one twice if n is odd): uint8 [groups, cells*cells, 128]."""
    m = [figure_mask({"kind": "clip", "objects": [o]}, cells, cells) for o in clip_objects(clip, n)]
    m += m[-1:] * (n % 2)
    return np.stack([np.concatenate(m[i:i + 2], -1) for i in range(0, len(m), 2)])


def render_clip(rng, clip, side, frames=None):
    """uint8 [frames, side, side, 3]"""
    n = frames or clip["frames"]
    sigma = float(rng.uniform(0, 7)) if rng.random() < 0.4 else 0.0
    out = []
    for obj in clip_objects(clip, n):
        canvas = Image.new("RGB", (side, side), clip["bg"])
        paint(canvas, obj)
        px = np.asarray(canvas)
        if sigma:
            px = np.clip(px + rng.normal(0, sigma, px.shape), 0, 255).astype(np.uint8)
        out.append(px)
    return np.stack(out)


# ---- printed words --------------------------------------------------------------------------------------

WORDS = ["cat", "dog", "sun", "map", "key", "box", "tea", "red", "car", "bus", "stop", "open", "exit", "door", "fish", "bird",
         "milk", "tree", "book", "moon"]


def sample_word(rng, aspect=1.0):
    ink = pick(rng, ["black", "white", "blue", "red", "black"])
    rgb = shade(rng, ink)
    for _ in range(50):
        bg_name, bg = background(rng, [(ink, rgb)])
        if abs(sum(bg) - sum(rgb)) > 220:
            break
    word = pick(rng, WORDS)
    return {"kind": "word", "bg_name": bg_name, "bg": bg, "objects": [], "aspect": aspect, "word": word,
            "upper": bool(rng.random() < 0.3), "ink": ink, "rgb": rgb, "width": float(rng.uniform(0.5, 0.9)),
            "cx": float(rng.uniform(0.47, 0.53)), "cy": float(rng.uniform(0.3, 0.7)), "r": 0.3}


def paste_word(canvas, s):
    from PIL import ImageFont
    w, h = canvas.size
    text = s["word"].upper() if s["upper"] else s["word"]
    width = ImageFont.load_default(64).getlength(text) / 64
    font = ImageFont.load_default(max(8, min(s["width"] * w / width, 0.5 * h)))
    ImageDraw.Draw(canvas).text((s["cx"] * w, s["cy"] * h), text, fill=s["rgb"], font=font, anchor="mm")


# ---- supervision ---------------------------------------------------------------------------

def figure_mask(scene, gw, gh):
    """What is figure and what is ground, 8 x 8 values a merged token: uint8 [gh*gw, 64]."""
    canvas = Image.new("L", (gw * 8, gh * 8), 0)
    if scene["kind"] == "digit":
        paste_digit(canvas, dict(scene, rgb=255))
    elif scene["kind"] == "word":
        paste_word(canvas, dict(scene, rgb=255))
    for o in scene["objects"]:
        paint(canvas, dict(o, rgb=255))
    return np.asarray(canvas).reshape(gh, 8, gw, 8).transpose(0, 2, 1, 3).reshape(gh * gw, 64)


def token_labels(scene, gw, gh):
    """Per merged token (row-major gh x gw): figure (0 none, -1 unclear), colour, centre of a figure, digit, mask, and
    where the centre of the token's figure lies (relative x and y; -1 without a figure)."""
    n = gw * gh
    shape = np.zeros(n, np.int64)
    colour = np.full(n, -1, np.int64)
    centre = np.zeros(n, np.int64)
    digit = np.full(n, -1, np.int64)
    where = np.full((n, 2), -1, np.float32)
    cell = 8
    for o in scene["objects"]:
        m = draw_mask((gw * cell, gh * cell), o, o["cx"] * gw * cell, o["cy"] * gh * cell, o["r"] * min(gw, gh) * cell, 1)
        cover = np.asarray(m, dtype=np.float32).reshape(gh, cell, gw, cell).mean((1, 3)).ravel() / 255
        seen, part = cover > 0.12, (cover > 0.01) & (cover <= 0.12)
        shape[part & (shape == 0)] = -1
        shape[seen] = SHAPES.index(o["shape"]) + 1
        where[seen] = o["cx"], o["cy"]
        colour[cover > 0.05] = COLOURS.index(o["colour"])
        centre[min(gh - 1, int(o["cy"] * gh)) * gw + min(gw - 1, int(o["cx"] * gw))] = 1
    if scene["kind"] == "digit":
        x = (np.arange(gw) + 0.5) / gw - scene["cx"]
        y = (np.arange(gh) + 0.5) / gh - scene["cy"]
        inside = ((np.abs(x)[None, :] < scene["r"] * 0.6) & (np.abs(y)[:, None] < scene["r"] * 0.6)).ravel()
        digit[inside] = scene["digit"]
        shape[:] = -1
        centre[:] = -1
    elif scene["kind"] == "word":
        shape[:] = -1
        centre[:] = -1
    elif scene["kind"] == "plain":
        colour[:] = COLOURS.index(scene["bg_name"])
    return shape, colour, centre, digit, figure_mask(scene, gw, gh), where


def object_labels(scene, gw, gh):
    """Which objects a merged token shows, and which have their centre in it: two rows of bit sets (bit i: object i),
    int64 [2, gh*gw]. Every object is shown by the token of its centre at least."""
    out = np.zeros((2, gh * gw), np.int64)
    cell = 8
    for i, o in enumerate(scene["objects"]):
        m = draw_mask((gw * cell, gh * cell), o, o["cx"] * gw * cell, o["cy"] * gh * cell, o["r"] * min(gw, gh) * cell, 1)
        cover = np.asarray(m, dtype=np.float32).reshape(gh, cell, gw, cell).mean((1, 3)).ravel() / 255
        out[0, cover > 0.12] |= 1 << i
        out[:, min(gh - 1, int(o["cy"] * gh)) * gw + min(gw - 1, int(o["cx"] * gw))] |= 1 << i
    return out

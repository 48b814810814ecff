"""Questions about a picture or clip, in varied English, with one short canonical answer each.

`turns(rng, scene, n)` gives n (category, question, answer, Gaze) tuples; only questions with one clear answer are
asked. `accepted(answer)` lists the spellings that count as this answer. A Gaze says which objects one must look at.
"""
import collections
import math

from scenes import COLOURS, SHAPES, pick

# Indices of the objects that a question is about: the one it asks for, the one it is compared with, and those that are
# counted (or looked for); None where the question has no such part.
Gaze = collections.namedtuple("Gaze", "first second counted", defaults=(None, None, None))
PLACES = {(0, 0): "top left", (1, 0): "top", (2, 0): "top right", (0, 1): "left", (1, 1): "center", (2, 1): "right",
          (0, 2): "bottom left", (1, 2): "bottom", (2, 2): "bottom right"}
ALIASES = {"gray": ["grey"], "center": ["centre", "middle"], "1": ["one"], "2": ["two"], "3": ["three"], "4": ["four"], "0": ["zero"]}
PLURAL = {s: s + ("es" if s == "cross" else "s") for s in SHAPES}


def accepted(answer):
    return [answer] + ALIASES.get(answer, [])


def article(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def place(v):
    """0, 1, 2 for a clear third of an axis, None near a border."""
    return 0 if v <= 0.285 else 1 if 0.395 <= v <= 0.605 else 2 if v >= 0.715 else None


def colour_word(rng):
    return "colour" if rng.random() < 0.5 else "color"


def thing(rng):
    return pick(rng, ["shape", "object", "figure", "thing"])


def roughen(rng, q):
    """The small liberties that people take: case, a missing question mark, a polite opening."""
    r = rng.random()
    if r < 0.25:
        q = q[0].lower() + q[1:]
    elif r < 0.30:
        q = q.lower()
    if rng.random() < 0.15:
        q = q.rstrip("?.")
    if rng.random() < 0.05:
        q = pick(rng, ["Please tell me: ", "Look at the picture. ", "Tell me, ", "One question: "]) + q
    return q


def names(scene, obj, shape_ok=True, colour_ok=True):
    """Ways to name this object and no other."""
    objs = scene["objects"]
    out = []
    if shape_ok and colour_ok and sum(o["shape"] == obj["shape"] and o["colour"] == obj["colour"] for o in objs) == 1:
        out.append("the {} {}".format(obj["colour"], obj["shape"]))
    if shape_ok and sum(o["shape"] == obj["shape"] for o in objs) == 1:
        out.append("the " + obj["shape"])
    if colour_ok and sum(o["colour"] == obj["colour"] for o in objs) == 1:
        out.append("the {} {}".format(obj["colour"], "{thing}"))
    return out


def at(scene, obj, other=None):
    """The look at one object, or at one and then another."""
    index = [next(i for i, o in enumerate(scene["objects"]) if o is x) for x in (obj, other) if x is not None]
    return Gaze(*([i] for i in index))


def among(scene, wanted):
    """The look at all objects that `wanted` accepts."""
    return Gaze(counted=[i for i, o in enumerate(scene["objects"]) if wanted(o)])


def name(rng, scene, obj, **kw):
    options = names(scene, obj, **kw)
    return pick(rng, options).replace("{thing}", thing(rng)) if options else None


def extreme(scene, rng):
    """(side word, object) if one object is clearly the outermost one of a side."""
    objs = scene["objects"]
    sides = [("left", "cx", 1), ("right", "cx", -1), ("top", "cy", 1), ("bottom", "cy", -1)]
    rng.shuffle(sides)
    for word, axis, sign in sides:
        s = sorted(objs, key=lambda o: sign * o[axis])
        if len(s) > 1 and sign * (s[1][axis] - s[0][axis]) > 0.13:
            return word, s[0]
    return None, None


def side_phrase(rng, word):
    if word in ("left", "right"):
        return pick(rng, ["on the " + word, "farthest to the " + word, word + "most"])
    return pick(rng, ["at the " + word, "nearest to the " + word])


def q_colour(rng, scene):
    objs, cw = scene["objects"], colour_word(rng)
    kind = scene["kind"]
    if kind == "plain":
        return pick(rng, [cw + "?", "What {} is it?", "What {} is this?", "Which {} is this?", "What is the {}?", "What {} is the picture?",
                          "What is the {} of the picture?", "What {} do you see?", "Name the {}."]).format(cw), scene["bg_name"], Gaze()
    if kind in ("digit", "word"):
        what = {"digit": ["digit", "number"], "word": ["word", "text"]}[kind]
        return pick(rng, ["What {} is the {}?", "Which {} does the {} have?", "{} of the {}?"]).format(cw, pick(rng, what)), scene["ink"], Gaze()
    r = rng.random()
    if r < 0.12 and scene["bg_name"]:
        return pick(rng, ["What {} is the background?", "What is the {} of the background?", "Which {} does the background have?",
                          "background {}?"]).format(cw), scene["bg_name"], Gaze()
    if r < 0.27:
        obj = pick(rng, objs)
        who = name(rng, scene, obj, colour_ok=False) or (name(rng, scene, obj, colour_ok=False) if len(objs) > 1 else "it")
        if who:
            true = rng.random() < 0.5
            c = obj["colour"] if true else pick(rng, [c for c in COLOURS if c != obj["colour"]])
            return "Is {} {}?".format(who, c), "yes" if true else "no", at(scene, obj)
    if len(objs) == 1 and rng.random() < 0.6:
        t = thing(rng)
        return pick(rng, ["{c}?", "What {c} is it?", "What {c} is this?", "What {c} is the {t}?", "What is the {c} of the {t}?", "Which {c} is the {t}?",
                          "What {c} does the {t} have?", "Name the {c} of the {t}.", "What {c} do you see?"]).format(c=cw, t=t), objs[0]["colour"], at(scene, objs[0])
    if rng.random() < 0.25:
        word, obj = extreme(scene, rng)
        if obj:
            return pick(rng, ["What {} is the {} {}?", "Which {} is the {} {}?"]).format(cw, thing(rng), side_phrase(rng, word)), obj["colour"], at(scene, obj)
    for _ in range(4):
        obj = pick(rng, objs)
        who = name(rng, scene, obj, colour_ok=False)
        if who:
            return pick(rng, ["What {c} is {w}?", "What is the {c} of {w}?", "Which {c} is {w}?", "Which {c} does {w} have?", "{c} of {w}?",
                              "Tell me the {c} of {w}.", "What {c} has {w}?"]).format(c=cw, w=who), obj["colour"], at(scene, obj)
    return None


def q_shape(rng, scene):
    objs = scene["objects"]
    if scene["kind"] != "scene" and scene["kind"] != "clip":
        return None
    r = rng.random()
    if r < 0.13:
        true = rng.random() < 0.5
        have = {o["shape"] for o in objs}
        s = pick(rng, sorted(have)) if true else pick(rng, [s for s in SHAPES if s not in have])
        return pick(rng, ["Is there {} in the picture?", "Is there {}?", "Do you see {}?", "Can you see {}?"]).format(article(s)), "yes" if true else "no", among(scene, lambda o: o["shape"] == s)
    if r < 0.22:
        obj = pick(rng, objs)
        who = name(rng, scene, obj, shape_ok=False) or ("it" if len(objs) == 1 else None)
        if who:
            true = rng.random() < 0.5
            s = obj["shape"] if true else pick(rng, [s for s in SHAPES if s != obj["shape"]])
            return "Is {} {}?".format(who, article(s)), "yes" if true else "no", at(scene, obj)
    if len(objs) == 1 and rng.random() < 0.6:
        return pick(rng, ["shape?", "What shape is it?", "What shape is this?", "Which shape is this?", "What shape do you see?", "Which shape is drawn?",
                          "What is the shape?", "Name the shape.", "What figure is it?", "What shape is in the picture?"]), objs[0]["shape"], at(scene, objs[0])
    if rng.random() < 0.3:
        word, obj = extreme(scene, rng)
        if obj:
            return pick(rng, ["Which shape is {}?", "What shape is {}?", "What is the shape {}?"]).format(side_phrase(rng, word)), obj["shape"], at(scene, obj)
    for _ in range(4):
        obj = pick(rng, objs)
        who = name(rng, scene, obj, shape_ok=False)
        if who:
            c = obj["colour"]
            return pick(rng, ["What shape is {w}?", "What is the shape of {w}?", "Which shape is {c}?", "What shape has {w}?", "Which shape does {w} have?",
                              "Tell me the shape of {w}.", "What is the {c} shape?"]).format(w=who, c=c), obj["shape"], at(scene, obj)
    return None


def q_position(rng, scene):
    objs = scene["objects"]
    if scene["kind"] != "scene":
        return None
    if len(objs) > 1 and rng.random() < 0.4:
        a, b = [objs[i] for i in rng.permutation(len(objs))[:2]]
        na, nb = name(rng, scene, a), name(rng, scene, b)
        dx, dy = a["cx"] - b["cx"], a["cy"] - b["cy"]
        if na and nb:
            horizontal = abs(dx) > abs(dy)
            if rng.random() < 0.5 and max(abs(dx), abs(dy)) > 0.2 and max(abs(dx), abs(dy)) > 1.7 * min(abs(dx), abs(dy)):
                ans = ("left" if dx < 0 else "right") if horizontal else ("above" if dy < 0 else "below")
                return pick(rng, ["Where is {a} relative to {b}?", "Where is {a}, seen from {b}?", "Is {a} left, right, above or below {b}?"]).format(a=na, b=nb), ans, at(scene, a, b)
            if abs(dx) > 0.15 and (horizontal or abs(dy) <= 0.15):
                true = rng.random() < 0.5
                side = ("left" if dx < 0 else "right") if true else ("right" if dx < 0 else "left")
                return pick(rng, ["Is {a} to the {s} of {b}?", "Is {a} {s} of {b}?"]).format(a=na, b=nb, s=side), "yes" if true else "no", at(scene, a, b)
            if abs(dy) > 0.15:
                true = rng.random() < 0.5
                side = ("above" if dy < 0 else "below") if true else ("below" if dy < 0 else "above")
                return "Is {a} {s} {b}?".format(a=na, b=nb, s=side), "yes" if true else "no", at(scene, a, b)
    for _ in range(5):
        obj = pick(rng, objs)
        key = (place(obj["cx"]), place(obj["cy"]))
        who = name(rng, scene, obj)
        if len(objs) == 1 and rng.random() < 0.4:
            who = pick(rng, ["it", "the " + thing(rng)])
        if None not in key and who:
            return pick(rng, ["Where is {}?", "Where is {} in the picture?", "In which part of the picture is {}?", "Where do you see {}?", "What is the position of {}?",
                              "position of {}?", "Where can I find {}?", "Whereabouts is {}?"]).format(who), PLACES[key], at(scene, obj)
    return None


def q_count(rng, scene):
    objs = scene["objects"]
    if scene["kind"] not in ("scene", "plain"):
        return None
    r = rng.random()
    if r < 0.5 or not objs:
        w = pick(rng, ["shapes", "objects", "figures", "things"])
        return pick(rng, ["How many {} are there?", "How many {} do you see?", "How many {} are in the picture?", "Count the {}.", "How many {}?",
                          "What is the number of {}?", "How many {} can you count?"]).format(w), str(len(objs)), among(scene, lambda o: True)
    if r < 0.75:
        s = pick(rng, objs)["shape"] if rng.random() < 0.87 else pick(rng, SHAPES)
        look, w = among(scene, lambda o: o["shape"] == s), PLURAL[s]
    else:
        c = pick(rng, objs)["colour"] if rng.random() < 0.87 else pick(rng, COLOURS)
        look, w = among(scene, lambda o: o["colour"] == c), c + " " + pick(rng, ["shapes", "objects", "figures", "things"])
    return pick(rng, ["How many {} are there?", "How many {} do you see?", "How many {} are in the picture?", "Count the {}.", "How many {}?",
                      "What is the number of {}?"]).format(w), str(len(look.counted)), look


def phrase(o):
    return article(o["colour"] + " " + o["shape"])


def q_describe(rng, scene):
    kind, objs = scene["kind"], scene["objects"]
    if kind == "plain":
        a = "A plain {} picture.".format(scene["bg_name"])
    elif kind == "digit":
        a = "A handwritten {}.".format(scene["digit"])
    elif kind == "word":
        a = 'The word "{}".'.format(scene["word"])
    elif kind == "clip":
        a = phrase(objs[0]) + " that moves " + scene["direction"] + "."
        a = a[0].upper() + a[1:]
    else:
        s = sorted(objs, key=lambda o: o["cx"])
        if len(s) > 3 or any(b["cx"] - a["cx"] < 0.1 for a, b in zip(s, s[1:])):
            return None
        parts = [phrase(o) for o in s]
        a = (", ".join(parts[:-1]) + " and " if len(parts) > 1 else "") + parts[-1] + "."
        a = a[0].upper() + a[1:]
    w = "clip" if kind == "clip" else "picture"
    return pick(rng, ["Describe the {}.", "What do you see?", "What is in the {}?", "Describe what you see.", "What does the {} show?", "Describe this {}."]).format(w), a, Gaze()


def q_digit(rng, scene):
    if scene["kind"] != "digit":
        return None
    return pick(rng, ["What digit is this?", "Which digit is it?", "What number is this?", "Which digit do you see?", "digit?", "Which number is written here?",
                      "What digit is in the picture?", "What number do you see?", "Read the digit.", "Which digit is this?", "What is the digit?",
                      "Which handwritten digit is this?"]), str(scene["digit"]), Gaze()


def q_word(rng, scene):
    if scene["kind"] != "word":
        return None
    return pick(rng, ["What word is this?", "Which word is written here?", "Read the word.", "What does it say?", "What is written in the picture?", "word?",
                      "What does the text say?", "Which word do you see?"]), scene["word"], Gaze()


def q_direction(rng, scene):
    if scene["kind"] != "clip":
        return None
    who = pick(rng, ["it", "the " + thing(rng), "the " + scene["objects"][0]["shape"],
                     "the {} {}".format(scene["objects"][0]["colour"], scene["objects"][0]["shape"])])
    if rng.random() < 0.12:
        true = rng.random() < 0.5
        d = scene["direction"] if true else pick(rng, [x for x in ("left", "right", "up", "down") if x != scene["direction"]])
        return "Does {} move {}?".format(who, d), "yes" if true else "no", Gaze()
    return pick(rng, ["Which way does {} move?", "In which direction does {} move?", "Which direction is {} moving?", "Where is {} going?", "direction?",
                      "Which way is {} moving?", "What is the direction of movement?", "In what direction is {} moving?", "Which way does {} go?",
                      "Where does {} move?"]).format(who), scene["direction"], Gaze()


MAKERS = {"colour": q_colour, "shape": q_shape, "position": q_position, "count": q_count, "describe": q_describe,
          "digit": q_digit, "word": q_word, "direction": q_direction}
MIX = {"scene": [("colour", 0.18), ("shape", 0.22), ("position", 0.31), ("count", 0.26), ("describe", 0.03)],
       "plain": [("colour", 0.8), ("count", 0.12), ("describe", 0.08)],
       "digit": [("digit", 0.8), ("colour", 0.12), ("describe", 0.08)],
       "word": [("word", 0.8), ("colour", 0.12), ("describe", 0.08)],
       "clip": [("direction", 0.62), ("colour", 0.12), ("shape", 0.14), ("describe", 0.12)]}


def ask(rng, scene, category):
    """(question, answer, Gaze) of this category, or None."""
    if not scene["objects"] and category in ("shape", "position"):
        return None
    made = MAKERS[category](rng, scene)
    return None if made is None else (roughen(rng, made[0].strip()[0].upper() + made[0].strip()[1:]), *made[1:])


def turns(rng, scene, n):
    cats, weights = zip(*MIX[scene["kind"]])
    out, seen = [], set()
    for _ in range(40):
        c = cats[int(rng.choice(len(cats), p=weights))]
        made = ask(rng, scene, c)
        if made and made[0].lower() not in seen:
            seen.add(made[0].lower())
            out.append((c, *made))
            if len(out) == n:
                break
    return out

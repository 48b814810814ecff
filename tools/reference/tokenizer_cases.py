#!/usr/bin/env python3
"""Random tokenizer cases against the reference (PyPI `tokenizers`).

write    makes the golden file of the tests:
           python tools/reference/tokenizer_cases.py write tests/data/processor/tokenizer.json \
               tests/data/text/tokenizer_random.json --count 400 --seed 1
compare  runs strings through `sightline tokenize MODEL --jsonl` and through the reference, prints what differs:
           python tools/reference/tokenizer_cases.py compare DIR --sightline build/sightline --count 20000
         with --all-code-points every code point of Unicode in several contexts instead of random strings.
DIR is a directory with a tokenizer.json.
"""
import argparse
import json
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

from tokenizers import Tokenizer

SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [c for c in range(0x110000) if c not in SURROGATES]
WHITE = [chr(c) for c in (9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, 0x180E, 0x2000, 0x2009, 0x2028, 0x2029, 0x202F,
                          0x205F, 0x3000, 0x200B, 0xFEFF)]
CONTRACTIONS = ["'s", "'S", "'t", "'re", "'Re", "'VE", "'ll", "'lL", "'d", "'M", "'\u017f", "\u2019s", "'", "''s"]
WORDS = ("the color image_pad im_start assistant user think tool_call function parameter http://x.y/z 3.14 1,000 "
         "def foo(): return None -> != == {} [] \\n \\t").split()
# Scripts and blocks: CJK, Hangul syllables and jamo, kana, pictures, Cyrillic, Hebrew and Arabic, Indic, Thai to
# Myanmar, Latin, combining marks, the supplementary planes with letters younger than many tables.
BLOCKS = [(0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1100, 0x11FF), (0x3040, 0x30FF), (0x1F300, 0x1FAFF), (0x400, 0x52F),
          (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0x109F), (0xC0, 0x24F), (0x300, 0x36F), (0x10000, 0x1FFFF),
          (0x20000, 0x323AF)]


class Strings:
    """Random strings, each mixed from a few kinds of atoms."""

    def __init__(self, seed, added):
        self.random = random.Random(seed)
        pick = self.random.choice
        below = self.random.randint
        marks = [chr(c) for c in CODE_POINTS if unicodedata.category(chr(c))[0] == "M"]
        numbers = [chr(c) for c in CODE_POINTS if unicodedata.category(chr(c))[0] == "N"]
        split = [unicodedata.normalize("NFD", chr(c)) for c in range(0xC0, 0x30000) if c not in SURROGATES]
        split = [s for s in split if len(s) > 1]
        self.atoms = [
            lambda: chr(below(32, 126)), lambda: chr(below(0, 31)), lambda: pick(WORDS), lambda: pick(CONTRACTIONS),
            lambda: pick(WHITE) * pick([1, 1, 2, 3, 8]), lambda: pick([" ", "\n", "\r\n", "\t"]) * below(1, 5),
            lambda: pick(marks) * pick([1, 1, 2, 5]), lambda: pick(numbers), lambda: pick(split),
            lambda: pick(["\u200d", "\ufe0f", "\U0001f3fb", "\u20e3"]), lambda: chr(pick(CODE_POINTS)),
            lambda: pick(added), lambda: pick(added)[: below(1, 12)], lambda: pick(added)[below(0, 12):],
            lambda: pick("<|>/_") * below(1, 3),
        ]
        for first, last in BLOCKS:
            self.atoms.append(lambda first=first, last=last: chr(below(first, last)))

    def make(self, longest):
        atoms = self.random.sample(self.atoms, self.random.randint(1, 6))
        return "".join(self.random.choice(atoms)() for _ in range(self.random.randint(1, longest)))


def code_point_strings():
    """Every code point between letters, spaces, digits, marks and line ends, 32 to a string."""
    forms = [lambda c: f"a{c}b {c} 1{c}.{c}", lambda c: f"e{c}\u0301\u0316{c}\u0334x", lambda c: f"'{c}  {c}{c}\r{c}",
             lambda c: f"{c}\u0307{c}\u0307\u0315{c}\u11a8"]
    step = 32
    for form in forms:
        for i in range(0, len(CODE_POINTS), step):
            yield "\n".join(form(chr(c)) for c in CODE_POINTS[i:i + step])


def load(path):
    reference = Tokenizer.from_file(str(path))
    added = [token["content"] for token in json.loads(path.read_text(encoding="utf-8"))["added_tokens"]]
    return reference, added


def write(args):
    reference, added = load(Path(args.tokenizer))
    strings = Strings(args.seed, added)
    lines = []
    for _ in range(args.count):
        text = strings.make(longest=12)
        ids = reference.encode(text, add_special_tokens=False).ids
        lines.append(json.dumps([text, ids], separators=(",", ":")))
    made_by = f"tools/reference/tokenizer_cases.py write --count {args.count} --seed {args.seed}"
    body = ",\n".join(lines)
    Path(args.out).write_text(f'{{"made_by": "{made_by}",\n"cases": [\n{body}\n]}}\n', encoding="utf-8")


def compare(args):
    reference, added = load(Path(args.model) / "tokenizer.json")
    strings = Strings(args.seed, added)
    texts = list(code_point_strings()) if args.all_code_points else [strings.make(30) for _ in range(args.count)]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    run = subprocess.run([args.sightline, "tokenize", args.model, "--jsonl"], input=lines.encode(),
                         stdout=subprocess.PIPE, check=True)
    # Only "\n" ends a line: the pieces may hold other characters that Python counts as line ends.
    ours = [json.loads(line)["ids"] for line in run.stdout.decode().split("\n") if line]
    if len(ours) != len(texts):
        sys.exit(f"{len(texts)} texts in, {len(ours)} lines out")
    different = 0
    for text, ids in zip(texts, ours):
        expected = reference.encode(text, add_special_tokens=False).ids
        if ids != expected:
            different += 1
            print(f"{ascii(text)}\n  reference {expected}\n  sightline {ids}")
    print(f"{len(texts)} strings, {different} different")
    sys.exit(1 if different else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write")
    writer.add_argument("tokenizer")
    writer.add_argument("out")
    writer.add_argument("--count", type=int, default=400)
    writer.add_argument("--seed", type=int, default=1)
    writer.set_defaults(run=write)
    comparer = commands.add_parser("compare")
    comparer.add_argument("model")
    comparer.add_argument("--sightline", default="build/sightline")
    comparer.add_argument("--count", type=int, default=20000)
    comparer.add_argument("--seed", type=int, default=2)
    comparer.add_argument("--all-code-points", action="store_true")
    comparer.set_defaults(run=compare)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()

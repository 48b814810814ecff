#!/usr/bin/env python3
"""Fails on files against the rules of CONTRIBUTING.md.

usage: tools/check_tree.py
Source files: at most 500 lines, a comment on the first lines that says what lives there, no open-work marks. Every text
file: no path of somebody's machine. Markdown: every relative link leads to a file that exists.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 500
SOURCE = {".cpp", ".hpp", ".h", ".py", ".sh", ".cmake", ".js", ".mjs", ".ts", ".tsx", ".css"}
SOURCE_NAMES = {"CMakeLists.txt", "dev", "run"}
TEXT = SOURCE | {".md", ".txt", ".in", ".json", ".yml", ".yaml", ".toml", ""}
OPEN_WORK = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/\w")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
HEADER = re.compile(r"^(//|#|\"\"\"|/\*|<!--)")


def tracked_files():
    """Files under version control, or all but the build folder where there is no git."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        return [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in ROOT.rglob("*") if "build" not in path.relative_to(ROOT).parts]


def is_data(name):
    """Captured files and seeds are data, whatever their suffix."""
    return name.startswith(("tests/data/", "fuzz/corpus/", "demo/checkpoint/", "demo/heldout/"))


def check_source(name, lines):
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines, at most {MAX_LINES}"
    first = next((line for line in lines if line.strip() and not line.startswith("#!")), "")
    if not HEADER.match(first):
        yield f"{name}:1: expected a comment that says what lives here"
    for number, line in enumerate(lines, 1):
        if OPEN_WORK.search(line):
            yield f"{name}:{number}: open-work mark: {line.strip()}"


def check_text(name, path, lines):
    fenced = False  # inside a block of code, where brackets are no links
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        if MACHINE_PATH.search(line):
            yield f"{name}:{number}: a path of one machine: {line.strip()}"
        for target in LINK.findall(line) if path.suffix == ".md" and not fenced else ():
            if not (path.parent / target).exists():
                yield f"{name}:{number}: link to {target}, which does not exist"


def main():
    complaints, count = [], 0
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if is_data(name) or path.is_symlink() or not path.is_file() or path.suffix not in TEXT:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        count += 1
        complaints += check_text(name, path, lines)
        if path.suffix in SOURCE or path.name in SOURCE_NAMES:
            complaints += check_source(name, lines)
    print("\n".join(complaints) if complaints else f"files: {count} checked")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

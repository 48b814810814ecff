#!/usr/bin/env python3
"""Runs clang-tidy-19 over src/, only where something changed since the last clean run.

usage: tools/tidy.py BUILD_FOLDER JOBS
A file is clean for ever under the same file, project headers, compile command, .clang-tidy and clang-tidy: the hash of
these is kept as an empty file in $XDG_CACHE_HOME/sightline-tidy (~/.cache without it), which all checkouts share like
the compiler's cache. The headers come from the dependency log of Ninja, so BUILD_FOLDER
must be built.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sightline-tidy"
TIDY = "clang-tidy-19"


def dependencies(build):
    """{object file: project files that it was compiled from} by `ninja -t deps`."""
    log = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    files, current = {}, None
    for line in log.splitlines():
        if line.startswith("    ") and current is not None:
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                files[current].append(path)
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            files[current] = []
    return files


def fingerprint(entry, files, fixed):
    """Hash of everything that a run over this entry of compile_commands.json depends on."""
    sha = hashlib.sha256(fixed)
    sha.update(entry["command"].replace(str(ROOT), "").encode())
    for path in sorted({pathlib.Path(entry["file"]), *files}):
        sha.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()


def check(build, entry, mark):
    """Runs clang-tidy on one file. Returns its complaints, empty when clean."""
    # The compile commands are gcc's; clang reports std::stable_sort of libstdc++ 12, as in cmake/layers.cmake.
    quiet = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]
    run = subprocess.run(
        [TIDY, "--quiet", "-p", str(build), *quiet, entry["file"]], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        mark.touch()
        return ""
    return run.stdout + (run.stderr if not run.stdout.strip() else "")


def main():
    build, jobs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    fixed = version + (ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()
    depends = dependencies(build)
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    todo = []
    total = 0
    for entry in entries:
        if not pathlib.Path(entry["file"]).is_relative_to(ROOT / "src"):
            continue
        total += 1
        mark = CACHE / fingerprint(entry, depends.get(entry.get("output", ""), []), fixed)
        if not mark.exists():
            todo.append((entry, mark))
    complaints = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for text in pool.map(lambda item: check(build, *item), todo):
            if text:
                complaints += 1
                print(text, flush=True)
    print(f"clang-tidy: {total} files, {len(todo)} checked, {complaints} with complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

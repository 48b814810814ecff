#!/usr/bin/env python3
"""Accuracy of the engine on the held-out questions of the demo checkpoint. Needs only Python's standard library.

usage: score.py BINARY FOLDER [--model MODEL] [--wrong OUT.jsonl] [option of `sightline run`]...
FOLDER holds questions.jsonl: lines with id, category, messages (pictures relative to FOLDER) and accept, the answers
that count. An answer counts if it equals one of them, both lower-cased and without white space and punctuation at their
ends.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys


def normalise(text):
    return text.strip().strip(".,;:!?\"'`").strip().lower()


def ask(binary, model, folder, questions, options):
    """Answer lines of `sightline run MODEL --jsonl` by the id of the question."""
    requests = "".join(json.dumps({"id": q["id"], "messages": q["messages"]}) + "\n" for q in questions)
    command = [str(binary), "run", model, "--jsonl", "-", "--temperature", "0", "--max-tokens", "40", *options]
    run = subprocess.run(command, cwd=folder, input=requests, stdout=subprocess.PIPE, text=True, check=False)
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        answers[answer["id"]] = answer
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", default="demo", help="checkpoint directory, absolute (default: the demo)")
    parser.add_argument("--wrong", type=pathlib.Path, help="write the questions that were answered wrongly")
    arguments, options = parser.parse_known_args()
    lines = (arguments.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    answers = ask(arguments.binary.resolve(), arguments.model, arguments.folder, questions, options)
    right, total, wrong = collections.Counter(), collections.Counter(), []
    for question in questions:
        text = answers.get(question["id"], {}).get("text") or ""
        for group in (question["category"], "all"):
            total[group] += 1
            right[group] += normalise(text) in map(normalise, question["accept"])
        if normalise(text) not in map(normalise, question["accept"]):
            wrong.append({**question, "answer": text})
    for group in sorted(total, key=lambda name: (name == "all", name)):
        print(f"{group:10s} {right[group]:5d} of {total[group]:5d}  {100 * right[group] / total[group]:5.1f} %")
    if arguments.wrong:
        arguments.wrong.write_text("".join(json.dumps(entry) + "\n" for entry in wrong), encoding="utf-8")
    missing = len(questions) - len(answers)
    if missing:
        print(f"{missing} questions have no answer", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

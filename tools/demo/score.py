#!/usr/bin/env python3
"""Accuracy of the engine on the held-out questions of the demo checkpoint. Needs only Python's standard library.

usage: score.py BINARY FOLDER [--model MODEL] [--wrong OUT.jsonl] [option of `sightline run`]...
FOLDER holds questions.jsonl, clips.jsonl and files.jsonl (the last two may be missing): lines with id, category,
messages (pictures and videos relative to FOLDER) and accept, the answers that count. An answer counts if it equals one of
them, both lower-cased and without white space and punctuation at their ends.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys


def normalise(text):
    return text.strip().strip(".,;:!?\"'`").strip().lower()


def read_questions(folder):
    questions = []
    for name in ("questions.jsonl", "clips.jsonl", "files.jsonl"):
        if (folder / name).is_file():
            questions += [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    for question in questions:
        for message in question["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else []:
                # The set notes the rate at which a clip was drawn. Of frame pictures that is what "fps" means to the
                # engine too; a file says its rate itself, and "fps" would ask for so many frames a second of it.
                if isinstance(part.get("video"), str):
                    part.pop("fps", None)
    return questions


def ask(binary, model, folder, questions, options):
    """Answer lines of `sightline run MODEL --jsonl` by the id of the question."""
    requests = "".join(json.dumps({"id": q["id"], "messages": q["messages"]}) + "\n" for q in questions)
    command = [str(binary), "run", model, "--jsonl", "-", "--temperature", "0", "--max-tokens", "40", *options]
    run = subprocess.run(command, cwd=folder, input=requests, stdout=subprocess.PIPE, text=True, check=False)
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        answers[answer["id"]] = answer
    if questions and not answers:
        sys.exit(
            f"score.py: {binary} run {model}: expected answer lines, found none (exit code {run.returncode}); a binary "
            "outside of its build folder does not find 'demo': name the checkpoint with --model"
        )
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", default="demo", help="checkpoint directory, absolute (default: the demo)")
    parser.add_argument("--wrong", type=pathlib.Path, help="write the questions that were answered wrongly")
    arguments, options = parser.parse_known_args()
    questions = read_questions(arguments.folder)
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
        print(f"{group:14s} {right[group]:5d} of {total[group]:5d}  {100 * right[group] / total[group]:5.1f} %")
    if arguments.wrong:
        arguments.wrong.write_text("".join(json.dumps(entry) + "\n" for entry in wrong), encoding="utf-8")
    missing = len(questions) - len(answers)
    if missing:
        print(f"{missing} questions have no answer", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Times sightline beside llama.cpp, transformers and OpenVINO: the same checkpoint, picture and prompt, in turn A B A B.

usage: peers.py BINARY MODEL WORK_DIR [--rounds N] [--picture WxH] [--prompt N] [--answer N] [--first N] [--isa avx2] [--json FILE]

MODEL is a Qwen3.5 checkpoint directory (weights may be random: only time counts). WORK_DIR keeps what takes long: the
source package of llama-cpp-python from PyPI, which holds llama.cpp, its build, MODEL converted and quantised by
llama.cpp's own tools, and an environment with OpenVINO (which needs an older transformers) with MODEL exported by optimum-intel,
weights in 8 bits. The converter and the transformers runs need this Python to have torch, transformers and numpy.
With --isa avx2 a newer machine is held to AVX2: sightline's set of that name, a llama.cpp built without more, and torch by
the variables that its libraries read. "First" is the time of a whole process, from its start to its end after the first token of a
prompt of --first tokens, files in memory; of llama.cpp it is its benchmark, which reads no tokenizer and warms up nothing.

Prints a line per measurement, then a table of medians with ratios, in Markdown. Nothing is compared across rounds of
different machines or times: a ratio is formed from the medians of one call of this program.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tarfile
import time
import zlib

PACKAGE = "llama-cpp-python==0.3.36"
TARGETS = ["llama-bench", "llama-mtmd-cli", "llama-quantize"]
OPENVINO = ["openvino==2026.4.1", "optimum-intel==2.2.0", "nncf==3.4.0", "transformers==5.2.0", "torch==2.13.0"]
HELD_TO_AVX2 = {"SIGHTLINE_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
QUANTISED = ["Q8_0", "Q4_0", "Q4_K_M"]


def call(command, **options):
    """Standard output and error of a command together; the end of it in an exception if it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def seconds_of(command):
    start = time.monotonic()
    call(command)
    return time.monotonic() - start


def write_png(path, width, height):
    """A picture of noise: its pixels do not change the work."""
    rows = b"".join(b"\0" + os.urandom(3 * width) for _ in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


class Llama:
    """llama.cpp, built once in the work folder, and the model in its formats."""

    def __init__(self, work, model, threads, isa):
        self.work, self.threads = work, threads
        sources = list(work.glob("llama_cpp_python-*/vendor/llama.cpp"))
        if not sources:
            print("fetching", PACKAGE, flush=True)
            call([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", work, PACKAGE])
            with tarfile.open(next(work.glob("llama_cpp_python-*.tar.gz"))) as package:
                package.extractall(work, filter="data")
            sources = list(work.glob("llama_cpp_python-*/vendor/llama.cpp"))
        self.source = sources[0]
        build = self.source / (f"build-{isa}" if isa else "build")
        self.programs = build / "bin"
        if not all((self.programs / target).exists() for target in TARGETS):
            print("building llama.cpp", flush=True)
            # What is not native is AVX2 with FMA, F16C and BMI2, and nothing above.
            call(["cmake", "-S", self.source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DGGML_NATIVE={'OFF' if isa else 'ON'}",
                  "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF"])
            call(["ninja", "-C", build, *TARGETS])
        self.prepare(model)

    def file(self, kind):
        return self.work / f"{kind}.gguf"

    def prepare(self, model):
        convert = [sys.executable, self.source / "convert_hf_to_gguf.py", model]
        environment = {**os.environ, "PYTHONPATH": str(self.source / "gguf-py")}
        if not self.file("BF16").exists():
            call([*convert, "--outfile", self.file("BF16"), "--outtype", "bf16"], env=environment)
        if not self.file("tower").exists():
            call([*convert, "--mmproj", "--outfile", self.file("tower"), "--outtype", "f16"], env=environment)
        for kind in QUANTISED:
            if not self.file(kind).exists():
                call([self.programs / "llama-quantize", self.file("BF16"), self.file(kind), kind, self.threads])

    def text(self, kind, prompt, answer):
        """Tokens per second of a prompt, and of an answer after a prompt of the same length."""
        lines = json.loads(re.search(r"^\[.*^\]", call([
            self.programs / "llama-bench", "-m", self.file(kind), "-t", self.threads, "-p", prompt, "-n", answer, "-d", 0, "-r", 2, "-o", "json"]),
            re.S | re.M)[0])
        rates = {("prompt" if line["n_prompt"] else "answer"): line["avg_ts"] for line in lines}
        return {"prompt": rates["prompt"], "answer": rates["answer"]}

    def first(self, prompt):
        return {"first": seconds_of([self.programs / "llama-bench", "-m", self.file("BF16"), "-t", self.threads, "-p", prompt, "-n", 0,
                                     "--no-warmup", "-r", 1])}

    def picture(self, path):
        """Seconds of the vision tower."""
        out = call([self.programs / "llama-mtmd-cli", "-m", self.file("BF16"), "--mmproj", self.file("tower"), "--image", path, "-p", "?",
                    "-n", 1, "-t", self.threads, "-c", 2048])
        found = re.search(r"(?:encoded|encoding done) in (\d+) ms", out)
        if not found:
            raise SystemExit("llama-mtmd-cli gave no time for the picture:\n" + out[-2000:])
        return {"picture": int(found[1]) / 1000}


TRANSFORMERS = r"""
import json, sys, time, torch
from transformers import Qwen3_5ForConditionalGeneration
folder, dtype, (threads, width, height, prompt, answer) = sys.argv[1], getattr(torch, sys.argv[2]), map(int, sys.argv[3:])
torch.set_num_threads(threads)
model = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=dtype).eval()
vision = model.config.vision_config
side = vision.patch_size
grid = torch.tensor([[1, height // side, width // side]])
pixels = torch.rand(int(grid.prod()), 3 * vision.temporal_patch_size * side * side, dtype=dtype)
ids = torch.randint(0, 1000, (1, prompt))
def seconds(run):
    start = time.perf_counter(); run(); return time.perf_counter() - start
with torch.inference_mode():
    model.model.visual(pixels, grid_thw=grid)
    picture = seconds(lambda: model.model.visual(pixels, grid_thw=grid))
    model(input_ids=ids[:, :64])
    kept = []
    first = seconds(lambda: kept.append(model(input_ids=ids, use_cache=True, logits_to_keep=1)))
    cache = kept[0].past_key_values
    def steps():
        for _ in range(answer): model(input_ids=ids[:, :1], past_key_values=cache, use_cache=True)
    rest = seconds(steps)
print(json.dumps({"picture": picture, "prompt": prompt / first, "answer": answer / rest}))
"""


def transformers(model, dtype, threads, size, prompt, answer):
    out = call([sys.executable, "-c", TRANSFORMERS, model, dtype, threads, *size, prompt, answer])
    return json.loads(out.strip().splitlines()[-1])


OPENVINO_RUN = r"""
import json, sys, time
import numpy
import openvino
from openvino import opset13
folder, rounded, (threads, width, height, prompt, answer) = sys.argv[1], sys.argv[2] == "rounded", map(int, sys.argv[3:])
options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", **({} if rounded else {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})}
core = openvino.Core()
def load(name):
    model = core.read_model(f"{folder}/openvino_{name}_model.xml")
    if name == "language":
        node = model.output("logits").get_node().input_value(0).get_node()
        while node.get_type_name() != "MatMul":
            node = node.input_value(0).get_node()
        # Logits of the last token alone, as OpenVINO GenAI cuts its models.
        last = opset13.slice(node.input_value(0), numpy.int64([-1]), numpy.int64([2**31 - 1]), numpy.int64([1]), numpy.int64([1]))
        node.input(0).replace_source_output(last.output(0))
    return core.compile_model(model, "CPU", options).create_infer_request()
config = json.load(open(folder + "/config.json"))
side, frames, hidden = config["vision_config"]["patch_size"], config["vision_config"]["temporal_patch_size"], config["text_config"]["hidden_size"]
turned = config["vision_config"]["hidden_size"] // config["vision_config"]["num_heads"] // 2
count = width // side * (height // side)
random = numpy.random.default_rng(0).standard_normal
def floats(*shape):
    return random(shape, dtype=numpy.float32)
patches, merger, language = load("vision_embeddings"), load("vision_embeddings_merger"), load("language")
pixels = floats(count, 3 * frames * side * side)
rest = {"attention_mask": numpy.zeros((1, count, count), numpy.float32), "rotary_pos_emb": floats(count, turned)}
def picture():
    features = patches.infer({"hidden_states": pixels})["last_hidden_state"]
    merger.infer({"hidden_states": features, **rest})
seen = 0
def tokens(n):
    global seen
    seen += n
    positions = numpy.broadcast_to(numpy.arange(seen - n, seen), (4, 1, n))
    language.infer({"inputs_embeds": floats(1, n, hidden), "attention_mask": numpy.ones((1, seen), numpy.int64),
                    "position_ids": positions.astype(numpy.int64), "beam_idx": numpy.zeros(1, numpy.int32)})
def start():
    global seen
    seen = 0
    language.reset_state()
def seconds(run):
    begin = time.perf_counter(); run(); return time.perf_counter() - begin
picture(); start(); tokens(prompt)
pictures = [seconds(picture) for _ in range(2)]
prompts, answers = [], []
for _ in range(2):
    start(); prompts.append(seconds(lambda: tokens(prompt)))
    answers.append(seconds(lambda: [tokens(1) for _ in range(answer)]))
print(json.dumps({"picture": sum(pictures) / 2, "prompt": prompt * 2 / sum(prompts), "answer": answer * 2 / sum(answers)}))
"""


class OpenVino:
    """OpenVINO's tower and language model, called as transformers' are. Its default rounds activations to 8 bits where the
    processor multiplies such; without that they are bfloat16 or float32, as it chooses."""

    def __init__(self, work, model, threads):
        self.threads, self.folder = threads, work / "openvino-int8"
        self.python = work / "openvino" / "bin" / "python"
        if not self.python.exists():
            print("fetching OpenVINO", flush=True)
            call([sys.executable, "-m", "venv", work / "openvino"])
            call([self.python, "-m", "pip", "-q", "install", *OPENVINO])
        if not (self.folder / "openvino_language_model.bin").exists():
            print("exporting for OpenVINO", flush=True)
            call([self.python.parent / "optimum-cli", "export", "openvino", "-m", model, "--task", "image-text-to-text", "--weight-format", "int8",
                  self.folder])

    def run(self, activations, size, prompt, answer):
        out = call([self.python, "-c", OPENVINO_RUN, self.folder, activations, self.threads, *size, prompt, answer])
        return json.loads(out.strip().splitlines()[-1])


def multiplies_bfloat16():
    """True where torch's bfloat16 is more than a detour to float32, which takes minutes on other processors."""
    flags = pathlib.Path("/proc/cpuinfo")
    return flags.exists() and re.search(r"\b(avx512_bf16|amx_bf16)\b", flags.read_text()) is not None


def sightline(binary, model, precision, threads, size, prompt, answer, tower="stored"):
    out = json.loads(call([binary, "bench", model, "--json", "--runs", 2, "--threads", threads, "--precision", precision,
                           "--vision-precision", tower, "--image", f"{size[0]}x{size[1]}", "--prompt", prompt, "--answer-after", 16, "--answer",
                           answer]))
    stages = {line["stage"]: line for line in out["lines"]}
    return {"picture": stages["picture"]["median_seconds"], "prompt": stages["prompt"]["tokens_per_second"],
            "answer": stages["answer"]["tokens_per_second"], "peak_GFLOPs": out["limits"]["flops_per_second"] / 1e9,
            "reading_GBs": out["limits"]["read_bytes_per_second"] / 1e9, "memory_GiB": out["peak_memory_bytes"] / 2**30}


def question_of(binary, model, tokens):
    """A question that makes a prompt of so many tokens."""
    def count(words):
        out = call([binary, "prompt", model, " ".join(["word"] * words), "--json"])
        return json.loads(out)["tokens"]
    one, eleven = count(1), count(11)
    return " ".join(["word"] * (1 + (tokens - one) * 10 // (eleven - one)))


def first_token(binary, model, threads, question):
    return {"first": seconds_of([binary, "run", model, question, "--max-tokens", 1, "--threads", threads, "--precision", "bf16"])}


COLUMNS = {"picture": ("picture, s", 2), "prompt": ("prompt, tokens/s", 1), "answer": ("answer, tokens/s", 1), "first": ("first token, s", 2)}
SECONDS = ("picture", "first")


def table(medians):
    lines = ["| | " + " | ".join(title for title, _ in COLUMNS.values()) + " |", "| --- " * (1 + len(COLUMNS)) + "|"]
    for name, values in medians.items():
        cells = [f"{values[key]:.{digits}f}" if key in values else "" for key, (_, digits) in COLUMNS.items()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


COMPARED = [
    ("sightline bf16", ["llama.cpp BF16"], COLUMNS),
    ("sightline bf16", ["transformers float32", "transformers bfloat16", "OpenVINO int8, float activations"], ["picture", "prompt"]),
    ("sightline int8", ["llama.cpp Q8_0"], ["prompt", "answer"]),
    ("sightline int8, tower int8", ["OpenVINO int8"], ["picture", "prompt", "answer"]),
    ("sightline int4", ["llama.cpp Q4_0", "llama.cpp Q4_K_M"], ["prompt", "answer"]),
]


def ratio(medians, ours, theirs, key):
    """How many times as fast as the best of the others."""
    values = [medians[name][key] for name in theirs if key in medians.get(name, {})]
    if not values or key not in medians[ours]:
        return None
    return min(values) / medians[ours][key] if key in SECONDS else medians[ours][key] / max(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--picture", default="640x480")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--answer", type=int, default=16)
    parser.add_argument("--first", type=int, default=80, help="tokens of the prompt whose first token is timed from the program's start")
    parser.add_argument("--isa", choices=["avx2"], help="hold every program to these instructions")
    parser.add_argument("--json", type=pathlib.Path, help="write every measurement here")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    size = tuple(int(part) for part in arguments.picture.split("x"))
    threads = len(os.sched_getaffinity(0))
    if arguments.isa:
        os.environ.update(HELD_TO_AVX2)
    llama = Llama(arguments.work, arguments.model, threads, arguments.isa)
    try:
        openvino = OpenVino(arguments.work, arguments.model, threads)
    except SystemExit as error:
        openvino = None
        print(f"OpenVINO is left out: {error}", flush=True)
    question = question_of(arguments.binary, arguments.model, arguments.first)
    picture = arguments.work / f"{arguments.picture}.png"
    if not picture.exists():
        write_png(picture, *size)
    work = (arguments.prompt, arguments.answer)
    runners = {
        "sightline bf16": lambda: {**sightline(arguments.binary, arguments.model, "bf16", threads, size, *work),
                                   **first_token(arguments.binary, arguments.model, threads, question)},
        "llama.cpp BF16": lambda: {**llama.picture(picture), **llama.text("BF16", *work), **llama.first(arguments.first)},
        "transformers float32": lambda: transformers(arguments.model, "float32", threads, size, *work),
        "sightline int8": lambda: sightline(arguments.binary, arguments.model, "int8", threads, size, *work),
        "sightline int8, tower int8": lambda: sightline(arguments.binary, arguments.model, "int8", threads, size, *work, tower="int8"),
        "llama.cpp Q8_0": lambda: llama.text("Q8_0", *work),
        "sightline int4": lambda: sightline(arguments.binary, arguments.model, "int4", threads, size, *work),
        "llama.cpp Q4_0": lambda: llama.text("Q4_0", *work),
        "llama.cpp Q4_K_M": lambda: llama.text("Q4_K_M", *work),
    }
    if multiplies_bfloat16() and not arguments.isa:
        runners["transformers bfloat16"] = lambda: transformers(arguments.model, "bfloat16", threads, size, *work)
    if openvino:
        runners["OpenVINO int8"] = lambda: openvino.run("rounded", size, *work)
        runners["OpenVINO int8, float activations"] = lambda: openvino.run("floats", size, *work)
    seen = {name: [] for name in runners}
    for number in range(arguments.rounds):
        for name, run in runners.items():
            seen[name].append(run())
            print(f"round {number + 1}: {name}: " + ", ".join(f"{k} {v:.2f}" for k, v in seen[name][-1].items()), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(seen, indent=1))
    medians = {name: {key: statistics.median(one[key] for one in all_) for key in all_[0]} for name, all_ in seen.items()}
    print("\n" + table(medians) + "\n")
    for ours, theirs, keys in COMPARED:
        found = {key: ratio(medians, ours, theirs, key) for key in keys}
        print(f"{ours} against the best of {', '.join(theirs)}: " +
              ", ".join(f"{key} {value:.2f} x as fast" for key, value in found.items() if value))


if __name__ == "__main__":
    main()

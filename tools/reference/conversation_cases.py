"""Writes random conversations and what the published chat templates make of them, in the format of chat_template.json.

Conversations have tools, reasoning, tool calls with all kinds of values, several parts, pieces of control tokens, odd white
space, and now and then a fault that the template reports.

Run:  python tools/reference/conversation_cases.py tests/data/text/chat_conversations.json 150 1
      (file, number of cases, seed; templates are read from tests/data/processor)
More cases than the checked-in ones: write them anywhere and run the test with SIGHTLINE_CHAT_CASES=FILE.
Needs transformers (5.24.0 was used) and jinja2 (3.1.6) from PyPI.
"""

import json
import random
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

TEMPLATES = ["chat_template.jinja", "chat_template_4b.jinja"]
PIECES = [
    "Hi", " ", "\n", "\t", "\u3000", "\u00a0", "\u2028", "\x1c", "<think>", "</think>", "<|im_end|>", "<|im_start|>", "user", "assistant",
    "<|image_pad|>", "<|vision_start|>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<function=f>", "</function>",
    "</parameter>", "2+2?", "é", "城市", "😀", "'", '"', "\\", "{{ x }}", "{% if %}", "<b>&amp;</b>", "%s", "0", "None", "\r\n", "e\u0301", "",
]


def text(rng, most=6):
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, most)))


def value(rng, depth=0):
    kinds = ["str", "int", "float", "bool", "none"] + (["list", "dict"] if depth < 3 else [])
    kind = rng.choice(kinds)
    if kind == "str":
        return text(rng)
    if kind == "int":
        return rng.choice([0, -1, 7, 2**53, -(2**63), 2**63 - 1, rng.randint(-1000, 1000)])
    if kind == "float":
        return rng.choice([0.1, 1.0, -0.0, 1e16, 1e15, 1.5e-7, 1e22, 1e100, 123.456, rng.uniform(-1e6, 1e6), rng.random() * 10 ** rng.randint(-20, 20)])
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "none":
        return None
    if kind == "list":
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {key(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def key(rng):
    return rng.choice(["a", "b", "items", "keys", "city", "x y", "é", '"q"', "", "function", "name", "get", "<|im_end|>"])


def part(rng):
    kind = rng.random()
    if kind < 0.5:
        return rng.choice([{"type": "text", "text": text(rng)}, {"text": text(rng)}])
    if kind < 0.85:
        return rng.choice([{"type": "image"}, {"type": "image", "image": "a.png"}, {"type": "image_url", "image_url": {"url": "x"}}, {"image": "b.jpg"}, {"type": "input_image", "image_url": "y"}])
    if kind < 0.97:
        return rng.choice([{"type": "video"}, {"type": "video", "video": "v.mp4"}, {"video": ["a", "b"]}])
    return rng.choice([{"type": "audio"}, {}])


def content(rng):
    kind = rng.random()
    if kind < 0.6:
        return text(rng)
    if kind < 0.98:
        return [part(rng) for _ in range(rng.randint(0, 4))]
    return rng.choice([None, 5, "", {"a": 1}, 1.5, True])


def call(rng):
    arguments = {key(rng): value(rng) for _ in range(rng.randint(0, 3))}
    function = {"name": rng.choice(["get_weather", "noop", "f<x>"]), "arguments": arguments}
    if rng.random() < 0.1:
        del function["arguments"]
    return rng.choice([{"type": "function", "id": "c", "function": function}, {"function": function}, function])


def message(rng, index):
    role = rng.choices(["user", "assistant", "tool", "system", "critic"], [5, 4, 3, 2 if index == 0 else 0.1, 0.05])[0]
    result = {"role": role, "content": content(rng)}
    if role == "assistant":
        if rng.random() < 0.3:
            result["reasoning_content"] = rng.choice([text(rng), text(rng), None])
        if rng.random() < 0.4:
            result["tool_calls"] = [call(rng) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.05:
        del result["content"]
    return result


def tool(rng):
    return {"type": "function", "function": {"name": text(rng, 2), "description": text(rng), "parameters": value(rng)}}


def case(rng, number, compiled):
    name = rng.choice(TEMPLATES)
    messages = [message(rng, i) for i in range(rng.choices([0, 1, 2, 3, 5, 8], [0.1, 2, 3, 3, 2, 1])[0])]
    if rng.random() < 0.8:
        messages.insert(rng.randint(0, len(messages)), {"role": "user", "content": text(rng) or "q"})
    tools = [tool(rng) for _ in range(rng.randint(0, 2))] if rng.random() < 0.2 else None
    kwargs = {}
    if rng.random() < 0.5:
        kwargs["enable_thinking"] = rng.random() < 0.5
    if rng.random() < 0.3:
        kwargs["add_vision_id"] = rng.random() < 0.8
    result = {"name": f"random-{number}", "template": name, "messages": messages, "tools": tools, "kwargs": kwargs, "add_generation_prompt": rng.random() < 0.7}
    try:
        result["text"] = compiled[name].render(messages=messages, tools=tools, documents=None, add_generation_prompt=result["add_generation_prompt"], **kwargs)
    except Exception as error:  # noqa: BLE001 - every failure of the reference is a case
        result["error"] = str(error)
    return result


def main():
    file, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    compiled = {}
    for name in TEMPLATES:
        with open(f"tests/data/processor/{name}", encoding="utf-8") as template:
            compiled[name] = _compile_jinja_template(template.read())
    rng = random.Random(seed)
    cases = [case(rng, i, compiled) for i in range(count)]
    with open(file, "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
    print(f"{count} cases, {sum('error' in c for c in cases)} of them errors")


if __name__ == "__main__":
    main()

"""The demo's byte-level BPE: settings and added tokens of a published tokenizer.json, an own small vocabulary.

usage: train_tokenizer.py PUBLISHED_DIR OUT_DIR [--vocab 960]
Writes tokenizer.json, tokenizer_config.json and copies chat_template.jinja and the two preprocessor files.
"""
import argparse
import json
import pathlib
import shutil

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, trainers

import dialogue
import scenes


def corpus():
    rng = np.random.default_rng(11)
    fake = (np.zeros((10, 8, 8), np.float32), np.arange(10))
    for _ in range(6000):
        k = rng.random()
        s = (scenes.sample_digit(rng, fake) if k < 0.1 else scenes.sample_word(rng) if k < 0.15 else scenes.sample_clip(rng) if k < 0.3
             else scenes.sample_scene(rng))
        for _, q, a in dialogue.turns(rng, s, 3):
            yield "user\n" + q
            yield "assistant\n" + a
    for _ in range(400):
        yield "user\n"
        yield "assistant\n\n\n"
        yield "system\n"
        yield "<{:.1f} seconds>".format(rng.uniform(0, 10))
    for c in scenes.COLOURS + scenes.SHAPES + scenes.WORDS + list(dialogue.PLACES.values()):
        for _ in range(40):
            yield c
            yield " " + c
            yield c.capitalize()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("published", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--vocab", type=int, default=960)
    a = ap.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    real = json.loads((a.published / "tokenizer.json").read_text(encoding="utf-8"))
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = Tokenizer.from_file(str(a.published / "tokenizer.json")).pre_tokenizer
    tok.decoder = decoders.ByteLevel()
    from tokenizers.pre_tokenizers import ByteLevel
    tok.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=a.vocab, initial_alphabet=sorted(ByteLevel.alphabet()), show_progress=False))
    mine = json.loads(tok.to_str())
    base = len(mine["model"]["vocab"])
    out = {k: real[k] for k in real}  # the published settings, word for word
    out["model"] = dict(real["model"], vocab=mine["model"]["vocab"], merges=mine["model"]["merges"])
    out["added_tokens"] = [dict(t, id=base + i) for i, t in enumerate(sorted(real["added_tokens"], key=lambda t: t["id"]))]
    (a.out / "tokenizer.json").write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    conf = json.loads((a.published / "tokenizer_config.json").read_text(encoding="utf-8"))
    ids = {t["content"]: t["id"] for t in out["added_tokens"]}
    conf["added_tokens_decoder"] = {str(ids[v["content"]]): v for v in conf["added_tokens_decoder"].values()}
    (a.out / "tokenizer_config.json").write_text(json.dumps(conf, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for f in ("chat_template.jinja", "preprocessor_config.json", "video_preprocessor_config.json"):
        shutil.copyfile(a.published / f, a.out / f)
    print("vocabulary", base, "+", len(ids), "added")


if __name__ == "__main__":
    main()

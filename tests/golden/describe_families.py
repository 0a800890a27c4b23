#!/usr/bin/env python3
"""tests/data/families.txt: for each family the shape of a small model, and a hash of what skald computes
for one of that shape with random weights (tests/golden/family_bits_test.cc).

    describe_families.py SHARED GOLDEN_TEST      writes the file anew: shapes of the models in SHARED/golden,
                                                 hashes of the program GOLDEN_TEST
    describe_families.py --check SOURCE SUITE    its shapes are those of the large set beside the checkout SOURCE

Python 3 standard library only.
"""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import gguf_reader
from shared_data import shared_data

FILE = HERE.parent / "data/families.txt"
# Every recorded model of a family in float weights; those of the compact set are compared with more.
NAMES = """afmoe bailingmoe2 bert cohere2 command-r deepseek deepseek2 deepseek3 deepseek3-kvb deepseek32 dots1
ernie4_5-moe exaone-moe exaone4 exaone4-swa falcon-h1 gemma-embedding gemma2 gemma3 gemma3n gemma4 gemma4-e gemma4-moe
glm-dsa glm4 glm4moe glm4moe-qknorm gpt-oss gpt2 granite granitehybrid granitehybrid-dense granitemoe hunyuan-moe hy_v3
jina-bert-v2 kimi-k2 kimi-linear lfm2 lfm2moe llama4 mamba2 mimo2 minimax-m2 mistral3 mistral4 modern-bert nemotron_h
nemotron_h_moe nemotron_h_moe-latent nomic-bert nomic-bert-moe olmo2 olmo3 olmoe phi2 phi3-long phi3-short qwen2moe
qwen3-embedding qwen35 qwen35-mtp qwen35moe qwen35moe-mtp qwen3next qwen3next-legacy stablelm stablelm-parallel
starcoder2 step35""".split()
HEAD = """# What a clone without the large set knows of the families: the shape of a small model of each, and the hash of what
# skald computed for such a model with random weights when this file was written by tests/golden/describe_families.py.
# model NAME HASH; key TYPE NAME VALUES (u integers, f floats, b flags, s texts; ~ is the architecture); vocabulary SIZE;
# tensor DIMENSIONS NAME LAYERS (* is the layer). Recorded on 2026-11-23, where golden_test held for the large set.
"""


def model_path(folder, name):
    path = Path(folder) / (name + ".gguf")
    return path if path.exists() else Path(folder) / "families" / (name + ".gguf")


def shortest(value):
    """The shortest text that is this 32-bit float again."""
    for digits in range(1, 10):
        text = "%.*g" % (digits, value)
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return text
    return repr(value)


def key_line(family, name, value):
    values = value if isinstance(value, list) else [value]
    kind = {bool: "b", int: "u", float: "f", str: "s"}[type(values[0])]
    texts = [shortest(each) if kind == "f" else str(int(each)) if kind in "bu" else each for each in values]
    form = kind.upper() if isinstance(value, list) else kind
    return "key %s %s %s" % (form, name.replace(family + ".", "~.", 1), ",".join(texts))


def describe(path):
    keys, tensors = gguf_reader.read(path)
    family = keys["general.architecture"]
    lines = ["key s general.architecture " + family]
    lines += [key_line(family, name, value) for name, value in keys.items() if name.startswith(family + ".")]
    types = keys.get("tokenizer.ggml.token_type_count")
    if types is not None:
        lines.append("key u tokenizer.ggml.token_type_count %d" % types)
    lines.append("vocabulary %d" % len(keys["tokenizer.ggml.tokens"]))
    layers = {}
    for tensor in tensors:
        found = re.fullmatch(r"blk\.(\d+)\.(.*)", tensor.name)
        name = "blk.*." + found.group(2) if found else tensor.name
        layers.setdefault(("x".join(map(str, tensor.dims)), name), []).append(found.group(1) if found else "")
    return lines + [("tensor %s %s %s" % (dims, name, ",".join(where))).rstrip() for (dims, name), where in layers.items()]


def text_of(folder, hashes):
    blocks = ["\n".join(["model %s %s" % (name, hashes.get(name, "0" * 16))] + describe(model_path(folder, name)))
              for name in NAMES]
    return HEAD + "\n".join(blocks) + "\n"


def recorded():
    return dict(re.findall(r"^model (\S+) (\S+)$", FILE.read_text(), re.MULTILINE))


def record(shared, program):
    folder = Path(shared) / "golden"
    FILE.write_text(text_of(folder, {}))
    done = subprocess.run([program, "--gtest_filter=*FamilyBits*"], capture_output=True, text=True, check=False)
    FILE.write_text(text_of(folder, dict(re.findall(r"^(\S+): bits ([0-9a-f]{16})$", done.stdout, re.MULTILINE))))
    print("%s: %d models, %d bytes" % (FILE.name, len(recorded()), FILE.stat().st_size))


def check(source):
    folder = shared_data(Path(source), "golden")
    if FILE.read_text() != text_of(folder, recorded()):
        sys.exit("error: %s has not the shapes of the large set; write it with describe_families.py" % FILE)


def main():
    arguments = sys.argv[1:]
    if len(arguments) >= 2 and arguments[0] == "--check":
        check(arguments[1])
    elif len(arguments) == 2:
        record(*map(os.path.abspath, arguments))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

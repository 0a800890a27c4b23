"""Writes a checkpoint as GGUF version 3: matrices in Q8_0, norms in F32.

    python3 export.py --model tales --checkpoint build/tales.pt --tokenizer build/tokenizer.json \
        --out tales.gguf
"""
import argparse
import os
import pathlib
import struct

import numpy as np
import torch

from model import CONFIGS
from tokenizer import END, END_OF_TEXT, SPECIALS, Tokenizer

ALIGNMENT = 32
BLOCK = 32  # elements of a Q8_0 block
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9  # GGUF value types
FORMAT = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
GGML_F32, GGML_Q8_0 = 0, 8
MOSTLY_Q8_0 = 7
NORMAL, CONTROL = 1, 3  # token types

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>' + message['content'] | trim + '<|end|>' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ '<|assistant|>' + message['content'] | trim + '<|end|>' }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")

# Names in the checkpoint and in GGUF.
TOP_NAMES = {"embedding.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
BLOCK_NAMES = {"attn_norm": "attn_norm", "attn.q": "attn_q", "attn.k": "attn_k",
               "attn.v": "attn_v", "attn.output": "attn_output", "ffn_norm": "ffn_norm",
               "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}


def gguf_name(name):
    """The GGUF name of a weight of the checkpoint."""
    if name in TOP_NAMES:
        return TOP_NAMES[name]
    _, layer, rest = name.split(".", 2)
    return f"blk.{layer}.{BLOCK_NAMES[rest.removesuffix('.weight')]}.weight"


def quantize_q8_0(matrix):
    """Bytes of a matrix in blocks of one f16 scale and 32 signed bytes."""
    blocks = matrix.reshape(-1, BLOCK)
    scale = (np.abs(blocks).max(1) / 127).astype(np.float16)
    divisor = np.where(scale > 0, scale, 1).astype(np.float32)[:, None]
    out = np.empty(len(blocks), dtype=[("scale", "<f2"), ("quants", "i1", BLOCK)])
    out["scale"] = scale
    out["quants"] = np.clip(np.rint(blocks / divisor), -127, 127)
    return out.tobytes()


def pack_string(text):
    """A GGUF string: length and UTF-8."""
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def pack_value(kind, value):
    """A GGUF value without its type; an array is (element type, list)."""
    if kind == STRING:
        return pack_string(value)
    if kind == ARRAY:
        element, items = value
        head = struct.pack("<IQ", element, len(items))
        return head + b"".join(pack_value(element, item) for item in items)
    return struct.pack(FORMAT[kind], value)


def pack_pair(key, kind, value):
    """One entry of the metadata."""
    return pack_string(key) + struct.pack("<I", kind) + pack_value(kind, value)


def model_metadata(name, config):
    """Metadata about the model."""
    return [
        ("general.architecture", STRING, "llama"),
        ("general.type", STRING, "model"),
        ("general.name", STRING, name),
        ("general.license", STRING, "Apache-2.0"),
        ("general.languages", ARRAY, (STRING, ["en"])),
        ("general.alignment", U32, ALIGNMENT),
        ("general.file_type", U32, MOSTLY_Q8_0),
        ("general.quantization_version", U32, 2),
        ("llama.block_count", U32, config.layers),
        ("llama.context_length", U32, config.context),
        ("llama.embedding_length", U32, config.dim),
        ("llama.feed_forward_length", U32, config.ffn),
        ("llama.attention.head_count", U32, config.heads),
        ("llama.attention.head_count_kv", U32, config.kv_heads),
        ("llama.attention.layer_norm_rms_epsilon", F32, config.eps),
        ("llama.rope.dimension_count", U32, config.head_dim),
        ("llama.rope.freq_base", F32, config.rope_base),
        ("llama.vocab_size", U32, config.vocab),
    ]


def tokenizer_metadata(tokenizer):
    """Metadata about the tokenizer and the chat format."""
    specials = len(SPECIALS)
    types = [CONTROL] * specials + [NORMAL] * (len(tokenizer.tokens) - specials)
    return [
        ("tokenizer.ggml.model", STRING, "gpt2"),
        ("tokenizer.ggml.pre", STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, tokenizer.tokens)),
        ("tokenizer.ggml.token_type", ARRAY, (I32, types)),
        ("tokenizer.ggml.merges", ARRAY, (STRING, [" ".join(p) for p in tokenizer.merges])),
        ("tokenizer.ggml.bos_token_id", U32, END_OF_TEXT),
        ("tokenizer.ggml.eos_token_id", U32, END_OF_TEXT),
        ("tokenizer.ggml.eot_token_id", U32, END),
        ("tokenizer.ggml.add_bos_token", BOOL, True),
        ("tokenizer.ggml.add_eos_token", BOOL, False),
        ("tokenizer.chat_template", STRING, CHAT_TEMPLATE),
    ]


def tensors_of(state):
    """(name, shape as GGUF counts it, type, bytes) of each weight."""
    for name, weight in state.items():
        array = weight.float().numpy()
        quantized = array.ndim == 2
        data = quantize_q8_0(array) if quantized else array.tobytes()
        yield gguf_name(name), array.shape[::-1], GGML_Q8_0 if quantized else GGML_F32, data


def aligned(size):
    """The next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def write_gguf(path, metadata, tensors):
    """Write the file; offsets ascend and every tensor begins at a multiple of the alignment."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(pack_pair(*entry) for entry in metadata)
    offset = 0
    for name, shape, kind, data in tensors:
        head += pack_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", kind, offset)
        offset += aligned(len(data))
    part = path.with_suffix(".part")
    with part.open("wb") as out:
        out.write(head.ljust(aligned(len(head)), b"\0"))
        for _, _, _, data in tensors:
            out.write(data.ljust(aligned(len(data)), b"\0"))
    os.replace(part, path)


def main():
    """Export a checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    tokenizer = Tokenizer.load(args.tokenizer)
    config = CONFIGS[args.model]
    assert len(tokenizer.tokens) == config.vocab
    tensors = list(tensors_of(torch.load(args.checkpoint)["model"]))
    metadata = model_metadata(args.model, config) + tokenizer_metadata(tokenizer)
    write_gguf(args.out, metadata, tensors)
    print(f"{args.out}: {len(tensors)} tensors, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""Reads an exported GGUF file back and writes samples with it, in plain numpy.

    python3 sample.py tales.gguf --prompt "Once upon a time" --seed 1
    python3 sample.py tales.gguf --chat "Tell me a story about a fox."
    python3 sample.py tales.gguf --card          # the twenty samples of the model card
"""
import argparse
import math
import pathlib
import struct

import numpy as np

from tokenizer import ASSISTANT, END, END_OF_TEXT, USER, Tokenizer

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
           12: "d"}
STRING, ARRAY = 8, 9
F32, Q8_0 = 0, 8
CARD_PLAIN = ["Once upon a time"] * 10
CARD_CHAT = """Tell me a story about a fox.
Tell me a story about a girl named Mira and a lost key.
Write a story about a dragon who is afraid of rain.
tell me a story about a cat and a mouse
Tell me a story about a robot who wants to learn to dance.
Can you tell me a story about a boy called Sam who broke the window?
Tell me a story about a rabbit and a storm.
I want to hear a story about a whale.
Tell me a bedtime story.
Please tell me a story about a princess and a treasure.""".splitlines()


class Reader:
    """Takes values off a byte string."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def scalar(self, code):
        """One number."""
        value, = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def string(self):
        """One string."""
        length = self.scalar("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind):
        """One metadata value."""
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.scalar("I"), self.scalar("Q")
            return [self.value(element) for _ in range(count)]
        return self.scalar(SCALARS[kind])


def dequantize(data, shape, kind, offset):
    """A tensor in f32."""
    count = math.prod(shape)
    if kind == F32:
        return np.frombuffer(data, "<f4", count, offset).reshape(shape[::-1])
    assert kind == Q8_0
    block = np.dtype([("scale", "<f2"), ("quants", "i1", 32)])
    blocks = np.frombuffer(data, block, count // 32, offset)
    values = blocks["scale"].astype(np.float32)[:, None] * blocks["quants"]
    return values.reshape(shape[::-1])


def read_gguf(path):
    """Metadata and tensors of a GGUF file."""
    data = path.read_bytes()
    reader = Reader(data)
    assert data[:4] == b"GGUF"
    reader.at = 4
    version, tensor_count, entries = (reader.scalar(code) for code in "IQQ")
    assert version == 3
    metadata = {}
    for _ in range(entries):
        key = reader.string()
        metadata[key] = reader.value(reader.scalar("I"))
    infos = []
    for _ in range(tensor_count):
        name, rank = reader.string(), reader.scalar("I")
        shape = [reader.scalar("Q") for _ in range(rank)]
        infos.append((name, shape, reader.scalar("I"), reader.scalar("Q")))
    start = -(-reader.at // 32) * 32
    tensors = {n: dequantize(data, shape, kind, start + at) for n, shape, kind, at in infos}
    return metadata, tensors


class Model:
    """The Llama forward pass, a token at a time with a KV cache."""

    def __init__(self, path):
        self.meta, self.tensors = read_gguf(path)
        get = lambda key: self.meta["llama." + key]
        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv")
        self.eps = get("attention.layer_norm_rms_epsilon")
        self.context = get("context_length")
        width = get("rope.dimension_count")
        self.frequency = get("rope.freq_base") ** (-np.arange(0, width, 2) / width)
        self.reset()

    def reset(self):
        """Forget all tokens."""
        self.cache = [([], []) for _ in range(self.layers)]

    def tokenizer(self):
        """The tokenizer stored in the file."""
        return Tokenizer(merge.split(" ") for merge in self.meta["tokenizer.ggml.merges"])

    def _norm(self, x, name):
        return x / np.sqrt(np.mean(x * x) + self.eps) * self.tensors[name]

    def _rotate(self, x, position):
        pairs = x.reshape(len(x), -1, 2)
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * position * self.frequency)
        return np.stack([turned.real, turned.imag], -1).reshape(x.shape).astype(np.float32)

    def _attend(self, x, layer):
        weight = lambda name: self.tensors[f"blk.{layer}.attn_{name}.weight"]
        keys, values = self.cache[layer]
        q = self._rotate((weight("q") @ x).reshape(self.heads, -1), len(keys))
        keys.append(self._rotate((weight("k") @ x).reshape(self.kv_heads, -1), len(keys)))
        values.append((weight("v") @ x).reshape(self.kv_heads, -1))
        q = q.reshape(self.kv_heads, self.heads // self.kv_heads, -1)
        scores = np.einsum("hgd,thd->hgt", q, np.stack(keys)) / math.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return weight("output") @ np.einsum("hgt,thd->hgd", scores, np.stack(values)).reshape(-1)

    def _feed(self, x, layer):
        weight = lambda name: self.tensors[f"blk.{layer}.ffn_{name}.weight"]
        gate = weight("gate") @ x
        return weight("down") @ (gate / (1 + np.exp(-gate)) * (weight("up") @ x))

    def step(self, token):
        """Logits after one more token."""
        x = self.tensors["token_embd.weight"][token]
        for layer in range(self.layers):
            x = x + self._attend(self._norm(x, f"blk.{layer}.attn_norm.weight"), layer)
            x = x + self._feed(self._norm(x, f"blk.{layer}.ffn_norm.weight"), layer)
        return self.tensors["token_embd.weight"] @ self._norm(x, "output_norm.weight")


def generate(model, prompt, temperature, seed):
    """Token ids after the prompt, up to the end of the text or of the turn."""
    rng = np.random.default_rng(seed)
    model.reset()
    out = []
    for token in prompt:
        logits = model.step(token)
    while len(prompt) + len(out) < model.context:
        if temperature:
            odds = np.exp((logits - logits.max()) / temperature)
            token = int(rng.choice(len(odds), p=odds / odds.sum()))
        else:
            token = int(logits.argmax())
        if token in (END_OF_TEXT, END):
            break
        out.append(token)
        logits = model.step(token)
    return out


def chat_prompt(tokenizer, text):
    """Ids that ask for an answer to one user turn."""
    return [END_OF_TEXT, USER, *tokenizer.encode(text), END, ASSISTANT]


def print_card(model, temperature):
    """Twenty samples as Markdown: ten plain ones, ten chats, seeds 1 to 20."""
    tokenizer = model.tokenizer()
    for seed, text in enumerate(CARD_PLAIN + CARD_CHAT, 1):
        plain = seed <= len(CARD_PLAIN)
        prompt = [END_OF_TEXT, *tokenizer.encode(text)] if plain else chat_prompt(tokenizer, text)
        story = tokenizer.decode(generate(model, prompt, temperature, seed))
        heading = f"**{seed}.** " + (f"*{text}*" if plain else f"**{text}**\n\n")
        print("\n" + heading + story)


def main():
    """Print samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--prompt", default="Once upon a time")
    parser.add_argument("--chat", help="a user turn")
    parser.add_argument("--card", action="store_true")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    model = Model(args.model)
    tokenizer = model.tokenizer()
    if args.card:
        print_card(model, args.temperature)
    elif args.chat:
        prompt = chat_prompt(tokenizer, args.chat)
        print(tokenizer.decode(generate(model, prompt, args.temperature, args.seed)))
    else:
        prompt = [END_OF_TEXT, *tokenizer.encode(args.prompt)]
        print(args.prompt + tokenizer.decode(generate(model, prompt, args.temperature, args.seed)))


if __name__ == "__main__":
    main()

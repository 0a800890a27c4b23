"""The valid models that the malformed ones are made from. Python 3 standard library only."""

import random
import struct

from gguf_writer import (BOOL, FLOAT32, INT32, STRING, UINT32, Gguf)

LAYERS, DIM, HEADS, KV_HEADS, FFN, CONTEXT = 2, 64, 2, 1, 128, 64
HEAD_DIM = DIM // HEADS


def small():
    """A well-formed header of under 1 KB that no engine can run: for faults a parser must find."""
    g = Gguf()
    g.key("general.architecture", STRING, "llama").key("llama.block_count", UINT32, 2)
    g.key("general.name", STRING, "small")
    g.tensor("first.weight", [32, 2]).tensor("second.weight", [8]).tensor("third.weight", [4, 4])
    return g


def spm_vocabulary():
    """Tokens, scores, types: three control tokens, 256 bytes, letters and some pairs."""
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    types = [2, 3, 3] + [6] * 256
    words = ["\u2581"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    words += ["\u2581a", "\u2581the", "th", "he", "in", "er", "an", "ab", "\u2581t"]
    tokens += words
    types += [1] * len(words)
    scores = [0.0] * 259 + [-float(i) for i in range(len(words))]
    return tokens, scores, types


def byte_symbols():
    """The printable stand-ins of the 256 bytes in byte-level BPE vocabularies (GPT-2)."""
    plain = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    other = [byte for byte in range(256) if byte not in plain]
    symbols = {byte: chr(byte) for byte in plain}
    symbols.update({byte: chr(256 + i) for i, byte in enumerate(other)})
    return [symbols[byte] for byte in range(256)]


def bpe_vocabulary():
    """Tokens, types, merges."""
    merges = ["t h", "th e", "a b", "i n", "e r"]
    tokens = byte_symbols() + [merge.replace(" ", "") for merge in merges] + ["<|end|>"]
    return tokens, [1] * (len(tokens) - 1) + [3], merges


def _weights(rng, count, scale):
    return struct.pack("<%df" % count, *(rng.gauss(0.0, scale) for _ in range(count)))


def _add_tensors(g, vocabulary):
    rng = random.Random(7)  # the files are the same at every run

    def matrix(name, columns, rows):
        g.tensor(name, [columns, rows], data=_weights(rng, columns * rows, columns ** -0.5))

    def norm(name):
        g.tensor(name, [DIM], data=struct.pack("<%df" % DIM, *([1.0] * DIM)))

    matrix("token_embd.weight", DIM, vocabulary)
    for layer in range(LAYERS):
        add_layer(g, layer, matrix, norm)
    norm("output_norm.weight")
    matrix("output.weight", DIM, vocabulary)


def add_layer(g, layer, matrix=None, norm=None):
    """Appends the tensors of one layer; zeros unless told otherwise."""
    matrix = matrix or (lambda name, columns, rows: g.tensor(name, [columns, rows]))
    norm = norm or (lambda name: g.tensor(name, [DIM]))
    prefix = "blk.%d." % layer
    norm(prefix + "attn_norm.weight")
    matrix(prefix + "attn_q.weight", DIM, DIM)
    matrix(prefix + "attn_k.weight", DIM, KV_HEADS * HEAD_DIM)
    matrix(prefix + "attn_v.weight", DIM, KV_HEADS * HEAD_DIM)
    matrix(prefix + "attn_output.weight", DIM, DIM)
    norm(prefix + "ffn_norm.weight")
    matrix(prefix + "ffn_gate.weight", DIM, FFN)
    matrix(prefix + "ffn_up.weight", DIM, FFN)
    matrix(prefix + "ffn_down.weight", FFN, DIM)


def _llama():
    g = Gguf()
    g.key("general.architecture", STRING, "llama").key("general.name", STRING, "tiny")
    for name, value in (("block_count", LAYERS), ("context_length", CONTEXT),
                        ("embedding_length", DIM), ("feed_forward_length", FFN),
                        ("attention.head_count", HEADS), ("attention.head_count_kv", KV_HEADS),
                        ("rope.dimension_count", HEAD_DIM)):
        g.key("llama." + name, UINT32, value)
    g.key("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5)
    g.key("llama.rope.freq_base", FLOAT32, 10000.0)
    return g


def spm_model():
    """A runnable Llama of 2 layers with a SentencePiece vocabulary (about 0.4 MB)."""
    g = _llama()
    tokens, scores, types = spm_vocabulary()
    g.key("llama.vocab_size", UINT32, len(tokens))
    g.key("tokenizer.ggml.model", STRING, "llama").key("tokenizer.ggml.pre", STRING, "default")
    g.list("tokenizer.ggml.tokens", STRING, tokens)
    g.list("tokenizer.ggml.scores", FLOAT32, scores)
    g.list("tokenizer.ggml.token_type", INT32, types)
    g.key("tokenizer.ggml.bos_token_id", UINT32, 1).key("tokenizer.ggml.eos_token_id", UINT32, 2)
    g.key("tokenizer.ggml.unknown_token_id", UINT32, 0)
    g.key("tokenizer.ggml.add_bos_token", BOOL, 1)
    _add_tensors(g, len(tokens))
    return g


def bpe_model():
    """The same with a byte-level BPE vocabulary."""
    g = _llama()
    tokens, types, merges = bpe_vocabulary()
    g.key("llama.vocab_size", UINT32, len(tokens))
    g.key("tokenizer.ggml.model", STRING, "gpt2").key("tokenizer.ggml.pre", STRING, "gpt-2")
    g.list("tokenizer.ggml.tokens", STRING, tokens)
    g.list("tokenizer.ggml.token_type", INT32, types)
    g.list("tokenizer.ggml.merges", STRING, merges)
    g.key("tokenizer.ggml.bos_token_id", UINT32, len(tokens) - 1)
    g.key("tokenizer.ggml.eos_token_id", UINT32, len(tokens) - 1)
    _add_tensors(g, len(tokens))
    return g

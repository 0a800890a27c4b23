"""The valid models that the malformed ones are made from. Python 3 standard library only."""

import random
import struct

from gguf_writer import (FLOAT32, STRING, UINT32, Gguf)
from tiny_vocabulary import add_bpe, add_spm, bpe_vocabulary, spm_vocabulary

LAYERS, DIM, HEADS, KV_HEADS, FFN, CONTEXT = 2, 64, 2, 1, 128, 64
HEAD_DIM = DIM // HEADS


def small():
    """A well-formed header of under 1 KB that no engine can run: for faults a parser must find."""
    g = Gguf()
    g.key("general.architecture", STRING, "llama").key("llama.block_count", UINT32, 2)
    g.key("general.name", STRING, "small")
    g.tensor("first.weight", [32, 2]).tensor("second.weight", [8]).tensor("third.weight", [4, 4])
    return g


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
    vocabulary = len(spm_vocabulary()[0])
    g.key("llama.vocab_size", UINT32, vocabulary)
    add_spm(g)
    _add_tensors(g, vocabulary)
    return g


def bpe_model():
    """The same with a byte-level BPE vocabulary."""
    g = _llama()
    vocabulary = len(bpe_vocabulary()[0])
    g.key("llama.vocab_size", UINT32, vocabulary)
    add_bpe(g, "gpt-2")
    _add_tensors(g, vocabulary)
    return g

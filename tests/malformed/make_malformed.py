#!/usr/bin/env python3
"""Writes the malformed model files G01 to G129 into a folder, with an index of what must happen.

    make_malformed.py FOLDER

Deterministic; Python 3 standard library only; about 200 MB on disk. FOLDER/index.json lists for each
file: id, file, what, stage, expect, codes.

stage   where the fault can be seen: "parse" (keys, tensor table, file system: every command must
        find it), "model" (a loader must find it), "vocabulary" (a tokenizer must find it), "run"
        (only computing shows it).
expect  "reject", "accept", or "either" where refusing and ignoring are both right. Whatever is
        expected, no file may kill, hang or bloat the process.
codes   exit codes that a refusal may have (docs/cli.md).

G112 to G120 are chat templates, which belong to the server's suite. G129 is a valid file: the runner
shortens it while it is being read.
"""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import tiny_model
import tiny_vocabulary
from gguf_writer import (ARRAY, BOOL, FLOAT32, INT8, INT32, Q4_0, Q8_0, STRING, UINT8, UINT16, UINT32,
                         UINT64, Gguf, array, string, u32, u64)
from tiny_model import DIM, LAYERS, bpe_model, small, spm_model

MALFORMED = (5, 6)  # bad model, unsupported
SYSTEM = (3, 4)     # not found, io
NUMERIC = (9,)


class Corpus:
    def __init__(self, folder):
        self.folder, self.index = folder, []
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def note(self, name, file, what, stage="parse", expect="reject", codes=MALFORMED):
        self.index.append({"id": name, "file": file, "what": what, "stage": stage,
                           "expect": expect, "codes": list(codes)})

    def add(self, name, what, content, **notes):
        """Writes one file and its line of the index. content: bytes or a Gguf."""
        data = content if isinstance(content, bytes) else content.bytes()
        with open(self.path(name + ".gguf"), "wb") as out:
            out.write(data)
        self.note(name, name + ".gguf", what, **notes)


def with_fields(g, **fields):
    for field, value in fields.items():
        setattr(g, field, value)
    return g


def preamble(c):
    valid = small().bytes()
    c.add("G01", "empty file", b"")
    c.add("G02", "4 bytes, the magic only", b"GGUF")
    c.add("G03", "wrong magic", b"GGML" + valid[4:])
    c.add("G04", "byte-swapped magic", b"FUGG" + valid[4:])
    for name, version in (("G05", 0), ("G06", 1), ("G07", 4), ("G08", 0x03000000)):
        c.add(name, "version %#x" % version, with_fields(small(), version=version))
    for name, count in (("G09", 1 << 63), ("G10", -1), ("G11", 1 << 32)):
        c.add(name, "tensor count %d" % count, with_fields(small(), tensor_count=count))
    c.add("G12", "key count 2^63 - 1", with_fields(small(), key_count=(1 << 63) - 1))
    c.add("G13", "one key more than there is", with_fields(small(), key_count=4))
    c.add("G14", "one key less than there is", with_fields(small(), key_count=2))


def keys(c):
    def first_key(raw):
        """A file whose first key is the given bytes, followed by the keys of a valid one."""
        body = small().bytes()
        return body[:16] + u64(4) + raw + body[24:]

    value = u32(UINT8) + b"\x01"
    c.add("G15", "key of length 0", first_key(string("") + value))
    c.add("G16", "key length 2^63", first_key(u64(1 << 63) + b"k" + value))
    c.add("G17", "key length one more than the file has left",
          (lambda data: data[:24] + u64(len(data) - 32 + 1) + data[32:])(first_key(string("k") + value)))
    c.add("G18", "key of 64 KiB", first_key(string("k" * 65536) + value))
    c.add("G19", "key with a NUL", first_key(string("a\0b") + value))
    c.add("G20", "key that is not UTF-8", first_key(string(b"\xff\xfe") + value))
    c.add("G21", "duplicate key, same type", small().key("general.name", STRING, "again"))
    c.add("G22", "duplicate key, other type", small().key("general.name", UINT32, 1))
    c.add("G23", "value type 13", small().raw("k", 13, u64(0)))
    c.add("G24", "value type -1", small().raw("k", -1, u64(0)))
    c.add("G25", "bool with value 2", small().raw("k", BOOL, b"\x02"))
    c.add("G26", "array of arrays", small().raw("k", ARRAY, u32(ARRAY) + u64(1) + array(UINT8, [1])))
    c.add("G27", "array of type 255", small().raw("k", ARRAY, u32(255) + u64(1) + u64(0)))
    c.add("G28", "array length 2^62", small().raw("k", ARRAY, u32(UINT32) + u64(1 << 62) + u64(0)))
    c.add("G29", "array of 2^30 strings in 8 KB", small().raw("k", ARRAY, u32(STRING) + u64(1 << 30) + bytes(8192)))
    c.add("G30", "array of a million empty strings in a valid model",
          spm_model().raw("extra.strings", ARRAY, u32(STRING) + u64(10 ** 6) + bytes(8 * 10 ** 6)), expect="accept")
    c.add("G31", "string length 2^64 - 8", small().raw("k", STRING, u64(-8) + b"12345678"))


def required_keys(c):
    key = "general.alignment"
    for name, value in (("G32", 0), ("G33", 3), ("G34", 1 << 31)):
        c.add(name, "alignment %d" % value, small().key(key, UINT32, value))
    c.add("G35", "alignment as a string", small().key(key, STRING, "32"))
    c.add("G36", "alignment as a uint64", small().key(key, UINT64, 32))
    c.add("G37", "alignment as an array", small().list(key, UINT32, [32]))
    key = "general.architecture"
    c.add("G38", "architecture missing", spm_model().drop(key))
    c.add("G39", "architecture as a uint32", spm_model().replace(key, UINT32, 1))
    c.add("G40", "architecture as an array", spm_model().replace_list(key, STRING, ["llama", "qwen2"]))
    c.add("G41", "architecture 'llama\\0x'", spm_model().replace(key, STRING, "llama\0x"))
    c.add("G42", "unknown architecture", spm_model().replace(key, STRING, "unheardof"), stage="model")
    c.add("G43", "architecture of 1 MiB", spm_model().replace(key, STRING, "a" * (1 << 20)))
    for name, count, expect in (("G44", 60000, "either"), ("G45", 10 ** 6, "reject")):
        g = spm_model()
        for i in range(count):
            g.key("key%07d" % i, UINT8, 1)
        c.add(name, "%d unique keys" % count, g, expect=expect)


def tensors(c):
    def one(dims, **named):
        g = Gguf().key("general.architecture", STRING, "llama").key("general.name", STRING, "x" * 64)
        return g.tensor("a.weight", dims, **named)

    c.add("G46", "0 dimensions", one([]))
    c.add("G47", "5 dimensions", one([1, 1, 1, 1, 1]))
    c.add("G48", "2^32 - 1 dimensions", one([1], dim_count=-1))
    for name, dims in (("G49", [0, 4]), ("G50", [4, 0]), ("G51", [4, 1, 0])):
        c.add(name, "dimensions %s" % dims, one(dims))
    c.add("G52", "dimension 2^63", one([1 << 63], data=bytes(64)))
    c.add("G53", "product of dimensions 2^64", one([1 << 32, 1 << 32], data=bytes(64)))
    c.add("G54", "product times element size wraps", one([1 << 20, (1 << 42) + 1], data=bytes(64)))
    c.add("G55", "padding of the size wraps to 0", one([(2 ** 64 - 1) // 4], data=bytes(64)))
    c.add("G56", "the sizes of two tensors wrap",
          one([0x1FFFFFFFFFFFFFF0], data=bytes(64)).tensor("b.weight", [0x1FFFFFFFFFFFFFF0], data=bytes(64),
                                                            offset=0x7FFFFFFFFFFFFFC0))
    c.add("G57", "Q4_0 rows of 33", one([33], kind=Q4_0, data=bytes(64)))
    for name, kind in (("G58", 40), ("G59", -1), ("G60a", 4), ("G60b", 5)):
        c.add(name, "element type %d" % kind, one([256], kind=kind, data=bytes(256)))
    for name, offset, what in (("G61", 260, "unaligned"), ("G62", 384, "past the end"), ("G63", 1 << 63, "2^63"),
                               ("G64", 224, "overlap of one block"), ("G65", 0, "same as the first"),
                               ("G66", 288, "gap of 32 bytes")):
        g = small()
        g.find("second.weight").offset = offset
        c.add(name, "offset: " + what, g)
    g = small()
    for tensor, offset in zip(g.tensors, (96, 64, 0)):
        tensor.offset = offset
    c.add("G67", "offsets descending", g)
    data = small().bytes()
    table = small().header()
    c.add("G68", "last byte of the last tensor missing", data[:-1])
    c.add("G69", "ends in the tensor table", table[:-20])
    c.add("G70", "ends inside a string", data[:data.index(b"small") + 2])
    c.add("G71", "duplicate tensor name", small().tensor("first.weight", [8]))
    c.add("G72", "tensor name with a NUL", small().tensor("first.weight\0b", [8]))
    c.add("G73", "tensor name of 65 bytes", small().tensor("n" * 65, [8]))
    c.add("G74", "tensor name of 2^40 bytes", table[:table.index(b"third") - 8] + u64(1 << 40) + bytes(64))
    many = Gguf().key("general.architecture", STRING, "llama")
    for i in range(100000):
        many.tensor("t%d" % i, [1])
    c.add("G75", "100,000 tensors of one element", many)
    c.add("G76", "1 GiB of bytes after the last tensor (sparse)", spm_model(), expect="accept")
    os.truncate(c.path("G76.gguf"), 1 << 30)


def hyperparameters(c):
    def key(name, what, key_name, kind, value):
        c.add(name, what, spm_model().replace("llama." + key_name, kind, value), stage="model")

    key("G77", "0 layers", "block_count", UINT32, 0)
    key("G78", "513 layers", "block_count", UINT32, 513)
    key("G79", "2^31 layers", "block_count", UINT32, 1 << 31)
    key("G80", "layer count as a float", "block_count", FLOAT32, 2.0)
    key("G81", "negative layer count", "block_count", INT32, -2)
    key("G82", "0 heads", "attention.head_count", UINT32, 0)
    key("G83", "0 KV heads", "attention.head_count_kv", UINT32, 0)
    key("G84", "width not divisible by heads", "attention.head_count", UINT32, 3)
    key("G85", "more KV heads than heads", "attention.head_count_kv", UINT32, 4)
    c.add("G86", "per-layer array of the wrong length",
          spm_model().replace_list("llama.attention.head_count_kv", UINT32, [1] * (LAYERS + 1)), stage="model")
    key("G87", "more rotary dimensions than the head has", "rope.dimension_count", UINT32, DIM)
    for suffix, value in (("a", float("nan")), ("b", 0.0), ("c", -1.0)):
        key("G88" + suffix, "rope base %s" % value, "rope.freq_base", FLOAT32, value)
    for suffix, value in (("a", float("nan")), ("b", -1.0)):
        key("G89" + suffix, "norm epsilon %s" % value, "attention.layer_norm_rms_epsilon", FLOAT32, value)
    key("G90a", "context length 0", "context_length", UINT32, 0)
    key("G90b", "context length 2^32 - 1", "context_length", UINT32, (1 << 32) - 1)
    c.index[-1]["expect"] = "either"  # clean if it only bounds what a user may ask for

    def experts(name, what, count, used, **more):
        g = spm_model().key("llama.expert_count", UINT32, count).key("llama.expert_used_count", UINT32, used)
        for key_name, value in more.items():
            g.key("llama." + key_name, UINT32, value)
        c.add(name, what, g, stage="model")

    experts("G91", "more experts used than there are", 2, 3)
    experts("G92", "2^20 experts", 1 << 20, 2)
    experts("G93", "shared expert of size 0", 2, 1, expert_shared_feed_forward_length=0)


def roles(c):
    name = "blk.0.attn_q.weight"
    g = spm_model()
    g.tensors = [tensor for tensor in g.tensors if tensor.name != name]
    c.add("G94", name + " missing", g, stage="model")
    g = spm_model()
    g.find(name).dims = [DIM // 2, DIM * 2]
    c.add("G95", name + " of the wrong shape", g, stage="model")
    g = spm_model()
    tiny_model.add_layer(g, LAYERS)
    c.add("G96", "one layer more than block_count says", g, stage="model")
    g = spm_model()
    norm = g.find("blk.0.attn_norm.weight")
    norm.kind, norm.data = Q4_0, bytes(DIM // 32 * 18)
    c.add("G97", "norm weights in Q4_0", g, stage="model")


def vocabulary(c):
    tokens, scores, types = tiny_vocabulary.spm_vocabulary()

    def spm(name, what, expect="reject", stage="vocabulary", **lists):
        g = spm_model()
        kinds = {"tokens": STRING, "scores": FLOAT32, "token_type": INT32}
        for key_name, values in lists.items():
            g.replace_list("tokenizer.ggml." + key_name, kinds[key_name], values)
        c.add(name, what, g, stage=stage, expect=expect)

    def changed(index, text):
        return tokens[:index] + [text] + tokens[index + 1:]

    spm("G98", "no tokens", tokens=[], scores=[], token_type=[])
    # A vocabulary that is sound in itself: only a loader, which sees the embedding, can object.
    spm("G99", "fewer tokens than embedding rows", stage="model",
        tokens=tokens[:-5], scores=scores[:-5], token_type=types[:-5])
    c.add("G100", "scores as int8", spm_model().replace_list("tokenizer.ggml.scores", INT8, [0] * len(tokens)),
          stage="vocabulary")
    spm("G101", "fewer token types than tokens", token_type=types[:-1])
    spm("G102", "token type 99", token_type=types[:-1] + [99])
    for letter, kind, value in (("a", UINT32, len(tokens)), ("b", INT32, -1), ("c", UINT32, 1 << 31)):
        for number, key_name in enumerate(("bos", "eos", "padding")):
            g = spm_model().replace("tokenizer.ggml.%s_token_id" % key_name, kind, value)
            c.add("G103%s%d" % (letter, number + 1), "%s token id %d" % (key_name, value), g, stage="vocabulary")
    # Published vocabularies hold duplicates; the first one wins.
    spm("G104", "two tokens with the same text", expect="either", tokens=changed(len(tokens) - 1, "a"))
    spm("G105", "a token of 1 MiB", expect="either", tokens=changed(len(tokens) - 1, "a" * (1 << 20)))
    for letter, text in (("a", "<0x-1>"), ("b", "<0xGG>"), ("c", "<0x1>")):
        spm("G106" + letter, "byte token '%s'" % text, tokens=changed(3 + 65, text))
    spm("G107", "all tokens empty", tokens=[""] * len(tokens))

    merges = tiny_vocabulary.bpe_vocabulary()[2]

    def bpe(name, what, values, expect="reject"):
        g = bpe_model().replace_list("tokenizer.ggml.merges", STRING, values)
        c.add(name, what, g, stage="vocabulary", expect=expect)

    # A merge whose result is no token can never be applied: other engines ignore it.
    bpe("G108", "merges of unknown tokens", merges + ["zz yy", "q zz"], expect="either")
    bpe("G109", "a merge without a space", merges + ["th"])
    bpe("G110", "merges that turn in a circle", merges + [" a", "a ", " "])
    g = bpe_model().drop("tokenizer.ggml.merges")
    g.raw("tokenizer.ggml.merges", ARRAY, u32(STRING) + u64(5 * 10 ** 6) + string("a b") * (5 * 10 ** 6))
    c.add("G111", "5 million merges", g)


def numbers(c):
    g = spm_model()
    for tensor in g.tensors:
        tensor.data = struct.pack("<f", float("nan")) * (len(tensor.data) // 4)
    c.add("G121", "all weights NaN", g, stage="run", codes=NUMERIC + MALFORMED)
    g = spm_model()
    for tensor in g.tensors:
        if tensor.name.endswith("attn_q.weight") or tensor.name.endswith("ffn_up.weight"):
            tensor.kind = Q8_0
            tensor.data = (struct.pack("<H", 0x7C00) + bytes(range(1, 33))) * (len(tensor.data) // 4 // 32)
    c.add("G122", "block scales infinite", g, stage="run", codes=NUMERIC + MALFORMED)


def split(g, number, count, tensor_count):
    g.key("split.no", UINT16, number).key("split.count", UINT16, count)
    return g.key("split.tensors.count", INT32, tensor_count)


def file_system(c):
    def write(name, g):
        with open(c.path(name), "wb") as out:
            out.write(g.bytes())

    g = split(spm_model(), 0, 65535, 21).key("split.filename", STRING, "../x")
    write("G123-00001-of-65535.gguf", g)
    c.note("G123", "G123-00001-of-65535.gguf", "65,535 parts, a name with ../")
    write("G124-00001-of-00002.gguf", split(spm_model(), 0, 2, 22))
    write("G124-00002-of-00002.gguf",
          split(Gguf().key("general.architecture", STRING, "qwen2"), 1, 2, 22).tensor("extra.weight", [8]))
    c.note("G124", "G124-00001-of-00002.gguf", "parts of two architectures")
    write("G125-00001-of-00002.gguf", split(spm_model(), 0, 2, 22))
    c.note("G125", "G125-00001-of-00002.gguf", "second part missing", codes=SYSTEM + MALFORMED)
    os.symlink("G126.gguf", c.path("G126.gguf"))
    c.note("G126", "G126.gguf", "symbolic link to itself", codes=SYSTEM)
    os.mkfifo(c.path("G127a.gguf"))
    c.note("G127a", "G127a.gguf", "FIFO without a writer", codes=SYSTEM)
    os.symlink("/dev/zero", c.path("G127b.gguf"))
    c.note("G127b", "G127b.gguf", "link to /dev/zero", codes=SYSTEM)
    os.mkdir(c.path("G128.gguf"))
    c.note("G128", "G128.gguf", "directory", codes=SYSTEM)
    write("G129.gguf", spm_model())
    c.note("G129", "G129.gguf", "shrinks while it is read", expect="either", stage="run", codes=SYSTEM + MALFORMED)


def valid(c):
    """Not malformed: without these, a reader that refuses everything would pass."""
    c.add("V01", "the valid SentencePiece model", spm_model(), expect="accept")
    c.add("V02", "the valid byte-level BPE model", bpe_model(), expect="accept")
    c.add("V03", "version 2", with_fields(spm_model(), version=2), expect="accept")
    c.add("V04", "alignment 64", with_fields(spm_model(), alignment=64).key("general.alignment", UINT32, 64),
          expect="accept")
    g = split(spm_model(), 0, 2, 21)
    second, g.tensors = g.tensors[11:], g.tensors[:11]
    with open(c.path("V05-00001-of-00002.gguf"), "wb") as out:
        out.write(g.bytes())
    g = split(Gguf(), 1, 2, 21)
    g.tensors = second
    with open(c.path("V05-00002-of-00002.gguf"), "wb") as out:
        out.write(g.bytes())
    c.note("V05", "V05-00001-of-00002.gguf", "split in two", expect="accept")


def make(folder):
    c = Corpus(folder)
    for group in (preamble, keys, required_keys, tensors, hyperparameters, roles, vocabulary, numbers,
                  file_system, valid):
        group(c)
    with open(c.path("index.json"), "w") as out:
        json.dump(c.index, out, indent=0)
    return c.index


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for entry in make(sys.argv[1]):
        print("%-6s %-30s %-10s %-7s %s" % (entry["id"], entry["file"], entry["stage"], entry["expect"],
                                            entry["what"]))

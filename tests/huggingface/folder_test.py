#!/usr/bin/env python3
"""A folder of Hugging Face gives the bits of the GGUF file that holds the same weights, and a folder that is
wrong gives a message.

    folder_test.py SKALD SOURCE GOLDEN [SUITE]

Folders are written anew from GGUF files (folder_writer.py): GOLDEN has those of the build; the suite
FolderSharedData takes the recorded ones beside the checkout. Python 3 standard library only.
"""

import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import folder_kinds as kinds
import folder_writer as writer
import gguf_reader
import skald_server
from shared_data import shared_data

SKALD, SOURCE, GOLDEN = (os.path.abspath(path) for path in sys.argv[1:4])
SHARED = shared_data(Path(SOURCE), "golden")
VOCABULARIES = os.path.join(SOURCE, "tests", "data", "tokenizers", "families")
TOKENS = ",".join(str(i * 7 % 262) for i in range(40))
TEXTS = ["", "the cat", " Once upon a time,\n\nthere was  a fox.", "\u00e4\u00f6\u00fc \u4f60\u597d \U0001f600", "</s> <s> the"]


def run(*arguments):
    return subprocess.run([SKALD, *arguments], capture_output=True, text=True, timeout=120, check=False)


def skald(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, (arguments, result.returncode, result.stderr)
    return result.stdout


def logits(model, folder, *options):
    out = os.path.join(folder, "out.f32")
    skald("logits", "-q", "-m", model, "--tokens", TOKENS, "--out", out, *options)
    with open(out, "rb") as file:
        return file.read()


# What skald plan takes the weights for, in bytes of memory. A machine by name: nothing is measured.
def planned_bytes(model, machine="h100"):
    return json.loads(skald("plan", "--json", "-m", model, "--machine", machine))["engine"]["memory"]["weights"]


# How relevant texts are, by a server: no command ranks. A sanitizer looks for leaks at the end, which the sandbox would keep
# it from.
def relevances(model):
    skald_server.Setup.binary, skald_server.Setup.model = SKALD, model
    with skald_server.Server("--parallel", "1", "--no-sandbox") as server:
        reply = server.exchange(skald_server.post("/v1/rerank", {
            "query": "the cat", "documents": ["the mat", "a cat", "theater"], "raw_scores": True})).json()
    return [result["relevance_score"] for result in sorted(reply["results"], key=lambda result: result["index"])]


class FolderCase(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = os.path.join(self.place.name, "model")

    # `says_all`: its config.json tells which matrices there are, as those of published models do.
    def compare(self, gguf, model_type, own=None, parts=1, conventions="publisher", says_all=True):
        keys, tensors = gguf_reader.read(gguf)
        writer.write_folder(self.folder, model_type, keys, tensors, own(keys) if own else None, parts)
        options = ("--conventions", conventions)
        self.assertEqual(logits(gguf, self.place.name, *options), logits(self.folder, self.place.name, *options))
        if says_all:
            self.compare_plans()

    # config.json alone, which has no tensors to count, tells the size of the weights.
    def compare_plans(self):
        config = os.path.join(self.folder, "config.json")
        self.assertEqual(planned_bytes(config), planned_bytes(self.folder))

    # Of a text that is longer than a window, pooled as the documents say.
    def compare_embeddings(self, gguf, model_type):
        keys, tensors = gguf_reader.read(gguf)
        writer.write_folder(self.folder, model_type, keys, tensors, kinds.MEMBERS[model_type](keys))
        writer.write_embedding(self.folder, keys, tensors)
        expected, found = (json.loads(skald("embed", "--json", "-q", "-m", model, "the cat sat on the mat"))
                           for model in (gguf, self.folder))
        self.assertEqual(expected | {"model": ""}, found | {"model": ""})
        if all(not tensor.name.startswith("dense_") for tensor in tensors):  # of which config.json says nothing
            self.compare_plans()

    # `own`: what config.json needs beside the members of a llama. All recorded texts in one.
    def compare_tokenizers(self, gguf, model_type, own=None):
        keys, _ = gguf_reader.read(os.path.join(GOLDEN, "llama.gguf"))
        keys = {name: value for name, value in keys.items() if not name.startswith("tokenizer.")}
        keys |= {name: value for name, value in gguf_reader.read(gguf)[0].items() if name.startswith("tokenizer.")}
        writer.write_folder(self.folder, model_type, keys, [], own)
        texts = os.path.join(VOCABULARIES, "texts.txt")
        expected, found = (skald("tokenize", "--ids", "-m", model, "-f", texts) for model in (gguf, self.folder))
        self.assertGreater(expected.count(","), 2000)
        self.assertEqual(expected, found)

    def compare_rearranged(self, gguf, model_type, own=None, **options):
        keys, tensors = gguf_reader.read(gguf)
        gguf = os.path.join(self.place.name, "exact.gguf")
        gguf_reader.write(gguf, keys, kinds.exact(model_type, tensors))
        self.compare(gguf, model_type, lambda keys: kinds.MEMBERS[model_type](keys) | (own or {}), **options)



def experts(count, used, width):
    return lambda keys: {count: keys[keys["general.architecture"] + ".expert_count"],
                         used: keys[keys["general.architecture"] + ".expert_used_count"],
                         width: keys.get(keys["general.architecture"] + ".expert_feed_forward_length",
                                         keys[keys["general.architecture"] + ".feed_forward_length"])}


class Folder(FolderCase):
    """Needs the build's own models."""

    # model_type, file, members of its own
    CASES = [
        ("llama", "llama", None), ("llama", "llama-k-F16", None), ("llama", "llama-k-BF16", None),
        ("llama", "llama-linear", None), ("llama", "llama-yarn", None), ("qwen2", "qwen2", None),
        ("qwen3", "qwen3", None), ("seed_oss", "seed-oss", None), ("smollm3", "smollm3", None),
        ("mixtral", "moe", experts("num_local_experts", "num_experts_per_tok", "intermediate_size")),
        ("qwen3_moe", "qwen3moe", experts("num_experts", "num_experts_per_tok", "moe_intermediate_size")),
    ]

    def test_gives_the_bits_of_the_file(self):
        for model_type, name, own in self.CASES:
            with self.subTest(name=name):
                self.compare(os.path.join(GOLDEN, name + ".gguf"), model_type, own)

    # Networks of several kinds of layers, whose tensors are arranged in other ways.
    def test_gives_the_bits_of_the_file_rearranged(self):
        for model_type, name in (("qwen3_5", "qwen35"), ("deepseek_v2", "deepseek2"), ("lfm2", "lfm2")):
            with self.subTest(name=name):
                self.compare_rearranged(os.path.join(GOLDEN, name + ".gguf"), model_type)

    def test_computes_the_factors_of_llama3(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "llama.gguf"))
        rotated, base = keys["llama.rope.dimension_count"], keys["llama.rope.freq_base"]
        factors = []
        for i in range(0, rotated, 2):
            wavelength = 2 * math.pi * base ** (i / rotated)
            if wavelength < 64 / 4:
                factors.append(1.0)
            elif wavelength > 64 / 1:
                factors.append(8.0)
            else:
                share = (64 / wavelength - 1) / (4 - 1)
                factors.append(1 / ((1 - share) / 8 + share))
        self.assertIn(1.0, factors)
        self.assertIn(8.0, factors)
        tensors.append(gguf_reader.Tensor("rope_freqs.weight", [rotated // 2], 0, struct.pack("<%df" % len(factors), *factors)))
        gguf = os.path.join(self.place.name, "factors.gguf")
        gguf_reader.write(gguf, keys, tensors)
        scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 64}
        self.compare(gguf, "llama", lambda _: {"rope_scaling": scaling})
        # Newer folders keep all of it in one member.
        self.compare(gguf, "llama", lambda _: {"rope_scaling": None, "rope_theta": None,
                                               "rope_parameters": scaling | {"rope_theta": base}})

    def test_takes_several_files(self):
        self.compare(os.path.join(GOLDEN, "llama.gguf"), "llama", parts=3)

    def test_takes_the_text_half_of_a_model_of_pictures(self):
        gguf = os.path.join(GOLDEN, "llama.gguf")
        keys, tensors = gguf_reader.read(gguf)
        stored = writer.tensors_of("llama", keys, tensors)
        for tensor in stored:
            tensor.name = "language_model." + tensor.name
        stored.append(writer.Stored("vision_tower.patch.weight", "F32", [1, 1, 1, 1, 1], bytes(4)))
        writer.write_folder(self.folder, "llama", keys, tensors)
        writer.write_tensors(self.folder, stored)
        config = writer.config_of("llama", keys)
        writer.write_documents(self.folder, {"config.json": {"model_type": "llama", "text_config": config}})
        self.assertEqual(logits(gguf, self.place.name), logits(self.folder, self.place.name))

    def test_cuts_texts_as_the_file_does(self):
        for name in (os.path.join(GOLDEN, "llama.gguf"), os.path.join(SOURCE, "models", "tales", "tales.gguf")):
            keys, _ = gguf_reader.read(name)
            writer.write_folder(self.folder, "llama", keys, [])
            for text in TEXTS:
                with self.subTest(name=name, text=text):
                    expected = skald("tokenize", "--ids", "-m", name, "--", text) if text else ""
                    found = skald("tokenize", "--ids", "-m", self.folder, "--", text) if text else ""
                    self.assertEqual(expected, found)

    def test_gives_the_embeddings_of_the_file(self):
        for model_type in ("bert", "xlm-roberta"):
            with self.subTest(model_type=model_type):
                self.compare_embeddings(os.path.join(GOLDEN, "bert.gguf"), model_type)
        with self.subTest(model_type="gemma3_text"):
            self.compare_embeddings(self.embedding_gemma(), "gemma3_text")

    # Gemma 3's weights, and two matrices behind them.
    def embedding_gemma(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "gemma3.gguf"))
        keys = {name.replace("gemma3.", "gemma-embedding."): value for name, value in keys.items()}
        get = lambda name: keys["gemma-embedding." + name]
        width, inner = get("embedding_length"), 96
        own = {"pooling_type": 1, "attention.causal": False, "dense_2_feat_in": width, "dense_2_feat_out": inner,
               "dense_3_feat_in": inner, "dense_3_feat_out": width}
        keys |= {"general.architecture": "gemma-embedding"} | {"gemma-embedding." + name: value for name, value in own.items()}
        values = struct.pack("<%df" % (width * inner), *[math.sin(i * i) / 8 for i in range(width * inner)])
        tensors = kinds.exact("gemma3_text", [tensor for tensor in tensors if tensor.name != "output.weight"])
        tensors += [gguf_reader.Tensor("dense_2.weight", [width, inner], 0, values),
                    gguf_reader.Tensor("dense_3.weight", [inner, width], 0, values)]
        path = os.path.join(self.place.name, "embedding-gemma.gguf")
        gguf_reader.write(path, keys, tensors)
        return path

    # A head behind the network, which a class of its own has.
    def test_ranks_as_the_file_does(self):
        gguf = os.path.join(GOLDEN, "bert-rank.gguf")
        keys, tensors = gguf_reader.read(gguf)
        expected = relevances(gguf)
        self.assertEqual(len(set(expected)), 3)
        for model_type, name in (("bert", "BertForSequenceClassification"),
                                 ("xlm-roberta", "XLMRobertaForSequenceClassification")):
            with self.subTest(model_type=model_type):
                own = kinds.MEMBERS[model_type](keys) | {"architectures": [name]}
                writer.write_folder(self.folder, model_type, keys, tensors, own)
                self.assertEqual(relevances(self.folder), expected)
                self.compare_plans()
                # Of another class the head is something else; two labels sort into classes.
                writer.write_folder(self.folder, model_type, keys, tensors, own | {"architectures": ["X"]})
                self.assertIn("has no place in a network", run("show", "-m", self.folder).stderr)
                two = [tensor for tensor in tensors if not tensor.name.startswith("cls.output")]
                two += [gguf_reader.Tensor("cls.output.weight", [64, 2], 0, bytes(512)),
                        gguf_reader.Tensor("cls.output.bias", [2], 0, bytes(8))]
                writer.write_folder(self.folder, model_type, keys, two, own)
                self.assertIn("'cls.output.weight' has shape 64 x 2",
                              run("serve", "-m", self.folder, "--port", "0").stderr)

    # Characters that merge by the merges themselves, not by scores.
    def test_cuts_texts_as_gemma4_does(self):
        self.compare_tokenizers(os.path.join(VOCABULARIES, "gemma4.gguf"), "gemma4_text", {
            "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 8, "tie_word_embeddings": True})

    def test_cuts_texts_as_embedding_models_do(self):
        for name in ("wordpiece-uncased", "unigram"):
            with self.subTest(name=name):
                self.compare_tokenizers(os.path.join(VOCABULARIES, name + ".gguf"), "llama")

    def test_reads_fp8_as_what_its_scales_make_of_it(self):
        for model_type, name in (("llama", "llama"), ("qwen3_5", "qwen35"), ("deepseek_v3", "deepseek2")):
            with self.subTest(name=name):
                keys, tensors = gguf_reader.read(os.path.join(GOLDEN, name + ".gguf"))
                plain, small = [], []
                for tensor in writer.tensors_of(model_type, keys, tensors):
                    is_matrix = re.search(r"_proj(_\w+)?\.weight$", tensor.name)
                    plain += [as_fp8(tensor)[0]] if is_matrix else [tensor]
                    small += as_fp8(tensor)[1:] if is_matrix else [tensor]
                own = kinds.MEMBERS[model_type](keys) if model_type in kinds.MEMBERS else {}
                own |= {"quantization_config": {"quant_method": "fp8", "weight_block_size": [8, 8]}}
                writer.write_folder(self.folder, model_type, keys, [], own)
                writer.write_tensors(self.folder, small)
                found = logits(self.folder, self.place.name)
                writer.write_tensors(self.folder, plain)
                self.assertEqual(logits(self.folder, self.place.name), found)

    def test_takes_what_yarn_says(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "llama-yarn.gguf"))
        keys |= {"llama.rope.scaling.yarn_attn_factor": 1.25, "llama.rope.scaling.yarn_beta_fast": 0.5,
                 "llama.rope.scaling.yarn_beta_slow": 0.05}
        gguf = os.path.join(self.place.name, "yarn.gguf")
        gguf_reader.write(gguf, keys, tensors)
        scaling = writer.config_of("llama", keys)["rope_scaling"]
        said = {"attention_factor": 1.25, "beta_fast": 0.5, "beta_slow": 0.05}
        self.compare(gguf, "llama", lambda _: {"rope_scaling": scaling | said})

    # A head that is the embedding, and a layer that guesses further tokens, are no part of the network.
    def test_leaves_out_what_is_no_part_of_the_network(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "smollm3.gguf"))
        tensors = [tensor for tensor in tensors if tensor.name != "output.weight"]
        gguf = os.path.join(self.place.name, "tied.gguf")
        gguf_reader.write(gguf, keys, tensors)
        writer.write_folder(self.folder, "smollm3", keys, tensors, {"tie_word_embeddings": True})
        stored = writer.tensors_of("smollm3", keys, tensors)
        head = next(tensor for tensor in stored if tensor.name == "model.embed_tokens.weight")
        stored.append(writer.Stored("lm_head.weight", "F32", head.shape, bytes(len(head.data))))
        stored.append(writer.Stored("model.layers.%d.eh_proj.weight" % keys["smollm3.block_count"], "F32", [1], bytes(4)))
        writer.write_tensors(self.folder, stored)
        self.assertEqual(logits(gguf, self.place.name), logits(self.folder, self.place.name))

    def test_finds_the_chat_template(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "llama.gguf"))
        writer.write_folder(self.folder, "llama", keys, tensors)
        shown = lambda: json.loads(skald("show", "--json", "-m", self.folder))["chat_template"]
        writer.write_documents(self.folder, {"tokenizer_config.json": {"chat_template": "one"}})
        self.assertEqual(shown(), "one")
        named = [{"name": "tool_use", "template": "two"}, {"name": "default", "template": "three"}]
        writer.write_documents(self.folder, {"tokenizer_config.json": {"chat_template": named}})
        self.assertEqual(shown(), "three")
        writer.write_documents(self.folder, {"chat_template.jinja": "four"})
        self.assertEqual(shown(), "four")

    def test_shows_what_it_is(self):
        keys, tensors = gguf_reader.read(os.path.join(GOLDEN, "qwen3.gguf"))
        writer.write_folder(self.folder, "qwen3", keys, tensors)
        shown = json.loads(skald("show", "--json", "-m", self.folder))
        self.assertEqual((shown["format"], shown["architecture"], shown["name"]), ("safetensors", "qwen3", "model"))


def as_fp8(tensor):
    """A tensor of codes made of the bytes of `tensor`: as BF16, as FP8, and its scales."""
    rows, columns = tensor.shape
    codes = bytes(code if code & 0x7F != 0x7F else 0 for code in tensor.data[:rows * columns])
    blocks = (rows + 7) // 8, (columns + 7) // 8  # smaller than a head, whose rows move
    scales = [2.0 ** -(6 + i % 5) for i in range(blocks[0] * blocks[1])]
    values = [fp8_value(codes[i]) * scales[i // columns // 8 * blocks[1] + i % columns // 8] for i in range(rows * columns)]
    # Powers of two: the products are exact in bfloat16, whose bits are the upper ones of a float.
    words = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    return (writer.Stored(tensor.name, "BF16", tensor.shape, struct.pack("<%dH" % len(words), *words)),
            writer.Stored(tensor.name, "F8_E4M3", tensor.shape, codes),
            writer.Stored(tensor.name + "_scale_inv", "F32", blocks, struct.pack("<%df" % len(scales), *scales)))


def fp8_value(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    size = mantissa * 2.0 ** -9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -size if code & 0x80 else size


class FolderErrors(FolderCase):
    """What is wrong with a folder is said, with the file and the place."""

    def setUp(self):
        super().setUp()
        self.keys, self.tensors = gguf_reader.read(os.path.join(GOLDEN, "llama.gguf"))
        writer.write_folder(self.folder, "llama", self.keys, self.tensors)

    def path(self, name):
        return os.path.join(self.folder, name)

    # Exit codes: not found, cannot be read, malformed, not supported.
    def expect(self, *words):
        done = run("show", "-m", self.folder)
        self.assertIn(done.returncode, (3, 4, 5, 6), done.stderr)
        for word in (self.folder, *words):
            self.assertIn(word, done.stderr)
        self.assertLess(len(done.stderr), 1500)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def config(self, **members):
        config = writer.config_of("llama", self.keys) | members
        writer.write_documents(self.folder, {"config.json": {k: v for k, v in config.items() if v is not None}})

    def test_of_documents(self):
        for name in ("tokenizer.json", "model.safetensors"):
            with self.subTest(name=name):
                os.rename(self.path(name), self.path("away"))
                self.expect(name)
                os.rename(self.path("away"), self.path(name))
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            with self.subTest(name=name):
                with open(self.path(name), "rb") as file:
                    whole = file.read()
                with open(self.path(name), "wb") as file:
                    file.write(whole[:-2])
                self.expect(name, "no JSON at byte")
                with open(self.path(name), "wb") as file:
                    file.write(whole)

    def test_of_config(self):
        cases = [
            ({"model_type": "transfo"}, ["'model_type' is 'transfo'", "qwen3_moe", "docs/models.md"]),
            ({"model_type": None}, ["'model_type' is missing"]),
            ({"model_type": "two\nlines\x1b[2J"}, ["two\\nlines"]),
            ({"hidden_act": "two\nlines"}, ["two\\nlines"]),
            ({"rope_scaling": {"two\nlines": 1}}, ["two\\nlines"]),
            ({"hidden_size": "64"}, ["'hidden_size' is no integer"]),
            ({"hidden_size": 1.5}, ["'hidden_size' is no integer"]),
            ({"num_hidden_layers": 0}, ["'num_hidden_layers' is 0"]),
            ({"num_hidden_layers": 10**12}, ["'num_hidden_layers'"]),
            ({"num_attention_heads": 0}, ["'num_attention_heads'"]),
            ({"num_attention_heads": 3}, ["3 heads"]),
            ({"head_dim": 10**9}, ["'head_dim'"]),
            ({"rms_norm_eps": None}, ["'rms_norm_eps' is missing"]),
            ({"hidden_act": "relu"}, ["'hidden_act' is 'relu'"]),
            ({"vocab_size": 10**9}, ["vocabulary"]),
            ({"vocab_size": 100}, ["has no id from 0 to 99"]),
            ({"rope_scaling": {"rope_type": "magic"}}, ["'magic'"]),
            ({"rope_scaling": {"rope_type": "linear", "factor": 2, "twist": 3}}, ["'twist'"]),
            ({"rope_scaling": {"rope_type": "llama3", "factor": 8}}, ["'low_freq_factor' is missing"]),
            ({"rope_scaling": {"rope_type": "longrope", "long_factor": [1]}}, ["'long_factor'"]),
            ({"partial_rotary_factor": -1}, ["'partial_rotary_factor'"]),
            ({"model_type": "qwen3", "use_sliding_window": True}, ["'use_sliding_window'"]),
            ({"model_type": "qwen3_moe", "norm_topk_prob": False}, ["'norm_topk_prob' is false"]),
            ({"model_type": "qwen3_moe", "decoder_sparse_step": 2}, ["'decoder_sparse_step'"]),
            ({"model_type": "qwen3_moe", "mlp_only_layers": [1]}, ["'mlp_only_layers'"]),
            ({"model_type": "qwen2_moe", "norm_topk_prob": True}, ["'norm_topk_prob' is true"]),
            ({"model_type": "gemma3_text", "use_bidirectional_attention": "yes"}, ["'use_bidirectional_attention'"]),
            ({"model_type": "gemma3_text", "query_pre_attn_scalar": 7}, ["'query_pre_attn_scalar' is 7"]),
            ({"model_type": "gemma2", "query_pre_attn_scalar": 7}, ["'query_pre_attn_scalar' is 7"]),
            ({"model_type": "olmo3", "layer_types": ["linear_attention"]}, ["'layer_types'"]),
        ]
        for members, words in cases:
            with self.subTest(members=members):
                self.config(**members)
                self.expect(*words)

    def test_of_config_of_several_kinds_of_layers(self):
        yarn = {"type": "yarn", "factor": 4, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 64}
        cases = {
            ("qwen3_5", "qwen35"): [
                ({"linear_num_key_heads": 0}, ["'linear_num_key_heads' is 0"]),
                ({"linear_num_key_heads": 3}, ["'linear_num_value_heads' is 4", "no multiple of 3"]),
                ({"linear_num_value_heads": 10**9}, ["'linear_num_value_heads'"]),
                ({"linear_num_value_heads": 64}, ["128 elements for 64 heads of 16"]),
                ({"linear_value_head_dim": 8}, ["'linear_value_head_dim' is 8, expected 16"]),
                ({"linear_conv_kernel_dim": None}, ["'linear_conv_kernel_dim' is missing"]),
                ({"linear_conv_kernel_dim": 9}, ["convolution length is 9"]),
                ({"layer_types": ["full_attention"]}, ["'layer_types' has 1 entries, expected 4"]),
                ({"layer_types": ["mamba"] * 4}, ["'layer_types' holds neither"]),
                ({"layer_types": ["full_attention"] * 4}, ["attn_q"]),
                ({"layer_types": None, "full_attention_interval": 0}, ["full_attention_interval"]),
                ({"attn_output_gate": False}, ["'attn_output_gate' is false"]),
            ],
            ("deepseek_v2", "deepseek2"): [
                ({"qk_nope_head_dim": None}, ["'qk_nope_head_dim' is missing"]),
                ({"qk_rope_head_dim": 10**9}, ["'qk_rope_head_dim'"]),
                ({"v_head_dim": 0}, ["'v_head_dim' is 0"]),
                ({"v_head_dim": 21}, ["attn_kv_b"]),
                ({"kv_lora_rank": 0}, ["kv_lora_rank"]),
                ({"rope_interleave": False}, ["'rope_interleave' is false"]),
                ({"norm_topk_prob": True}, ["'norm_topk_prob' is true"]),
                ({"n_routed_experts": 0}, ["0"]),
                ({"num_experts_per_tok": 99}, ["99"]),
                ({"first_k_dense_replace": 99}, ["leading_dense_block_count"]),
                ({"n_shared_experts": -1}, ["expert_shared_count"]),
                ({"topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2}, ["group"]),
                ({"topk_method": "magic"}, ["'topk_method' is 'magic'"]),
                ({"scoring_func": "tanh"}, ["'scoring_func' is 'tanh'"]),
                ({"moe_layer_freq": 2}, ["'moe_layer_freq'"]),
                ({"rope_scaling": yarn | {"mscale": 0.7}}, ["'mscale' 0.7"]),
                ({"rope_scaling": yarn | {"mscale_all_dim": None}}, ["'mscale_all_dim' is missing"]),
                ({"rope_scaling": yarn | {"attention_factor": 2}}, ["'attention_factor'"]),
                ({"rope_scaling": yarn | {"original_max_position_embeddings": 1e300}}, ["expected 1 to"]),
            ],
            ("lfm2", "lfm2"): [
                ({"full_attn_idxs": None}, ["'layer_types' is missing"]),
                ({"full_attn_idxs": [1, 4]}, ["'full_attn_idxs'", "0 to 3"]),
                ({"full_attn_idxs": [1]}, ["shortconv"]),
                ({"layer_types": ["conv"]}, ["'layer_types' has 1 entries, expected 4"]),
                ({"conv_L_cache": 0}, ["'conv_L_cache' is 0"]),
                ({"conv_bias": True}, ["'conv_bias' is true"]),
                ({"block_multiple_of": 0}, ["'block_ff_dim'"]),
                ({"block_ff_dim": -1}, ["'block_ff_dim'"]),
                ({"block_ff_dim": 2**32, "block_ffn_dim_multiplier": 1e300}, ["'block_ff_dim'"]),
            ],
        }
        self.expect_of_gemma4()
        self.expect_of_encoders()
        for (model_type, name), wrong in cases.items():
            keys, tensors = gguf_reader.read(os.path.join(GOLDEN, name + ".gguf"))
            own = kinds.MEMBERS[model_type](keys)
            for members, words in wrong:
                with self.subTest(model_type=model_type, members=members):
                    writer.write_folder(self.folder, model_type, keys, tensors, own | members)
                    self.expect(*words)

    def expect_of_encoders(self):
        bert = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rms_norm_eps": None}
        roberta = bert | {"model_type": "xlm-roberta"}
        modern = bert | {"model_type": "modernbert", "norm_eps": 1e-5, "local_attention": 8}
        nomic = kinds.MEMBERS["nomic_bert"]({"nomic-bert." + name: 8 for name in (
            "embedding_length", "block_count", "attention.head_count", "feed_forward_length", "context_length",
            "attention.layer_norm_epsilon", "rope.freq_base")} | {"tokenizer.ggml.token_type_count": 2})
        ranks = {"architectures": ["ModernBertForSequenceClassification"]}
        nomic |= {"model_type": "nomic_bert", "hidden_act": None, "rms_norm_eps": None}
        for members, words in [
                (bert | {"hidden_act": "relu"}, ["'hidden_act' is 'relu'"]),
                (bert | {"layer_norm_eps": None}, ["is missing"]),
                (bert | {"position_embedding_type": "relative_key"}, ["'position_embedding_type' is not absolute"]),
                (bert | {"type_vocab_size": "2"}, ["'type_vocab_size' is no integer"]),
                (roberta, ["'pad_token_id' is missing"]),
                (roberta | {"pad_token_id": -1}, ["'pad_token_id' is -1"]),
                (roberta | {"pad_token_id": 2**40}, ["'pad_token_id' is"]),
                (roberta | {"pad_token_id": 511, "max_position_embeddings": 512}, ["leaves none of 512 positions"]),
                (modern | {"local_attention": None}, ["'local_attention' is missing"]),
                (modern | {"norm_bias": True}, ["'norm_bias' is true"]),
                (modern | ranks | {"classifier_pooling": "max"}, ["'classifier_pooling' is 'max'"]),
                (modern | ranks | {"classifier_activation": "tanh"}, ["'classifier_activation' is 'tanh'"]),
                (nomic | {"n_embd": None}, ["is missing"]),
                (nomic | {"prenorm": True}, ["'prenorm' is true"]),
                (nomic | {"rotary_scaling_factor": 2}, ["'rotary_scaling_factor'"]),
                (nomic | {"rotary_emb_fraction": 0.5}, ["'rotary_emb_fraction' is not 1"]),
                (nomic | {"moe_every_n_layers": 2}, ["'moe_every_n_layers' is not 0"]),
        ]:
            with self.subTest(members=members):
                self.config(**members)
                self.expect(*words)

    def expect_of_gemma4(self):
        usual = {"model_type": "gemma4_text", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 8}
        layers = self.keys["llama.block_count"]
        full = {"rope_type": "proportional", "partial_rotary_factor": 0.25}
        for members, words in [
                ({"sliding_window": None}, ["'sliding_window' is missing"]),
                ({"global_head_dim": 0}, ["'global_head_dim' is 0"]),
                ({"num_kv_shared_layers": layers}, ["'num_kv_shared_layers' is %d" % layers]),
                ({"num_kv_shared_layers": -1}, ["'num_kv_shared_layers' is -1"]),
                ({"intermediate_size": 2**62}, ["'intermediate_size'"]),
                ({"use_bidirectional_attention": "all"}, ["'use_bidirectional_attention' is 'all'"]),
                ({"per_layer_config": {"0": {"head_dim": 8}}}, ["'per_layer_config'"]),
                ({"attention_bias": True}, ["'attention_bias' is true"]),
                ({"enable_moe_block": True}, ["'num_experts' is missing"]),
                ({"rope_parameters": {"full_attention": full | {"partial_rotary_factor": 2}}}, ["'partial_rotary_factor'"]),
                ({"rope_parameters": {"full_attention": full | {"factor": 2}}}, ["'factor'"]),
        ]:
            with self.subTest(members=members):
                self.config(**(usual | members))
                self.expect(*words)

    def test_of_tensors(self):
        whole = writer.tensors_of("llama", self.keys, self.tensors)
        magic = writer.Stored("model.layers.0.self_attn.q_proj.magic", "F32", [1], bytes(4))
        cases = [
            (whole + [magic], ["q_proj.magic", "has no place"]),
            ([t for t in whole if "up_proj" not in t.name], ["lacks", "ffn_up"]),
            ([writer.Stored(t.name, "I32" if t.name == "model.norm.weight" else t.kind, t.shape, t.data) for t in whole],
             ["model.norm.weight", "element type"]),
            ([writer.Stored(t.name, t.kind, t.shape[::-1] + [1], t.data) for t in whole], ["too many dimensions"]),
            ([writer.Stored(t.name, t.kind, [0] + t.shape, b"") for t in whole], ["has no elements"]),
        ]
        for stored, words in cases:
            with self.subTest(words=words):
                writer.write_tensors(self.folder, stored)
                self.expect(*words)

    def test_of_a_tensor_in_two_files(self):
        whole = writer.tensors_of("llama", self.keys, self.tensors)
        place = [tensor.name for tensor in whole].index("model.norm.weight")
        whole.insert(place % 2, writer.Stored("model.norm.weight", "F32", [2], bytes(8)))  # every second goes to one file
        writer.write_tensors(self.folder, whole, parts=2)
        self.expect("model.norm.weight", "stands twice")

    # "model." or nothing before a name: one tensor of the network, and two weights for it.
    def test_of_names_that_mean_one_tensor(self):
        whole = writer.tensors_of("llama", self.keys, self.tensors)
        for name in ("model.norm.weight", "model.layers.1.self_attn.q_proj.weight"):
            with self.subTest(name=name):
                first = next(tensor for tensor in whole if tensor.name == name)
                again = writer.Stored(name.removeprefix("model."), first.kind, first.shape, first.data)
                writer.write_tensors(self.folder, whole + [again])
                self.expect(name, again.name, "means the same as")

    def test_of_a_file_cut_short(self):
        with open(self.path("model.safetensors"), "rb") as file:
            whole = file.read()
        header = 8 + struct.unpack("<Q", whole[:8])[0]
        for length in (0, 7, 8, 9, header - 1, header, header + 1, len(whole) - 1):
            with self.subTest(length=length):
                with open(self.path("model.safetensors"), "wb") as file:
                    file.write(whole[:length])
                self.expect("model.safetensors")

    def test_of_an_index_that_leads_outside(self):
        for name in ("../model.safetensors", "/etc/passwd", "a/b.safetensors", "model.gguf", ""):
            with self.subTest(name=name):
                writer.write_documents(self.folder, {"model.safetensors.index.json": {"weight_map": {"a": name}}})
                self.expect("is no name of a file beside it")

    def test_of_poolings(self):
        step = lambda kind, path="1_Pooling": [{"path": path, "type": "sentence_transformers.models." + kind}]
        os.makedirs(self.path("1_Pooling"))
        for modules, pooling, words in [
                (step("Dense"), {}, ["modules.json", "models.Dense"]),
                (step("Pooling", "../1_Pooling"), {}, ["modules.json", "'../1_Pooling'"]),
                (step("Pooling", ""), {}, ["no name of a folder"]),
                (step("Pooling", "2_Pooling"), {}, ["2_Pooling/config.json"]),
                (step("Pooling"), {}, ["1_Pooling/config.json", "expected one of"]),
                (step("Pooling"), {"pooling_mode_max_tokens": True}, ["expected one of"]),
                (step("Pooling"), {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, ["expected one of"]),
        ]:
            with self.subTest(words=words):
                writer.write_documents(self.folder, {"modules.json": modules, "1_Pooling/config.json": pooling})
                self.expect(*words)

    # Matrices behind the pooling are a part of EmbeddingGemma only, and two of them.
    def test_of_projections(self):
        step = lambda kind, path: {"path": path, "type": "sentence_transformers.models." + kind}
        pooling, dense = step("Pooling", "1_Pooling"), [step("Dense", "%d_Dense" % i) for i in (2, 3)]
        plain = {"in_features": 64, "out_features": 96, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
        for name in ("1_Pooling", "2_Dense", "3_Dense"):
            os.makedirs(self.path(name))
        writer.write_documents(self.folder, {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
                                             "3_Dense/config.json": plain})
        gemma = {"model_type": "gemma3_text", "use_bidirectional_attention": True, "hidden_activation": "gelu_pytorch_tanh",
                 "query_pre_attn_scalar": None, "sliding_window": 8, "rope_local_base_freq": 10000.0}
        for members, modules, first, words in [
                ({}, [pooling, *dense], plain, ["modules.json", "models.Dense"]),
                (gemma, [*dense, pooling], plain, ["modules.json", "models.Dense"]),
                (gemma, [pooling, dense[0]], plain, ["modules.json", "1 Dense steps, expected 2 or none"]),
                (gemma, [pooling, dense[0], *dense], plain, ["3 Dense steps"]),
                (gemma, [pooling, dense[0], step("Dense", "..")], plain, ["modules.json", "'..'"]),
                (gemma, [pooling, *dense], plain | {"bias": True}, ["2_Dense/config.json", "'bias' to be false"]),
                (gemma, [pooling, *dense], plain | {"activation_function": "torch.nn.modules.activation.Tanh"},
                 ["2_Dense/config.json", "Identity"]),
                (gemma, [pooling, *dense], plain | {"out_features": "96"}, ["2_Dense/config.json", "'out_features' is no integer"]),
                (gemma, [pooling, *dense], {}, ["2_Dense/config.json"]),
                (gemma, [pooling, *dense], plain, ["2_Dense/model.safetensors"]),
        ]:
            with self.subTest(words=words):
                self.config(**members)
                writer.write_documents(self.folder, {"modules.json": modules, "2_Dense/config.json": first})
                self.expect(*words)

    def test_of_tokenizers(self):
        whole = writer.tokenizer_of(self.keys)
        model = whole["model"]
        split = {"type": "Split", "pattern": {"Regex": "[a-z]"}, "behavior": "Isolated"}
        bytes_of = {"type": "ByteLevel", "use_regex": False}
        cases = [
            (whole | {"model": model | {"type": "WordLevel"}}, ["'WordLevel'", "WordPiece and Unigram"]),
            (whole | {"model": model | {"vocab": None}}, ["'model.vocab' is missing"]),
            (whole | {"model": model | {"merges": None}}, ["'model.merges' is missing"]),
            (whole | {"model": model | {"merges": ["ab"]}}, ["a merge has no space"]),
            (whole | {"model": model | {"merges": [["a", "b", "c"]]}}, ["a merge is no pair"]),
            (whole | {"model": model | {"vocab": model["vocab"] | {"twice": 5}}}, ["id 5 is"]),
            (whole | {"normalizer": None, "model": model | {"byte_fallback": False}}, ["neither bytes nor SentencePiece"]),
            (whole | {"normalizer": None, "model": model | {"byte_fallback": False},
                      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_of]}}, ["[a-z]"]),
            (whole | {"model": model | {"byte_fallback": False}, "pre_tokenizer": bytes_of}, ["normalizer"]),
            (whole | {"added_tokens": [{"id": 1}]}, ["no content"]),
        ]
        for document, words in cases:
            with self.subTest(words=words):
                writer.write_documents(self.folder, {"tokenizer.json": document})
                self.expect(*words)


    def test_of_tokenizers_of_embedding_models(self):
        bert = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
                "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "unk_token": "[UNK]"}}
        mark, charsmap = {"type": "Metaspace"}, {"type": "Precompiled", "precompiled_charsmap": ""}
        pieces = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1.5]]}
        unigram = {"pre_tokenizer": mark, "model": pieces}
        join, drop = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Strip"}
        normalizers = lambda *steps: {"normalizer": {"type": "Sequence", "normalizers": list(steps)}}
        cases = [
            (bert | {"normalizer": None}, ["BertNormalizer"]),
            (bert | {"normalizer": {"type": "NFC"}}, ["normalizer 'NFC'"]),
            (bert | {"normalizer": bert["normalizer"] | {"clean_text": False}}, ["clean_text is false"]),
            (bert | {"pre_tokenizer": {"type": "Whitespace"}}, ["pre-tokenizer 'Whitespace'"]),
            (bert | {"model": bert["model"] | {"continuing_subword_prefix": "@@"}}, ["continuing_subword_prefix"]),
            (bert | {"model": bert["model"] | {"max_input_chars_per_word": 1 << 40}}, ["max_input_chars_per_word"]),
            (bert | {"model": bert["model"] | {"vocab": ["a"]}}, ["'model.vocab' is missing"]),
            (bert | {"model": bert["model"] | {"vocab": {"a": 1 << 40}}}, ["has no id from 0"]),
            (bert | {"model": bert["model"] | {"unk_token": "two\nlines"}}, ["two\\nlines"]),
            (unigram | {"pre_tokenizer": None}, ["Metaspace"]),
            (unigram | {"pre_tokenizer": {"type": "Digits"}}, ["pre-tokenizer 'Digits'"]),
            (unigram | normalizers({"type": "Lowercase"}), ["normalizer 'Lowercase'"]),
            (unigram | normalizers(charsmap, charsmap), ["normalizer 'Precompiled'"]),
            (unigram | normalizers(charsmap | {"precompiled_charsmap": "a*=="}), ["no base64"]),
            (unigram | normalizers(charsmap | {"precompiled_charsmap": "abc"}), ["no base64"]),
            (unigram | normalizers(charsmap | {"precompiled_charsmap": "AAAA"}), ["charsmap"]),
            (unigram | normalizers(join, drop), ["precompiled_charsmap"]),
            (unigram | normalizers(charsmap, join), ["in some places only"]),
            (unigram | {"model": pieces | {"unk_id": None}}, ["'model.unk_id'"]),
            (unigram | {"model": pieces | {"unk_id": -1}}, ["'model.unk_id'"]),
            (unigram | {"model": pieces | {"vocab": {"a": 1}}}, ["'model.vocab' is missing"]),
            (unigram | {"model": pieces | {"vocab": [["a"]]}}, ["no pair"]),
            (unigram | {"model": pieces | {"vocab": [[1, "a"]]}}, ["no pair"]),
            (unigram | {"model": pieces | {"vocab": [["a", "b"]]}}, ["no pair"]),
            (unigram | {"model": pieces | {"vocab": [["a", 0]] * 5000}}, ["has no id from 0"]),
        ]
        for document, words in cases:
            with self.subTest(words=words):
                writer.write_documents(self.folder, {"tokenizer.json": document})
                self.expect(*words)


class FolderSharedData(FolderCase):
    """The same with the recorded models beside the checkout."""

    CASES = [
        ("gemma2", "gemma2", lambda keys: {"hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0,
                                           "final_logit_softcapping": 30.0, "tie_word_embeddings": True}),
        ("gemma3_text", "gemma3", lambda keys: {"hidden_activation": "gelu_pytorch_tanh", "rope_local_base_freq": 10000.0}),
        ("granite", "families/granite", lambda keys: {
            "embedding_multiplier": keys["granite.embedding_scale"], "residual_multiplier": keys["granite.residual_scale"],
            "attention_multiplier": keys["granite.attention.scale"], "logits_scaling": keys["granite.logit_scale"]}),
        ("olmo2", "families/olmo2", None), ("olmo3", "families/olmo3", None),
        ("cohere2", "families/cohere2", lambda keys: {"layer_norm_eps": keys["cohere2.attention.layer_norm_epsilon"],
                                                      "logit_scale": keys["cohere2.logit_scale"]}),
        ("starcoder2", "families/starcoder2", lambda keys: {
            "norm_epsilon": keys["starcoder2.attention.layer_norm_epsilon"], "hidden_act": "gelu_pytorch_tanh"}),
        ("qwen2_moe", "families/qwen2moe", lambda keys: {
            "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 48}),
        ("qwen3_moe", "qwen3moe", experts("num_experts", "num_experts_per_tok", "moe_intermediate_size")),
        ("gpt_oss", "families/gpt-oss-mxfp4", lambda keys: {
            "num_local_experts": 4, "num_experts_per_tok": 2, "quantization_config": {"quant_method": "mxfp4"}}),
    ]

    def test_gives_the_bits_of_the_file(self):
        for model_type, name, own in self.CASES:
            with self.subTest(name=name):
                self.compare(os.path.join(SHARED, name + ".gguf"), model_type, own)

    REARRANGED = [
        ("qwen3_5", "qwen35"), ("qwen3_5", "qwen35-mtp"), ("qwen3_5_moe", "qwen35moe"), ("qwen3_5_moe", "qwen35moe-mtp"),
        ("qwen3_next", "qwen3next"), ("qwen3_next", "qwen3next-legacy"), ("deepseek_v3", "deepseek3"),
        ("deepseek_v3", "deepseek3-kvb"), ("kimi_k2", "kimi-k2"), ("glm4_moe", "glm4moe"), ("glm4_moe", "glm4moe-qknorm"),
        ("lfm2", "lfm2"), ("lfm2_moe", "lfm2moe"), ("gemma4_text", "gemma4"), ("gemma4", "gemma4-e"), ("gemma4", "gemma4-moe"),
    ]

    def test_gives_the_bits_of_the_file_rearranged(self):
        for model_type, name in self.REARRANGED:
            with self.subTest(name=name):
                # Far layers of its own number of heads and with values of their own: no member of Gemma 4 says that.
                self.compare_rearranged(os.path.join(SHARED, "families", name + ".gguf"), model_type,
                                        says_all=name != "gemma4-e")

    def test_gives_the_embeddings_of_the_file(self):
        for model_type, name in (("bert", "bert"), ("xlm-roberta", "bert"), ("nomic_bert", "nomic-bert"),
                                 ("modernbert", "modern-bert"), ("qwen3", "qwen3-embedding"),
                                 ("gemma3_text", "gemma-embedding")):
            with self.subTest(model_type=model_type):
                self.compare_embeddings(os.path.join(SHARED, "families", name + ".gguf"), model_type)

    # A head as GTE's reranker has it, of random numbers, which takes the first token or the mean of all.
    def test_ranks_as_a_modern_bert_does(self):
        keys, tensors = gguf_reader.read(os.path.join(SHARED, "families", "modern-bert.gguf"))
        width = keys["modern-bert.embedding_length"]
        values = lambda count, middle=0: struct.pack("<%df" % count, *[middle + math.sin(i * i) / 8 for i in range(count)])
        tensors += [gguf_reader.Tensor("cls.weight", [width, width], 0, values(width * width)),
                    gguf_reader.Tensor("cls.norm.weight", [width], 0, values(width, 1)),
                    gguf_reader.Tensor("cls.output.weight", [width, 1], 0, values(width)),
                    gguf_reader.Tensor("cls.output.bias", [1], 0, values(1, 0.25))]
        gguf = os.path.join(self.place.name, "reranker.gguf")
        seen = set()
        for number, pooling in ((1, "mean"), (2, "cls")):
            with self.subTest(pooling=pooling):
                gguf_reader.write(gguf, keys | {"modern-bert.pooling_type": number}, tensors)
                own = kinds.MEMBERS["modernbert"](keys) | {"architectures": ["ModernBertForSequenceClassification"],
                                                           "classifier_pooling": pooling, "classifier_activation": "gelu"}
                writer.write_folder(self.folder, "modernbert", keys, tensors, own)
                found = relevances(self.folder)
                self.assertEqual(found, relevances(gguf))
                self.compare_plans()
                seen |= set(found)
        self.assertEqual(len(seen), 6)

    def test_cuts_texts_as_embedding_models_do(self):
        place = os.path.join(SHARED, "..", "tokenizers", "families")
        names = ["real/bert-bge", "real/unigram-ja"]
        names += ["real/unigram-en" + form for form in ("", "-identity", "-keepspaces", "-noprefix", "-userdefined")]
        names += ["synthetic/wordpiece-" + form for form in ("cased", "cased-stripaccents", "lower-keepaccents", "uncased")]
        for name in names:
            with self.subTest(name=name):
                self.compare_tokenizers(os.path.join(place, name + ".gguf"), "llama")

    # Its recorded factors follow no rule that config.json could say.
    def test_takes_exaone4(self):
        for name in ("exaone4", "exaone4-swa"):
            with self.subTest(name=name):
                keys, tensors = gguf_reader.read(os.path.join(SHARED, "families", name + ".gguf"))
                gguf = os.path.join(self.place.name, "plain.gguf")
                gguf_reader.write(gguf, keys, [t for t in tensors if t.name != "rope_freqs.weight"])
                self.compare(gguf, "exaone4")

    # Its two lists of factors stand in config.json there, and in tensors here.
    def test_takes_the_factors_of_phi3(self):
        gguf = os.path.join(SHARED, "families", "phi3-long.gguf")
        keys, tensors = gguf_reader.read(gguf)
        lists = {t.name: struct.unpack("<%df" % t.dims[0], t.data) for t in tensors if t.name.startswith("rope_f")}
        own = {"partial_rotary_factor": keys["phi3.rope.dimension_count"] / keys["phi3.attention.key_length"],
               "original_max_position_embeddings": keys["phi3.rope.scaling.original_context_length"],
               "rope_scaling": {"type": "longrope", "long_factor": lists["rope_factors_long.weight"],
                                "short_factor": lists["rope_factors_short.weight"],
                                "attention_factor": keys["phi3.rope.scaling.attn_factor"]}}
        writer.write_folder(self.folder, "phi3", keys, tensors, own)
        self.assertEqual(logits(gguf, self.place.name), logits(self.folder, self.place.name))


if __name__ == "__main__":
    suite = sys.argv[4:]
    unittest.main(argv=sys.argv[:1] + (suite or ["Folder", "FolderErrors"]))

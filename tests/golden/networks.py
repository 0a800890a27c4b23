"""The golden models: small networks with random weights, a function for each family. MODELS lists them.

Sizes are chosen so that a mistake shows: the vocabulary is no multiple of a panel, heads times their
size is not the width, epsilons and factors are far from the usual ones, the context that YaRN stretches
is shorter than the tokens put in.
"""

import math
import struct

from gguf_writer import (BF16, BOOL, F16, F32, FLOAT32, INT32, IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1,
                         Q5_K, Q6_K, Q8_0, STRING, UINT32, Gguf)
from random_weights import RandomWeights
from tiny_vocabulary import add_bpe, add_spm, bpe_vocabulary, spm_vocabulary


class Network:
    """A model file in the making: keys of one architecture, tensors with random values.

    kind_of(tensor) is the type of a matrix; vectors are always F32. The seed is chosen such that the
    greedy tokens differ, and that the second best is never close to the best.
    """

    def __init__(self, name, arch, seed=0, kind_of=lambda tensor: F32):
        self.file, self._arch, self._kind_of = Gguf(), arch, kind_of
        self._weights = RandomWeights("%s/%d" % (name, seed))
        self.file.key("general.architecture", STRING, arch).key("general.name", STRING, name)

    def key(self, name, kind, value):
        self.file.key(self._arch + "." + name, kind, value)

    def list(self, name, kind, values):
        self.file.list(self._arch + "." + name, kind, values)

    def matrix(self, name, rows, columns, spread=None):
        """Elements of a size that keeps that of a row, unless a spread is given."""
        kind, spread = self._kind_of(name), 1 / math.sqrt(columns) if spread is None else spread
        data = self._weights.stored(name, kind, rows * columns, spread)
        self.file.tensor(name, [columns, rows], kind, data)

    def matrices(self, name, count, rows, columns):
        """As many matrices in one tensor."""
        kind = self._kind_of(name)
        data = self._weights.stored(name, kind, count * rows * columns, 1 / math.sqrt(columns))
        self.file.tensor(name, [columns, rows, count], kind, data)

    def vector(self, name, values):
        self.file.tensor(name, [len(values)], F32, struct.pack("<%df" % len(values), *values))

    def bytes(self):
        data = self.file.bytes()
        return data + bytes(-len(data) % self.file.alignment)

    def norm(self, name, count):
        self.vector(name, [1 + 0.2 * x for x in self._weights.values(name, count)])

    def bias(self, name, count):
        self.vector(name, [0.2 * x for x in self._weights.values(name, count)])

    def biases(self, name, rows, count):
        values = [0.2 * x for x in self._weights.values(name, rows * count)]
        self.file.tensor(name, [count, rows], F32, struct.pack("<%df" % len(values), *values))


def _decoder(n, layers=2, embedding=96, heads=4, kv_heads=2, head_dim=32, feed_forward=160, context=512,
             rope_base=10000.0, rope_factors=(), qkv_bias=False, head_norm=False, experts=(), vocabulary=0,
             tied=False, feed_forward_norm="ffn_norm", norms_behind=()):
    """A network of the kind that llama began; what families add to it is an argument."""
    for name, value in (("block_count", layers), ("context_length", context),
                        ("embedding_length", embedding), ("feed_forward_length", feed_forward),
                        ("attention.head_count", heads), ("attention.head_count_kv", kv_heads),
                        ("attention.key_length", head_dim), ("attention.value_length", head_dim),
                        ("rope.dimension_count", head_dim), ("vocab_size", vocabulary)):
        n.key(name, UINT32, value)
    n.key("attention.layer_norm_rms_epsilon", FLOAT32, 1e-3)
    n.key("rope.freq_base", FLOAT32, rope_base)
    n.matrix("token_embd.weight", vocabulary, embedding, spread=0.05 if tied else 1.0)
    if rope_factors:
        n.vector("rope_freqs.weight", rope_factors)
    for layer in range(layers):
        block = "blk.%d." % layer
        n.norm(block + "attn_norm.weight", embedding)
        for part, rows in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            n.matrix(block + "attn_%s.weight" % part, rows * head_dim, embedding)
            if qkv_bias:
                n.bias(block + "attn_%s.bias" % part, rows * head_dim)
            if head_norm and part != "v":
                n.norm(block + "attn_%s_norm.weight" % part, head_dim)
        n.matrix(block + "attn_output.weight", embedding, heads * head_dim)
        for norm in (feed_forward_norm, *norms_behind):
            n.norm(block + norm + ".weight", embedding)
        if experts:
            _experts(n, block, embedding, *experts)
            continue
        n.matrix(block + "ffn_gate.weight", feed_forward, embedding)
        n.matrix(block + "ffn_up.weight", feed_forward, embedding)
        n.matrix(block + "ffn_down.weight", embedding, feed_forward)
    n.norm("output_norm.weight", embedding)
    if not tied:
        n.matrix("output.weight", vocabulary, embedding)


def _experts(n, block, embedding, count, width):
    """Scores far apart, so that a rounding does not choose another expert."""
    n.matrix(block + "ffn_gate_inp.weight", count, embedding, spread=3 / math.sqrt(embedding))
    n.matrices(block + "ffn_gate_exps.weight", count, width, embedding)
    n.matrices(block + "ffn_up_exps.weight", count, width, embedding)
    n.matrices(block + "ffn_down_exps.weight", count, embedding, width)


def _gemma3(name, seed=0, window=24):
    """Five layers of six see a window; norms before and behind each block."""
    n = Network(name, "gemma3", seed)
    n.key("attention.sliding_window", UINT32, window)
    _decoder(n, layers=6, embedding=64, kv_heads=1, head_dim=16, feed_forward=96, rope_base=1e6, tied=True,
             head_norm=True, vocabulary=len(spm_vocabulary()[0]),
             norms_behind=("post_attention_norm", "post_ffw_norm"))
    add_spm(n.file)
    return n.bytes()


def _gpt_oss(name, seed=0, window=128):
    """Every second layer sees a window; a sink a head, biases everywhere, all feed-forwards are mixtures."""
    n, (width, heads, experts, hidden) = Network(name, "gpt-oss", seed), (64, 4, 6, 32)
    for key, value in (("attention.sliding_window", window), ("expert_count", experts), ("expert_used_count", 2),
                       ("expert_feed_forward_length", hidden)):
        n.key(key, UINT32, value)
    _decoder(n, layers=4, embedding=width, heads=heads, head_dim=16, feed_forward=hidden, qkv_bias=True,
             rope_base=150000.0, experts=(experts, hidden), vocabulary=len(spm_vocabulary()[0]),
             feed_forward_norm="post_attention_norm")
    for layer in range(4):
        block = "blk.%d." % layer
        n.bias(block + "attn_sinks.weight", heads)
        n.bias(block + "attn_output.bias", width)
        n.bias(block + "ffn_gate_inp.bias", experts)
        for part, rows in (("gate", hidden), ("up", hidden), ("down", width)):
            n.biases(block + "ffn_%s_exps.bias" % part, experts, rows)
    add_spm(n.file)
    return n.bytes()


def _lfm2(name, seed=0, taps=3):
    """Short convolutions in the even layers, attention in the odd."""
    n, (width, heads, kv_heads, head_dim, hidden) = Network(name, "lfm2", seed), (64, 4, 2, 16, 96)
    vocabulary = len(spm_vocabulary()[0])
    for key, value in (("block_count", 4), ("context_length", 512), ("embedding_length", width),
                       ("feed_forward_length", hidden), ("attention.head_count", heads),
                       ("shortconv.l_cache", taps), ("vocab_size", vocabulary)):
        n.key(key, UINT32, value)
    n.list("attention.head_count_kv", INT32, [0, kv_heads, 0, kv_heads])
    n.key("attention.layer_norm_rms_epsilon", FLOAT32, 1e-3)
    n.key("rope.freq_base", FLOAT32, 1e6)
    n.matrix("token_embd.weight", vocabulary, width, spread=0.05)
    for layer in range(4):
        block = "blk.%d." % layer
        n.norm(block + "attn_norm.weight", width)
        if layer % 2 == 0:
            n.matrix(block + "shortconv.in_proj.weight", 3 * width, width)
            n.matrix(block + "shortconv.conv.weight", width, taps)
            n.matrix(block + "shortconv.out_proj.weight", width, width, spread=0.5)
        else:
            for part, rows in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
                n.matrix(block + "attn_%s.weight" % part, rows * head_dim, width)
                if part != "v":
                    n.norm(block + "attn_%s_norm.weight" % part, head_dim)
            n.matrix(block + "attn_output.weight", width, heads * head_dim)
        n.norm(block + "ffn_norm.weight", width)
        n.matrix(block + "ffn_gate.weight", hidden, width)
        n.matrix(block + "ffn_up.weight", hidden, width)
        n.matrix(block + "ffn_down.weight", width, hidden)
    n.norm("token_embd_norm.weight", width)
    add_spm(n.file)
    return n.bytes()


def _qwen35(name, seed=0):
    """Gated delta nets, two value heads to a key head, and gated attention in every fourth layer."""
    n, (width, heads, kv_heads, head_dim, hidden) = Network(name, "qwen35", seed), (64, 4, 2, 32, 96)
    vocabulary, (key_heads, value_heads, state, taps) = len(spm_vocabulary()[0]), (2, 4, 16, 4)
    inner, channels = value_heads * state, (2 * key_heads + value_heads) * state
    for key, value in (("block_count", 4), ("context_length", 512), ("embedding_length", width),
                       ("feed_forward_length", hidden), ("attention.head_count", heads),
                       ("attention.head_count_kv", kv_heads), ("attention.key_length", head_dim),
                       ("attention.value_length", head_dim), ("rope.dimension_count", 16),
                       ("ssm.conv_kernel", taps), ("ssm.inner_size", inner), ("ssm.state_size", state),
                       ("ssm.time_step_rank", value_heads), ("ssm.group_count", key_heads),
                       ("full_attention_interval", 4), ("vocab_size", vocabulary)):
        n.key(key, UINT32, value)
    n.key("attention.layer_norm_rms_epsilon", FLOAT32, 1e-3)
    n.key("rope.freq_base", FLOAT32, 1e7)
    n.matrix("token_embd.weight", vocabulary, width, spread=0.05)
    for layer in range(4):
        block = "blk.%d." % layer
        n.norm(block + "attn_norm.weight", width)
        if layer < 3:
            n.matrix(block + "attn_qkv.weight", channels, width)
            n.matrix(block + "attn_gate.weight", inner, width)
            n.matrix(block + "ssm_conv1d.weight", channels, taps)
            n.bias(block + "ssm_dt.bias", value_heads)
            n.vector(block + "ssm_a", [-0.5 - 0.25 * head for head in range(value_heads)])
            n.matrix(block + "ssm_beta.weight", value_heads, width)
            n.matrix(block + "ssm_alpha.weight", value_heads, width)
            n.norm(block + "ssm_norm.weight", state)
            n.matrix(block + "ssm_out.weight", width, inner)
        else:
            n.matrix(block + "attn_q.weight", 2 * heads * head_dim, width)
            n.matrix(block + "attn_k.weight", kv_heads * head_dim, width)
            n.matrix(block + "attn_v.weight", kv_heads * head_dim, width)
            n.norm(block + "attn_q_norm.weight", head_dim)
            n.norm(block + "attn_k_norm.weight", head_dim)
            n.matrix(block + "attn_output.weight", width, heads * head_dim)
        n.norm(block + "post_attention_norm.weight", width)
        n.matrix(block + "ffn_gate.weight", hidden, width)
        n.matrix(block + "ffn_up.weight", hidden, width)
        n.matrix(block + "ffn_down.weight", width, hidden)
    n.norm("output_norm.weight", width)
    add_spm(n.file)
    return n.bytes()


def _deepseek2(name, seed=0):
    """Latent attention as in DeepSeek V2 Lite, keys and values of all heads in one tensor."""
    n, (width, heads, hidden, rank) = Network(name, "deepseek2", seed), (64, 4, 96, 32)
    vocabulary, (nope, turned, value), (experts, expert) = len(spm_vocabulary()[0]), (24, 16, 20), (6, 32)
    for key, value_of_key in (("block_count", 3), ("context_length", 512), ("embedding_length", width),
                              ("feed_forward_length", hidden), ("attention.head_count", heads),
                              ("attention.head_count_kv", heads), ("attention.key_length", nope + turned),
                              ("attention.value_length", value), ("attention.kv_lora_rank", rank),
                              ("rope.dimension_count", turned), ("leading_dense_block_count", 1),
                              ("expert_count", experts), ("expert_used_count", 2),
                              ("expert_feed_forward_length", expert), ("expert_shared_count", 1),
                              ("vocab_size", vocabulary)):
        n.key(key, UINT32, value_of_key)
    n.key("attention.layer_norm_rms_epsilon", FLOAT32, 1e-6)
    n.key("rope.freq_base", FLOAT32, 1e4)
    n.matrix("token_embd.weight", vocabulary, width, spread=0.05)
    for layer in range(3):
        block = "blk.%d." % layer
        n.norm(block + "attn_norm.weight", width)
        n.matrix(block + "attn_q.weight", heads * (nope + turned), width)
        n.matrix(block + "attn_kv_a_mqa.weight", rank + turned, width)
        n.norm(block + "attn_kv_a_norm.weight", rank)
        n.matrix(block + "attn_kv_b.weight", heads * (nope + value), rank)
        n.matrix(block + "attn_output.weight", width, heads * value)
        n.norm(block + "ffn_norm.weight", width)
        if layer == 0:
            n.matrix(block + "ffn_gate.weight", hidden, width)
            n.matrix(block + "ffn_up.weight", hidden, width)
            n.matrix(block + "ffn_down.weight", width, hidden)
            continue
        _experts(n, block, width, experts, expert)
        n.matrix(block + "ffn_gate_shexp.weight", expert, width)
        n.matrix(block + "ffn_up_shexp.weight", expert, width)
        n.matrix(block + "ffn_down_shexp.weight", width, expert)
    n.norm("output_norm.weight", width)
    add_spm(n.file)
    return n.bytes()


def _bert(name, seed=0, ranks=False):
    """BERT: no mask, token types, learned positions, norms of the sums. The first token stands for the text."""
    n, (width, heads, hidden, context) = Network(name, "bert", seed), (64, 4, 96, 96)
    vocabulary = len(spm_vocabulary()[0])
    for key, value in (("block_count", 2), ("context_length", context), ("embedding_length", width),
                       ("feed_forward_length", hidden), ("attention.head_count", heads),
                       ("pooling_type", 2), ("vocab_size", vocabulary)):
        n.key(key, UINT32, value)
    n.key("attention.layer_norm_epsilon", FLOAT32, 1e-3)
    n.key("attention.causal", BOOL, 0)
    n.file.key("tokenizer.ggml.token_type_count", UINT32, 2)
    n.matrix("token_embd.weight", vocabulary, width)
    n.matrix("token_types.weight", 2, width)
    n.matrix("position_embd.weight", context, width)

    def norm(tensor):
        n.norm(tensor + ".weight", width)
        n.bias(tensor + ".bias", width)

    norm("token_embd_norm")
    for layer in range(2):
        block = "blk.%d." % layer
        for part, rows, columns in (("attn_q", width, width), ("attn_k", width, width), ("attn_v", width, width),
                                    ("attn_output", width, width), ("ffn_up", hidden, width),
                                    ("ffn_down", width, hidden)):
            n.matrix(block + part + ".weight", rows, columns)
            n.bias(block + part + ".bias", rows)
        norm(block + "attn_output_norm")
        norm(block + "layer_output_norm")
    if ranks:
        for part, rows in (("cls", width), ("cls.output", 1)):
            n.matrix(part + ".weight", rows, width)
            n.bias(part + ".bias", rows)
    add_spm(n.file)
    if ranks:
        n.file.key("tokenizer.ggml.add_eos_token", BOOL, 1)
    return n.bytes()


def _mixtral(name, seed=0):
    n = Network(name, "llama", seed)
    n.key("expert_count", UINT32, 5)
    n.key("expert_used_count", UINT32, 2)
    _decoder(n, vocabulary=len(spm_vocabulary()[0]), feed_forward=40, experts=(5, 40))
    add_spm(n.file)
    return n.bytes()


def _llama(name, scaling=None, original_context=0, seed=0, kind_of=lambda tensor: F32, arch="llama", **shape):
    n = Network(name, arch, seed, kind_of)
    _decoder(n, vocabulary=len(spm_vocabulary()[0]), **shape)
    if scaling:
        n.key("rope.scaling.type", STRING, scaling)
        n.key("rope.scaling.factor", FLOAT32, 4.0)
    if original_context:
        n.key("rope.scaling.original_context_length", UINT32, original_context)
    add_spm(n.file)
    return n.bytes()


def _qwen(name, seed, used=0, **shape):
    n = Network(name, name, seed)
    if used:
        n.key("expert_count", UINT32, shape["experts"][0])
        n.key("expert_used_count", UINT32, used)
        n.key("expert_feed_forward_length", UINT32, shape["experts"][1])
    _decoder(n, vocabulary=len(bpe_vocabulary()[0]), rope_base=1000000.0, tied=True, **shape)
    add_bpe(n.file, "qwen2")
    return n.bytes()


def _qwen_rank(name):
    """A decoder that says yes or no of a pair of texts, which its template puts to it."""
    n, width = Network(name, "qwen3"), 96
    _decoder(n, vocabulary=len(bpe_vocabulary()[0]), embedding=width, tied=True, head_norm=True)
    n.matrix("cls.output.weight", 2, width)
    n.key("pooling_type", UINT32, 4)
    n.list("classifier.output_labels", STRING, ["yes", "no"])
    add_bpe(n.file, "qwen2")
    n.file.key("tokenizer.chat_template.rerank", STRING, "<|end|>q: {query} d: {document}<|end|>")
    return n.bytes()


# Llama with rows long enough for blocks of 256.
def _llama_k(name, kind_of):
    return _llama(name, kind_of=kind_of, embedding=256, heads=8, feed_forward=256)


def _mix(most, more, some, output=Q6_K):
    """What files of several types have: `more` bits for V and down of the first layer, `some` of the
    second, others `most`; the last matrix has the most bits of all."""
    def kind_of(tensor):
        if tensor == "output.weight":
            return output
        if "attn_v" in tensor or "ffn_down" in tensor:
            return more if tensor.startswith("blk.0.") else some
        return most
    return kind_of


TYPES = {"f32": F32, "F16": F16, "BF16": BF16, "Q8_0": Q8_0, "Q4_0": Q4_0, "Q4_1": Q4_1, "Q5_0": Q5_0,
         "Q5_1": Q5_1, "Q2_K": Q2_K, "Q3_K": Q3_K, "Q4_K": Q4_K, "Q5_K": Q5_K, "Q6_K": Q6_K,
         "IQ4_NL": IQ4_NL, "IQ4_XS": IQ4_XS}
MIXES = {"Q3_K_M": _mix(Q3_K, Q5_K, Q4_K), "Q4_K_M": _mix(Q4_K, Q6_K, Q4_K),
         "Q5_K_M": _mix(Q5_K, Q6_K, Q5_K)}

# Name: a function that gives the bytes of the file.
MODELS = {
    "llama": lambda: _llama("llama", seed=8),
    "llama-linear": lambda: _llama("llama-linear", scaling="linear", seed=9, kv_heads=1),
    "llama-yarn": lambda: _llama("llama-yarn", scaling="yarn", original_context=16, seed=1),
    "llama-freqs": lambda: _llama("llama-freqs", seed=1, rope_base=500000.0, kv_heads=4,
                                  rope_factors=[1 + i * 0.5 for i in range(16)]),
    "qwen2": lambda: _qwen("qwen2", seed=9, qkv_bias=True, heads=6, head_dim=16),
    "qwen3": lambda: _qwen("qwen3", seed=11, head_norm=True),
    "internlm2": lambda: _llama("internlm2", seed=23, arch="internlm2", heads=3, kv_heads=1),
    "seed-oss": lambda: _llama("seed-oss", seed=12, arch="seed_oss", qkv_bias=True,
                               feed_forward_norm="post_attention_norm"),
    "smollm3": lambda: _llama("smollm3", seed=6, arch="smollm3", layers=5, embedding=64, heads=2,
                              kv_heads=1, feed_forward=80),
    "moe": lambda: _mixtral("moe", seed=4),
    "qwen3moe": lambda: _qwen("qwen3moe", seed=44, head_norm=True, used=3, experts=(9, 24)),
}
for _name, _kind in TYPES.items():
    MODELS["llama-k-" + _name] = lambda name=_name, kind=_kind: _llama_k("llama-k-" + name,
                                                                         lambda tensor: kind)
for _name, _kind_of in MIXES.items():
    MODELS["llama-k-" + _name] = lambda name=_name, kind_of=_kind_of: _llama_k("llama-k-" + name, kind_of)

# For the tests of schedules and of the server, which compare skald with itself. No other engine has recorded them.
UNRECORDED = {
    "bert": lambda: _bert("bert"),
    "bert-rank": lambda: _bert("bert-rank", ranks=True),
    "deepseek2": lambda: _deepseek2("deepseek2"),
    "gemma3": lambda: _gemma3("gemma3"),
    "gemma3-1024": lambda: _gemma3("gemma3-1024", window=1024),
    "gpt-oss": lambda: _gpt_oss("gpt-oss"),
    "lfm2": lambda: _lfm2("lfm2"),
    "qwen3-rank": lambda: _qwen_rank("qwen3-rank"),
    "qwen35": lambda: _qwen35("qwen35"),
}

"""Writes a folder as Hugging Face's programs do, from the weights of a GGUF file in float types (and
MXFP4): the way back from what src/huggingface does, written from the published files and apart from it.
Python 3 standard library only.
"""

import base64
import json
import os
import re
import struct

import folder_kinds

F32, F16, BF16, MXFP4 = 0, 1, 30, 39
_TYPE_NAMES = {F32: "F32", F16: "F16", BF16: "BF16"}
_BYTES = {F32: 4, F16: 2, BF16: 2}

_NAMES = [
    (r"token_embd\.weight", "model.embed_tokens.weight"),
    (r"output_norm\.(\w+)", r"model.norm.\1"),
    (r"output\.weight", "lm_head.weight"),
    (r"blk\.(\d+)\.attn_norm\.(\w+)", r"model.layers.\1.input_layernorm.\2"),
    (r"blk\.(\d+)\.attn_([qkv])\.(\w+)", r"model.layers.\1.self_attn.\2_proj.\3"),
    (r"blk\.(\d+)\.attn_output\.(\w+)", r"model.layers.\1.self_attn.o_proj.\2"),
    (r"blk\.(\d+)\.attn_([qk])_norm\.weight", r"model.layers.\1.self_attn.\2_norm.weight"),
    (r"blk\.(\d+)\.ffn_norm\.(\w+)", r"model.layers.\1.post_attention_layernorm.\2"),
    (r"blk\.(\d+)\.post_attention_norm\.weight", r"model.layers.\1.post_attention_layernorm.weight"),
    (r"blk\.(\d+)\.post_ffw_norm\.weight", r"model.layers.\1.post_feedforward_layernorm.weight"),
    (r"blk\.(\d+)\.ffn_(gate|up|down)\.weight", r"model.layers.\1.mlp.\2_proj.weight"),
    (r"blk\.(\d+)\.ffn_gate_inp\.weight", r"model.layers.\1.mlp.gate.weight"),
    (r"blk\.(\d+)\.ffn_(gate|up|down)_exps\.weight", r"model.layers.\1.mlp.experts.#.\2_proj.weight"),
    (r"blk\.(\d+)\.ffn_(gate|up|down)_shexp\.weight", r"model.layers.\1.mlp.shared_expert.\2_proj.weight"),
    (r"blk\.(\d+)\.ffn_gate_inp_shexp\.weight", r"model.layers.\1.mlp.shared_expert_gate.weight"),
]
_MIXTRAL = [
    (r"blk\.(\d+)\.ffn_gate_inp\.weight", r"model.layers.\1.block_sparse_moe.gate.weight"),
    (r"blk\.(\d+)\.ffn_gate_exps\.weight", r"model.layers.\1.block_sparse_moe.experts.#.w1.weight"),
    (r"blk\.(\d+)\.ffn_down_exps\.weight", r"model.layers.\1.block_sparse_moe.experts.#.w2.weight"),
    (r"blk\.(\d+)\.ffn_up_exps\.weight", r"model.layers.\1.block_sparse_moe.experts.#.w3.weight"),
]
_PHI3 = [
    (r"blk\.(\d+)\.attn_qkv\.weight", r"model.layers.\1.self_attn.qkv_proj.weight"),
    (r"blk\.(\d+)\.ffn_up\.weight", r"model.layers.\1.mlp.gate_up_proj.weight"),
]
_STARCODER2 = [
    (r"blk\.(\d+)\.ffn_up\.(\w+)", r"model.layers.\1.mlp.c_fc.\2"),
    (r"blk\.(\d+)\.ffn_down\.(\w+)", r"model.layers.\1.mlp.c_proj.\2"),
]
_GPT_OSS = [
    (r"blk\.(\d+)\.attn_sinks\.weight", r"model.layers.\1.self_attn.sinks"),
    (r"blk\.(\d+)\.ffn_gate_inp\.(\w+)", r"model.layers.\1.mlp.router.\2"),
]
# model_type: (names before the common ones, rows of heads move, 1 is taken from norms)
_KINDS = {
    "llama": ([], True, False), "mistral": ([], True, False), "mixtral": (_MIXTRAL, True, False),
    "granite": ([], True, False), "smollm3": ([], True, False), "qwen2": ([], False, False),
    "qwen3": ([], False, False), "qwen2_moe": ([], False, False), "qwen3_moe": ([], False, False),
    "olmo2": ([], False, False), "olmo3": ([], False, False), "seed_oss": ([], False, False),
    "exaone4": ([], False, False), "cohere2": ([], False, False), "starcoder2": (_STARCODER2, False, False),
    "phi3": (_PHI3, False, False), "gpt_oss": (_GPT_OSS, False, False),
} | folder_kinds.KINDS


class Stored:
    """One tensor as it goes into a file."""

    def __init__(self, name, kind, shape, data):
        self.name, self.kind, self.shape, self.data = name, kind, list(shape), data


def _half_rows(data, row_bytes, heads):
    """Rows of each head from neighbours to halves."""
    rows = [data[i:i + row_bytes] for i in range(0, len(data), row_bytes)]
    size = len(rows) // heads
    moved = []
    for head in range(heads):
        one = rows[head * size:(head + 1) * size]
        moved += one[0::2] + one[1::2]
    return b"".join(moved)


def _less_one(data):
    values = struct.unpack("<%df" % (len(data) // 4), data)
    return struct.pack("<%df" % len(values), *[value - 1 for value in values])


def _stored_name(patterns, name):
    for pattern, replacement in patterns:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, replacement, name)
    raise ValueError(name)


def _mxfp4(base, parts):
    """Gate and up (rows alternate), or down: blocks and scales."""
    experts, rows, columns = parts[0].dims[2], parts[0].dims[1], parts[0].dims[0]
    row_bytes = columns // 32 * 17
    blocks, scales = bytearray(), bytearray()
    for row in range(experts * rows):
        for part in parts:
            for at in range(row * row_bytes, (row + 1) * row_bytes, 17):
                block = part.data[at:at + 17]
                scales.append(block[0])
                values = [byte & 15 for byte in block[1:]] + [byte >> 4 for byte in block[1:]]
                blocks += bytes(values[2 * i] | values[2 * i + 1] << 4 for i in range(16))
    shape = [experts, rows * len(parts), columns // 32]
    return [Stored(base + "_blocks", "U8", shape + [16], bytes(blocks)), Stored(base + "_scales", "U8", shape, bytes(scales))]


def _gpt_oss_experts(layer, tensors):
    """The tensors of a layer's experts; takes them out of `tensors`."""
    base = "model.layers.%d.mlp.experts." % layer
    take = lambda name: tensors.pop("blk.%d.ffn_%s" % (layer, name))
    gate, up, down = take("gate_exps.weight"), take("up_exps.weight"), take("down_exps.weight")
    stored = _mxfp4(base + "gate_up_proj", [gate, up]) + _mxfp4(base + "down_proj", [down])
    gate, up, down = take("gate_exps.bias"), take("up_exps.bias"), take("down_exps.bias")
    both = b"".join(gate.data[i:i + 4] + up.data[i:i + 4] for i in range(0, len(gate.data), 4))
    stored.append(Stored(base + "gate_up_proj_bias", "F32", [gate.dims[1], 2 * gate.dims[0]], both))
    stored.append(Stored(base + "down_proj_bias", "F32", [down.dims[1], down.dims[0]], down.data))
    return stored


def tensors_of(model_type, keys, tensors):
    """The tensors of a GGUF file as the folder has them."""
    names, moves_rows, less_one = _KINDS[model_type]
    family = keys["general.architecture"]
    heads = keys[family + ".attention.head_count"]
    heads_of = {"q": heads, "k": keys.get(family + ".attention.head_count_kv", heads)}
    layers = "blk.%d." % (keys[family + ".block_count"] - keys.get(family + ".nextn_predict_layers", 0))
    tensors = folder_kinds.arranged(model_type, keys, tensors)
    by_name = {tensor.name: tensor for tensor in tensors if not tensor.name.startswith(("rope_f", "dense_"))}
    stored = []
    if model_type == "gpt_oss":
        for layer in range(keys[family + ".block_count"]):
            stored += _gpt_oss_experts(layer, by_name)
    for tensor in by_name.values():
        # Qwen's layers that guess further tokens stand apart.
        is_apart = model_type.startswith("qwen3_") and tensor.name.startswith(layers)
        name = "mtp." + tensor.name if is_apart else _stored_name(names + _NAMES, tensor.name)
        data, shape = tensor.data, list(reversed(tensor.dims))
        head = re.search(r"\.([qk])_proj\.", name)
        if moves_rows and head:
            row_bytes = _BYTES[tensor.kind] * (tensor.dims[0] if len(tensor.dims) > 1 else 1)
            data = _half_rows(data, row_bytes, heads_of[head.group(1)])
        if less_one and name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
            data = _less_one(data)
        if name.endswith("shared_expert_gate.weight"):
            shape = [1] + shape
        kind = _TYPE_NAMES[tensor.kind]
        if "#" not in name:
            stored.append(Stored(name, kind, shape, data))
            continue
        size = len(data) // shape[0]
        for expert in range(shape[0]):
            part = data[expert * size:(expert + 1) * size]
            stored.append(Stored(name.replace("#", str(expert)), kind, shape[1:], part))
    return stored


def config_of(model_type, keys):
    """config.json of a GGUF file's keys, but for what a kind of model has of its own."""
    family = keys["general.architecture"] + "."
    get = lambda name, default=None: keys.get(family + name, default)
    heads = get("attention.head_count")
    config = {
        "model_type": model_type, "architectures": ["X"], "torch_dtype": "float32",
        "hidden_size": get("embedding_length"), "num_hidden_layers": get("block_count"),
        "num_attention_heads": heads, "num_key_value_heads": get("attention.head_count_kv", heads),
        "head_dim": get("attention.key_length"), "intermediate_size": get("feed_forward_length"),
        "max_position_embeddings": get("context_length"), "rope_theta": get("rope.freq_base", 10000.0),
        "vocab_size": len(keys["tokenizer.ggml.tokens"]), "sliding_window": get("attention.sliding_window"),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon"),
        "bos_token_id": keys.get("tokenizer.ggml.bos_token_id"), "eos_token_id": keys.get("tokenizer.ggml.eos_token_id"),
    }
    kind = get("rope.scaling.type")
    if kind:
        config["rope_scaling"] = {"rope_type": kind, "factor": get("rope.scaling.factor")}
        if kind == "yarn":
            config["rope_scaling"]["original_max_position_embeddings"] = get("rope.scaling.original_context_length")
    return config


def _spm_merges(tokens, scores, types):
    """As transformers makes them: every way to cut a token in two, best tokens first."""
    normal = {token: scores[i] for i, token in enumerate(tokens) if types[i] == 1}
    merges = []
    for token in sorted(normal, key=lambda token: -normal[token]):
        for cut in range(1, len(token)):
            if token[:cut] in normal and token[cut:] in normal:
                merges.append([token[:cut], token[cut:]])
    return merges


def _frame(before, behind):
    """The post-processor that puts these tokens around a text."""
    special = lambda token: [{"SpecialToken": {"id": token, "type_id": 0}}] if token else []
    single = special(before) + [{"Sequence": {"id": "A", "type_id": 0}}] + special(behind)
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}


def _word_piece(get, added):
    tokens, types = get("tokens"), get("token_type")
    respelled = lambda token: token[1:] if token.startswith("\u2581") else "##" + token
    spelled = [token if kind == 3 else respelled(token) for token, kind in zip(tokens, types)]
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                  "strip_accents": get("normalizer.strip_accents"), "lowercase": get("normalizer.lowercase", True)}
    model = {"type": "WordPiece", "unk_token": tokens[get("unknown_token_id")], "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(spelled)}}
    return {"added_tokens": added, "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": model,
            "post_processor": _frame(tokens[get("cls_token_id")], tokens[get("seperator_token_id")])}


def _unigram(get, added):
    tokens, steps = get("tokens"), []
    charsmap = get("precompiled_charsmap")
    if charsmap:
        coded = base64.b64encode(bytes(byte & 255 for byte in charsmap)).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": coded})
    mark = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always" if get("add_space_prefix", True) else "never"}
    pre_tokenizer = mark
    if get("remove_extra_whitespaces", False):
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, mark]}
    model = {"type": "Unigram", "unk_id": get("unknown_token_id"), "vocab": [list(pair) for pair in zip(tokens, get("scores"))]}
    frame = _frame(tokens[get("bos_token_id")] if get("add_bos_token", False) else None,
                   tokens[get("eos_token_id")] if get("add_eos_token", True) else None)
    return {"added_tokens": added, "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
            "pre_tokenizer": pre_tokenizer, "model": model, "post_processor": frame}


def tokenizer_of(keys):
    """tokenizer.json of a GGUF file's keys."""
    get = lambda name, default=None: keys.get("tokenizer.ggml." + name, default)
    tokens = get("tokens")
    types = get("token_type", [1] * len(tokens))
    # Unigram's unknown token is named by its number.
    special = (3,) if get("model") == "t5" else (2, 3)
    added = [{"id": i, "content": tokens[i], "special": True} for i in range(len(tokens)) if types[i] in special]
    added += [{"id": i, "content": tokens[i], "special": False} for i in range(len(tokens)) if types[i] == 4]
    if get("model") == "bert":
        return _word_piece(get, added)
    if get("model") == "t5":
        return _unigram(get, added)
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}}
    if get("model") == "gpt2":
        model["merges"] = get("merges")
        splitter = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
        return {"added_tokens": added, "normalizer": None, "pre_tokenizer": splitter, "model": model}
    if get("model") == "gemma4":
        model |= {"byte_fallback": True, "merges": [merge.split(" ") for merge in get("merges")], "unk_token": "<unk>"}
        space = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
        split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
        return {"added_tokens": added, "normalizer": space, "pre_tokenizer": split, "model": model}
    model |= {"byte_fallback": True, "merges": _spm_merges(tokens, get("scores"), types), "unk_token": "<unk>"}
    steps = [{"type": "Prepend", "prepend": "\u2581"}] if get("add_space_prefix", True) else []
    steps.append({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})
    frame = _frame(tokens[get("bos_token_id")], tokens[get("eos_token_id")]) if get("add_eos_token", False) else None
    return {"added_tokens": added, "normalizer": {"type": "Sequence", "normalizers": steps}, "model": model,
            "post_processor": frame}


def tokenizer_config_of(keys):
    get = lambda name, default=None: keys.get("tokenizer.ggml." + name, default)
    tokens = get("tokens")
    named = {name: tokens[get(key)] for name, key in (
        ("bos_token", "bos_token_id"), ("eos_token", "eos_token_id"), ("unk_token", "unknown_token_id"),
        ("cls_token", "cls_token_id"), ("sep_token", "seperator_token_id"), ("pad_token", "padding_token_id"))
             if get(key) is not None}
    if get("model") in ("bert", "t5"):
        return named  # the post-processor says what stands around a text
    return named | {"add_bos_token": get("add_bos_token", get("model") == "gemma4"), "chat_template": keys.get("tokenizer.chat_template")}


def safetensors(stored):
    """The bytes of a file of these tensors."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for tensor in stored:
        header[tensor.name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [offset, offset + len(tensor.data)]}
        offset += len(tensor.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(tensor.data for tensor in stored)


def write_documents(folder, documents):
    """Documents by name: what json makes of them, or the text itself."""
    for name, document in documents.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))


def write_tensors(folder, stored, parts=1):
    """model.safetensors, or several files and their index."""
    if parts == 1:
        with open(os.path.join(folder, "model.safetensors"), "wb") as file:
            file.write(safetensors(stored))
        return
    places = {}
    for part in range(parts):
        name = "model-%05d-of-%05d.safetensors" % (part + 1, parts)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(safetensors(stored[part::parts]))
        places |= {tensor.name: name for tensor in stored[part::parts]}
    write_documents(folder, {"model.safetensors.index.json": {"metadata": {}, "weight_map": places}})


def write_embedding(folder, keys, tensors):
    """What sentence-transformers keeps beside config.json: its documents, and a folder for each matrix behind the pooling."""
    matrices = {tensor.name[:-len(".weight")]: tensor for tensor in tensors if tensor.name.startswith("dense_")}
    documents = folder_kinds.pooling_of(keys, matrices)
    for name in documents:
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
    write_documents(folder, documents)
    for name, matrix in matrices.items():
        stored = Stored("linear.weight", _TYPE_NAMES[matrix.kind], reversed(matrix.dims), matrix.data)
        write_tensors(os.path.join(folder, folder_kinds.dense_folder(name)), [stored])


DTYPES = {1: "float16", 30: "bfloat16"}


def write_folder(folder, model_type, keys, tensors, own=None, parts=1):
    """The whole folder; `own`: members of config.json that this kind of model has. None: without it."""
    os.makedirs(folder, exist_ok=True)
    types = {tensor.kind for tensor in tensors if len(tensor.dims) > 1}
    stored = {"tie_word_embeddings": all(tensor.name != "output.weight" for tensor in tensors),
              "torch_dtype": next((name for type_id, name in DTYPES.items() if types == {type_id}), "float32")}
    config = config_of(model_type, keys) | stored | (own or {})
    write_documents(folder, {"config.json": {name: value for name, value in config.items() if value is not None},
                             "tokenizer.json": tokenizer_of(keys), "tokenizer_config.json": tokenizer_config_of(keys)})
    write_tensors(folder, tensors_of(model_type, keys, tensors), parts)

"""What the folders of some kinds of models have of their own: how the tensors of a GGUF file are put
together there, and what their config.json says. Written from the published files, apart from
src/huggingface. Python 3 standard library only.
"""

import math
import re
import struct

from gguf_reader import Tensor

QWEN35 = [
    (r"blk\.(\d+)\.post_attention_norm\.weight", r"model.layers.\1.post_attention_layernorm.weight"),
    (r"blk\.(\d+)\.attn_qkv\.weight", r"model.layers.\1.linear_attn.in_proj_qkv.weight"),
    (r"blk\.(\d+)\.attn_gate\.weight", r"model.layers.\1.linear_attn.in_proj_z.weight"),
    (r"blk\.(\d+)\.ssm_alpha\.weight", r"model.layers.\1.linear_attn.in_proj_a.weight"),
    (r"blk\.(\d+)\.ssm_beta\.weight", r"model.layers.\1.linear_attn.in_proj_b.weight"),
    (r"blk\.(\d+)\.ssm_in\.weight", r"model.layers.\1.linear_attn.in_proj_qkvz.weight"),
    (r"blk\.(\d+)\.ssm_ba\.weight", r"model.layers.\1.linear_attn.in_proj_ba.weight"),
    (r"blk\.(\d+)\.ssm_conv1d\.weight", r"model.layers.\1.linear_attn.conv1d.weight"),
    (r"blk\.(\d+)\.ssm_dt\.bias", r"model.layers.\1.linear_attn.dt_bias"),
    (r"blk\.(\d+)\.ssm_a", r"model.layers.\1.linear_attn.A_log"),
    (r"blk\.(\d+)\.ssm_norm\.weight", r"model.layers.\1.linear_attn.norm.weight"),
    (r"blk\.(\d+)\.ssm_out\.weight", r"model.layers.\1.linear_attn.out_proj.weight"),
    (r"blk\.(\d+)\.ffn_gate_up_exps\.weight", r"model.layers.\1.mlp.experts.gate_up_proj"),
]
QWEN35_MOE = QWEN35 + [(r"blk\.(\d+)\.ffn_down_exps\.weight", r"model.layers.\1.mlp.experts.down_proj")]
GLM4_MOE = [
    (r"blk\.(\d+)\.exp_probs_b\.bias", r"model.layers.\1.mlp.gate.e_score_correction_bias"),
    (r"blk\.(\d+)\.ffn_(gate|up|down)_shexp\.weight", r"model.layers.\1.mlp.shared_experts.\2_proj.weight"),
    (r"blk\.(\d+)\.nextn\.(\w+)\.weight", r"model.layers.\1.\2.weight"),
]
DEEPSEEK = GLM4_MOE + [
    (r"blk\.(\d+)\.attn_q_(a|b)\.weight", r"model.layers.\1.self_attn.q_\2_proj.weight"),
    (r"blk\.(\d+)\.attn_q_a_norm\.weight", r"model.layers.\1.self_attn.q_a_layernorm.weight"),
    (r"blk\.(\d+)\.attn_kv_a_mqa\.weight", r"model.layers.\1.self_attn.kv_a_proj_with_mqa.weight"),
    (r"blk\.(\d+)\.attn_kv_a_norm\.weight", r"model.layers.\1.self_attn.kv_a_layernorm.weight"),
    (r"blk\.(\d+)\.attn_kv_b\.weight", r"model.layers.\1.self_attn.kv_b_proj.weight"),
]
LFM2 = [
    (r"token_embd_norm\.weight", r"model.embedding_norm.weight"),
    (r"blk\.(\d+)\.attn_norm\.weight", r"model.layers.\1.operator_norm.weight"),
    (r"blk\.(\d+)\.ffn_norm\.weight", r"model.layers.\1.ffn_norm.weight"),
    (r"blk\.(\d+)\.attn_output\.weight", r"model.layers.\1.self_attn.out_proj.weight"),
    (r"blk\.(\d+)\.attn_([qk])_norm\.weight", r"model.layers.\1.self_attn.\2_layernorm.weight"),
    (r"blk\.(\d+)\.shortconv\.(\w+)\.weight", r"model.layers.\1.conv.\2.weight"),
    (r"blk\.(\d+)\.ffn_gate\.weight", r"model.layers.\1.feed_forward.w1.weight"),
    (r"blk\.(\d+)\.ffn_down\.weight", r"model.layers.\1.feed_forward.w2.weight"),
    (r"blk\.(\d+)\.ffn_up\.weight", r"model.layers.\1.feed_forward.w3.weight"),
    (r"blk\.(\d+)\.ffn_gate_inp\.weight", r"model.layers.\1.feed_forward.gate.weight"),
    (r"blk\.(\d+)\.exp_probs_b\.bias", r"model.layers.\1.feed_forward.expert_bias"),
    (r"blk\.(\d+)\.ffn_gate_exps\.weight", r"model.layers.\1.feed_forward.experts.#.w1.weight"),
    (r"blk\.(\d+)\.ffn_down_exps\.weight", r"model.layers.\1.feed_forward.experts.#.w2.weight"),
    (r"blk\.(\d+)\.ffn_up_exps\.weight", r"model.layers.\1.feed_forward.experts.#.w3.weight"),
]
GEMMA = [(r"blk\.(\d+)\.ffn_norm\.weight", r"model.layers.\1.pre_feedforward_layernorm.weight")]
GEMMA4 = [
    (r"per_layer_token_embd\.weight", "model.embed_tokens_per_layer.weight"),
    (r"per_layer_model_proj\.weight", "model.per_layer_model_projection.weight"),
    (r"per_layer_proj_norm\.weight", "model.per_layer_projection_norm.weight"),
    (r"blk\.(\d+)\.ffn_norm\.weight", r"model.layers.\1.pre_feedforward_layernorm.weight"),
    (r"blk\.(\d+)\.pre_ffw_norm_2\.weight", r"model.layers.\1.pre_feedforward_layernorm_2.weight"),
    (r"blk\.(\d+)\.post_ffw_norm_([12])\.weight", r"model.layers.\1.post_feedforward_layernorm_\2.weight"),
    (r"blk\.(\d+)\.layer_output_scale\.weight", r"model.layers.\1.layer_scalar"),
    (r"blk\.(\d+)\.inp_gate\.weight", r"model.layers.\1.per_layer_input_gate.weight"),
    (r"blk\.(\d+)\.proj\.weight", r"model.layers.\1.per_layer_projection.weight"),
    (r"blk\.(\d+)\.post_norm\.weight", r"model.layers.\1.post_per_layer_input_norm.weight"),
    (r"blk\.(\d+)\.ffn_gate_inp\.weight", r"model.layers.\1.router.proj.weight"),
    (r"blk\.(\d+)\.ffn_gate_inp\.scale", r"model.layers.\1.router.scale"),
    (r"blk\.(\d+)\.ffn_down_exps\.scale", r"model.layers.\1.router.per_expert_scale"),
    (r"blk\.(\d+)\.ffn_gate_up_exps\.weight", r"model.layers.\1.experts.gate_up_proj"),
    (r"blk\.(\d+)\.ffn_down_exps\.weight", r"model.layers.\1.experts.down_proj"),
]
BERT = [
    (r"token_embd\.weight", "bert.embeddings.word_embeddings.weight"),
    (r"position_embd\.weight", "bert.embeddings.position_embeddings.weight"),
    (r"token_types\.weight", "bert.embeddings.token_type_embeddings.weight"),
    (r"token_embd_norm\.(\w+)", r"bert.embeddings.LayerNorm.\1"),
    (r"blk\.(\d+)\.attn_q\.(\w+)", r"bert.encoder.layer.\1.attention.self.query.\2"),
    (r"blk\.(\d+)\.attn_k\.(\w+)", r"bert.encoder.layer.\1.attention.self.key.\2"),
    (r"blk\.(\d+)\.attn_v\.(\w+)", r"bert.encoder.layer.\1.attention.self.value.\2"),
    (r"blk\.(\d+)\.attn_output\.(\w+)", r"bert.encoder.layer.\1.attention.output.dense.\2"),
    (r"blk\.(\d+)\.attn_output_norm\.(\w+)", r"bert.encoder.layer.\1.attention.output.LayerNorm.\2"),
    (r"blk\.(\d+)\.ffn_up\.(\w+)", r"bert.encoder.layer.\1.intermediate.dense.\2"),
    (r"blk\.(\d+)\.ffn_down\.(\w+)", r"bert.encoder.layer.\1.output.dense.\2"),
    (r"blk\.(\d+)\.layer_output_norm\.(\w+)", r"bert.encoder.layer.\1.output.LayerNorm.\2"),
]
# Of classifiers: BERT's dense layer is the pooler's.
BERT_HEAD = [
    (r"cls\.(weight|bias)", r"bert.pooler.dense.\1"),
    (r"cls\.output\.(\w+)", r"classifier.\1"),
]
ROBERTA_HEAD = [
    (r"cls\.(weight|bias)", r"classifier.dense.\1"),
    (r"cls\.output\.(\w+)", r"classifier.out_proj.\1"),
]
NOMIC_BERT = [
    (r"token_embd\.weight", "embeddings.word_embeddings.weight"),
    (r"token_types\.weight", "embeddings.token_type_embeddings.weight"),
    (r"token_embd_norm\.(\w+)", r"emb_ln.\1"),
    (r"blk\.(\d+)\.attn_qkv\.weight", r"encoder.layers.\1.attn.Wqkv.weight"),
    (r"blk\.(\d+)\.attn_output\.weight", r"encoder.layers.\1.attn.out_proj.weight"),
    (r"blk\.(\d+)\.attn_output_norm\.(\w+)", r"encoder.layers.\1.norm1.\2"),
    (r"blk\.(\d+)\.ffn_up\.weight", r"encoder.layers.\1.mlp.fc11.weight"),
    (r"blk\.(\d+)\.ffn_gate\.weight", r"encoder.layers.\1.mlp.fc12.weight"),
    (r"blk\.(\d+)\.ffn_down\.weight", r"encoder.layers.\1.mlp.fc2.weight"),
    (r"blk\.(\d+)\.layer_output_norm\.(\w+)", r"encoder.layers.\1.norm2.\2"),
]
MODERN_BERT = [
    (r"token_embd\.weight", "embeddings.tok_embeddings.weight"),
    (r"token_embd_norm\.weight", "embeddings.norm.weight"),
    (r"output_norm\.weight", "final_norm.weight"),
    (r"blk\.(\d+)\.attn_norm\.weight", r"layers.\1.attn_norm.weight"),
    (r"blk\.(\d+)\.attn_qkv\.weight", r"layers.\1.attn.Wqkv.weight"),
    (r"blk\.(\d+)\.attn_output\.weight", r"layers.\1.attn.Wo.weight"),
    (r"blk\.(\d+)\.ffn_norm\.weight", r"layers.\1.mlp_norm.weight"),
    (r"blk\.(\d+)\.ffn_up\.weight", r"layers.\1.mlp.Wi.weight"),
    (r"blk\.(\d+)\.ffn_down\.weight", r"layers.\1.mlp.Wo.weight"),
]
MODERN_BERT_HEAD = [
    (r"cls\.(weight|bias)", r"head.dense.\1"),
    (r"cls\.norm\.weight", r"head.norm.weight"),
    (r"cls\.output\.(\w+)", r"classifier.\1"),
]
# As _KINDS of folder_writer.py: names, rows of heads move, 1 is taken from norms.
KINDS = {
    "qwen3_5": (QWEN35, False, True), "qwen3_5_moe": (QWEN35_MOE, False, True), "qwen3_next": (QWEN35, False, True),
    "glm4_moe": (GLM4_MOE, False, False), "deepseek_v2": (DEEPSEEK, False, False), "deepseek_v3": (DEEPSEEK, False, False),
    "kimi_k2": (DEEPSEEK, False, False), "lfm2": (LFM2, False, False), "lfm2_moe": (LFM2, False, False),
    "gemma2": (GEMMA, False, True), "gemma3_text": (GEMMA, False, True), "gemma3": (GEMMA, False, True),
    "gemma4": (GEMMA4, False, False), "gemma4_text": (GEMMA4, False, False),
    "bert": (BERT + BERT_HEAD, False, False), "xlm-roberta": (BERT + ROBERTA_HEAD, False, False), "nomic_bert": (NOMIC_BERT, False, False),
    "modernbert": (MODERN_BERT + MODERN_BERT_HEAD, False, False),
}


def _floats(data):
    return struct.unpack("<%df" % (len(data) // 4), data)


def _bytes(values):
    return struct.pack("<%df" % len(values), *values)


def _rows(data, count):
    size = len(data) // count
    return [data[i * size:(i + 1) * size] for i in range(count)]


# ---- gated delta nets ----

def _delta(keys):
    """Key heads, value heads, the length of both."""
    family = keys["general.architecture"] + ".ssm."
    return keys[family + "group_count"], keys[family + "time_step_rank"], keys[family + "state_size"]


def _neighbours(heads, key_heads):
    """Heads of which each key head has one in turn, in the order of their key heads."""
    return [head for key in range(key_heads) for head in heads[key::key_heads]]


def _ungroup(data, key_heads, value_heads, head):
    """The last value_heads * head rows of `data`, a list of rows."""
    before = len(data) - value_heads * head
    heads = [data[before + i * head:before + (i + 1) * head] for i in range(value_heads)]
    return data[:before] + [row for rows in _neighbours(heads, key_heads) for row in rows]


def _qwen35_rows(keys, tensor):
    key_heads, value_heads, state = _delta(keys)
    name = tensor.name.split(".", 2)[2] if tensor.name.startswith("blk.") else tensor.name
    if name == "ssm_out.weight":
        rows = _rows(tensor.data, tensor.dims[1])
        return b"".join(b"".join(_neighbours(_rows(row, value_heads), key_heads)) for row in rows)
    if name not in ("attn_qkv.weight", "attn_gate.weight", "ssm_conv1d.weight", "ssm_alpha.weight", "ssm_beta.weight",
                    "ssm_dt.bias", "ssm_a"):
        return tensor.data
    rows = _rows(tensor.data, tensor.dims[-1])
    return b"".join(_ungroup(rows, key_heads, value_heads, 1 if len(rows) == value_heads else state))


def _decay(data):
    return _bytes([math.log(-value) for value in _floats(data)])


def exact(model_type, tensors):
    """The same with values that a folder can hold to the last bit: decays that are -e^x of a 32-bit x, and
    norms that are 1 + x of one."""
    for tensor in tensors:
        if tensor.name.endswith(".ssm_a"):
            tensor.data = _bytes([-math.exp(value) for value in _floats(_decay(tensor.data))])
        if KINDS[model_type][2] and tensor.name.endswith("norm.weight"):
            less = _bytes([value - 1 for value in _floats(tensor.data)])
            tensor.data = _bytes([value + 1 for value in _floats(less)])
    return tensors


def _join_qkvz(keys, tensors):
    """Queries, keys, values and z of each key head one behind the other."""
    key_heads, value_heads, state = _delta(keys)
    z = {tensor.name: tensor for tensor in tensors}
    for tensor in tensors:
        if not tensor.name.endswith(".attn_qkv.weight"):
            continue
        gate = z[tensor.name.replace("attn_qkv", "attn_gate")]
        rows, width = _rows(tensor.data, tensor.dims[1]), value_heads // key_heads * state
        parts = [(rows, 0, state), (rows, key_heads * state, state), (rows, 2 * key_heads * state, width),
                 (_rows(gate.data, gate.dims[1]), 0, width)]
        tensor.data = b"".join(b"".join(part[begin + head * size:begin + (head + 1) * size])
                               for head in range(key_heads) for part, begin, size in parts)
        tensor.name, tensor.dims = tensor.name.replace("attn_qkv", "ssm_in"), [tensor.dims[0], tensor.dims[1] + gate.dims[1]]
    return [tensor for tensor in tensors if not tensor.name.endswith(".attn_gate.weight")]


# ---- latent attention ----

def _join_kv_b(tensors):
    """Keys of all heads, which stand on their side, and values, as one tensor."""
    by_name = {tensor.name: tensor for tensor in tensors}
    joined = []
    for tensor in tensors:
        if tensor.name.endswith(".attn_v_b.weight"):
            continue
        if not tensor.name.endswith(".attn_k_b.weight"):
            joined.append(tensor)
            continue
        nope, rank, heads = tensor.dims
        values = by_name[tensor.name.replace("attn_k_b", "attn_v_b")]
        data = b""
        for keys_of, values_of in zip(_rows(tensor.data, heads), _rows(values.data, heads)):
            numbers = _floats(keys_of)
            data += _bytes([numbers[j * nope + i] for i in range(nope) for j in range(rank)]) + values_of
        joined.append(Tensor(tensor.name.replace("attn_k_b", "attn_kv_b"), [rank, heads * (nope + values.dims[1])],
                             tensor.kind, data))
    return joined


def arranged(model_type, keys, tensors):
    """The tensors of a GGUF file with the rows and shapes of the folder, under their names there."""
    tensors = [Tensor(tensor.name, list(tensor.dims), tensor.kind, tensor.data) for tensor in tensors]
    if model_type.startswith("qwen3_5"):
        for tensor in tensors:
            tensor.data = _qwen35_rows(keys, tensor)
    if model_type == "qwen3_next":
        tensors = _join_qkvz(keys, tensors)
    if model_type.startswith(("deepseek", "kimi")):
        tensors = _join_kv_b(tensors)
    for tensor in tensors:
        if model_type == "xlm-roberta" and tensor.name == "position_embd.weight":
            row = len(tensor.data) // tensor.dims[1]
            tensor.data, tensor.dims[1] = bytes(2 * row) + tensor.data, tensor.dims[1] + 2
        if tensor.name.endswith(".ssm_a"):
            tensor.data = _decay(tensor.data)
        if tensor.name.endswith((".ssm_conv1d.weight", ".shortconv.conv.weight")):
            tensor.dims.insert(1, 1)
    return tensors


# ---- config.json ----

def _layers(keys):
    family = keys["general.architecture"] + "."
    return keys[family + "block_count"] - keys.get(family + "nextn_predict_layers", 0)


def _qwen35(keys):
    get = lambda name: keys.get(keys["general.architecture"] + "." + name)
    key_heads, value_heads, state = _delta(keys)
    share = get("rope.dimension_count") / get("attention.key_length")
    return {"rope_theta": None, "attn_output_gate": True, "linear_conv_kernel_dim": get("ssm.conv_kernel"),
            "linear_key_head_dim": state, "linear_value_head_dim": state, "linear_num_key_heads": key_heads,
            "linear_num_value_heads": value_heads, "num_hidden_layers": _layers(keys),
            "layer_types": ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(_layers(keys))],
            "rope_parameters": {"rope_type": "default", "rope_theta": get("rope.freq_base"), "partial_rotary_factor": share,
                                "mrope_interleaved": True, "mrope_section": [11, 11, 10]},
            "num_experts": get("expert_count"), "num_experts_per_tok": get("expert_used_count"),
            "moe_intermediate_size": get("expert_feed_forward_length"),
            "shared_expert_intermediate_size": get("expert_shared_feed_forward_length")}


def _qwen3_next(keys):
    members = _qwen35(keys)
    rope = members.pop("rope_parameters")
    return members | {"layer_types": None, "full_attention_interval": 4, "rope_theta": rope["rope_theta"],
                      "partial_rotary_factor": rope["partial_rotary_factor"], "norm_topk_prob": True}


def _router(keys):
    get = lambda name, default=None: keys.get(keys["general.architecture"] + "." + name, default)
    return {"n_routed_experts": get("expert_count"), "num_experts_per_tok": get("expert_used_count"),
            "moe_intermediate_size": get("expert_feed_forward_length"), "n_shared_experts": get("expert_shared_count"),
            "first_k_dense_replace": get("leading_dense_block_count"), "num_hidden_layers": _layers(keys),
            "routed_scaling_factor": get("expert_weights_scale"), "norm_topk_prob": get("expert_weights_norm", False),
            "n_group": get("expert_group_count", 1), "topk_group": get("expert_group_used_count", 1)}


def _glm4_moe(keys):
    family = keys["general.architecture"] + "."
    return _router(keys) | {"partial_rotary_factor": keys[family + "rope.dimension_count"] / keys[family + "attention.key_length"]}


def _deepseek(keys):
    get = lambda name, default=None: keys.get(keys["general.architecture"] + "." + name, default)
    turned = get("rope.dimension_count")
    members = _router(keys) | {
        "kv_lora_rank": get("attention.kv_lora_rank"), "q_lora_rank": get("attention.q_lora_rank"),
        "qk_rope_head_dim": turned, "head_dim": turned, "num_key_value_heads": get("attention.head_count"),
        "qk_nope_head_dim": get("attention.key_length_mla", get("attention.key_length")) - turned,
        "v_head_dim": get("attention.value_length_mla", get("attention.value_length")), "moe_layer_freq": 1}
    if get("rope.scaling.type"):
        scores = get("rope.scaling.yarn_log_multiplier") / 0.1
        members["rope_scaling"] = {
            "type": "yarn", "factor": get("rope.scaling.factor"), "beta_fast": 32, "beta_slow": 1, "mscale": round(scores, 6),
            "mscale_all_dim": round(scores, 6), "original_max_position_embeddings": get("rope.scaling.original_context_length")}
    return members


def _deepseek_v2(keys):
    return _deepseek(keys) | {"topk_method": "greedy", "scoring_func": "softmax"}


def _deepseek_v3(keys):
    return _deepseek(keys) | {"topk_method": "noaux_tc", "scoring_func": "sigmoid"}


def _lfm2_moe(keys):
    get = lambda name, default=None: keys.get(keys["general.architecture"] + "." + name, default)
    kv_heads = get("attention.head_count_kv")
    return {"rms_norm_eps": None, "norm_eps": get("attention.layer_norm_rms_epsilon"), "num_key_value_heads": max(kv_heads),
            "layer_types": ["full_attention" if heads else "conv" for heads in kv_heads], "conv_L_cache": get("shortconv.l_cache"),
            "conv_bias": False, "head_dim": None, "use_expert_bias": True, "num_dense_layers": get("leading_dense_block_count"),
            "num_experts": get("expert_count"), "num_experts_per_tok": get("expert_used_count"),
            "moe_intermediate_size": get("expert_feed_forward_length"), "norm_topk_prob": True, "routed_scaling_factor": 1.0}


def _lfm2(keys):
    """The width before it is cut to two thirds and rounded up: what comes out is that of the file."""
    hidden = keys["lfm2.feed_forward_length"]
    layers = [i for i, heads in enumerate(keys["lfm2.attention.head_count_kv"]) if heads]
    return _lfm2_moe(keys) | {"layer_types": None, "full_attn_idxs": layers, "block_ff_dim": (hidden - 8) * 3 // 2,
                              "block_multiple_of": 16, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True}


def _gemma4(keys):
    get = lambda name, default=None: keys.get("gemma4." + name, default)
    windows, kv_heads, hidden = get("attention.sliding_window_pattern"), get("attention.head_count_kv"), get("feed_forward_length")
    near, far = max(kv_heads), min(kv_heads)
    rope = {"full_attention": {"rope_type": "proportional", "rope_theta": get("rope.freq_base"), "partial_rotary_factor": 0.25},
            "sliding_attention": {"rope_type": "default", "rope_theta": get("rope.freq_base_swa")}}
    return {"hidden_activation": "gelu_pytorch_tanh", "head_dim": get("attention.key_length_swa"), "rope_theta": None,
            "global_head_dim": get("attention.key_length"), "num_key_value_heads": near, "num_global_key_value_heads": far,
            "attention_k_eq_v": near != far, "layer_types": ["sliding_attention" if near else "full_attention" for near in windows],
            "num_kv_shared_layers": get("attention.shared_kv_layers"), "use_double_wide_mlp": isinstance(hidden, list),
            "intermediate_size": hidden[0] if isinstance(hidden, list) else hidden, "rope_parameters": rope,
            "hidden_size_per_layer_input": get("embedding_length_per_layer_input"), "tie_word_embeddings": True,
            "final_logit_softcapping": get("final_logit_softcapping"), "use_bidirectional_attention": "vision",
            "enable_moe_block": get("expert_count") is not None, "num_experts": get("expert_count"),
            "top_k_experts": get("expert_used_count"), "moe_intermediate_size": get("expert_feed_forward_length")}


def _bert(keys):
    family = keys["general.architecture"] + "."
    return {"layer_norm_eps": keys[family + "attention.layer_norm_epsilon"], "hidden_act": "gelu",
            "type_vocab_size": keys.get("tokenizer.ggml.token_type_count"), "position_embedding_type": "absolute"}


def _xlm_roberta(keys):
    return _bert(keys) | {"pad_token_id": 1, "max_position_embeddings": keys["bert.context_length"] + 2}


def _nomic_bert(keys):
    get = lambda name: keys["nomic-bert." + name]
    members = dict.fromkeys(("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
                             "intermediate_size", "max_position_embeddings", "rope_theta"))
    return members | {
        "n_embd": get("embedding_length"), "n_layer": get("block_count"), "n_head": get("attention.head_count"),
        "n_inner": get("feed_forward_length"), "n_positions": 4 * get("context_length"), "causal": False, "prenorm": False,
        "max_trained_positions": get("context_length"), "layer_norm_epsilon": get("attention.layer_norm_epsilon"),
        "activation_function": "swiglu", "rotary_emb_base": get("rope.freq_base"), "rotary_emb_fraction": 1.0,
        "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "qkv_proj_bias": False, "mlp_fc1_bias": False,
        "mlp_fc2_bias": False, "type_vocab_size": keys["tokenizer.ggml.token_type_count"]}


def _modernbert(keys):
    get = lambda name: keys["modern-bert." + name]
    return {"norm_eps": get("attention.layer_norm_epsilon"), "hidden_activation": "gelu", "rope_theta": None,
            "global_rope_theta": get("rope.freq_base"), "local_rope_theta": get("rope.freq_base_swa"), "sliding_window": None,
            "local_attention": get("attention.sliding_window"), "global_attn_every_n_layers": 3, "norm_bias": False,
            "attention_bias": False, "mlp_bias": False}


def _embedding_gemma(keys):
    get = lambda name, *default: keys.get("gemma-embedding." + name, *default)
    layers = ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(get("block_count"))]
    return {"hidden_activation": "gelu_pytorch_tanh", "rope_local_base_freq": get("rope.freq_base_swa", 10000.0), "layer_types": layers,
            "_sliding_window_pattern": 6, "query_pre_attn_scalar": get("attention.key_length"),
            "use_bidirectional_attention": True, "attn_logit_softcapping": None, "attention_bias": False}


def dense_folder(name):
    """Of the matrix that a GGUF file calls so."""
    return name[-1] + "_Dense"


def pooling_of(keys, matrices=()):
    """What sentence-transformers keeps beside: modules.json, and the documents of its pooling and of the matrices behind it."""
    family = keys["general.architecture"]
    kind = keys[family + ".pooling_type"]
    names = {1: "mean_tokens", 2: "cls_token", 3: "lasttoken"}
    steps = [("", "Transformer"), ("1_Pooling", "Pooling")] + [(dense_folder(name), "Dense") for name in matrices]
    steps.append(("%d_Normalize" % len(steps), "Normalize"))
    step = lambda index, path, name: {"idx": index, "name": str(index), "path": path, "type": "sentence_transformers.models." + name}
    documents = {"modules.json": [step(index, *each) for index, each in enumerate(steps)],
                 "1_Pooling/config.json": {"word_embedding_dimension": 64} | {"pooling_mode_" + name: number == kind
                                                                              for number, name in names.items()}}
    for name in matrices:
        sizes = [keys["%s.%s_feat_%s" % (family, name, side)] for side in ("in", "out")]
        documents[dense_folder(name) + "/config.json"] = {
            "in_features": sizes[0], "out_features": sizes[1], "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity"}
    return documents


MEMBERS = {"qwen3_5": _qwen35, "qwen3_5_moe": _qwen35, "qwen3_next": _qwen3_next, "glm4_moe": _glm4_moe,
           "deepseek_v2": _deepseek_v2, "deepseek_v3": _deepseek_v3, "kimi_k2": _deepseek_v3, "lfm2": _lfm2,
           "lfm2_moe": _lfm2_moe, "gemma4": _gemma4, "gemma4_text": _gemma4, "bert": _bert, "xlm-roberta": _xlm_roberta,
           "nomic_bert": _nomic_bert, "modernbert": _modernbert, "qwen3": lambda _: {}, "gemma3_text": _embedding_gemma}

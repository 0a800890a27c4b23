"""The small vocabularies of the models that tests write. Python 3 standard library only."""

from gguf_writer import BOOL, FLOAT32, INT32, STRING, UINT32


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


def add_spm(g):
    """The keys of the SentencePiece vocabulary."""
    tokens, scores, types = spm_vocabulary()
    g.key("tokenizer.ggml.model", STRING, "llama").key("tokenizer.ggml.pre", STRING, "default")
    g.list("tokenizer.ggml.tokens", STRING, tokens)
    g.list("tokenizer.ggml.scores", FLOAT32, scores)
    g.list("tokenizer.ggml.token_type", INT32, types)
    g.key("tokenizer.ggml.bos_token_id", UINT32, 1).key("tokenizer.ggml.eos_token_id", UINT32, 2)
    g.key("tokenizer.ggml.unknown_token_id", UINT32, 0)
    g.key("tokenizer.ggml.add_bos_token", BOOL, 1)


def add_bpe(g, pre):
    """The keys of the byte-level BPE vocabulary, to be split as the pre-tokenizer `pre` splits."""
    tokens, types, merges = bpe_vocabulary()
    g.key("tokenizer.ggml.model", STRING, "gpt2").key("tokenizer.ggml.pre", STRING, pre)
    g.list("tokenizer.ggml.tokens", STRING, tokens)
    g.list("tokenizer.ggml.token_type", INT32, types)
    g.list("tokenizer.ggml.merges", STRING, merges)
    g.key("tokenizer.ggml.bos_token_id", UINT32, len(tokens) - 1)
    g.key("tokenizer.ggml.eos_token_id", UINT32, len(tokens) - 1)

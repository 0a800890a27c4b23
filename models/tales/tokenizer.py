"""Byte-level BPE with the alphabet and the pre-tokenizer of GPT-2: trainer, encoder, decoder.

    python3 tokenizer.py --corpus build/corpus.jsonl --vocab 1024 --out build/tokenizer.json
"""
import argparse
import collections
import json
import pathlib
import re

# GPT-2's `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, spelled with
# what Python's `re` knows.
PATTERN = (r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
SPECIALS = ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|end|>"]
END_OF_TEXT, USER, ASSISTANT, END = range(4)


def byte_alphabet():
    """GPT-2's map from byte to a visible character."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in visible]
    table = {b: chr(b) for b in visible}
    table.update({b: chr(256 + i) for i, b in enumerate(hidden)})
    return table


BYTE_CHAR = byte_alphabet()
CHAR_BYTE = {char: byte for byte, char in BYTE_CHAR.items()}


def split(text):
    """Cut text into the pieces that merges never cross."""
    return re.findall(PATTERN, text)


def visible(piece):
    """The bytes of a piece in the visible alphabet."""
    return "".join(BYTE_CHAR[b] for b in piece.encode())


def merge_word(symbols, pair, merged):
    """Replace each occurrence of the pair in a list of symbols."""
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(merged)
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


class Trainer:
    """Learns merges from word counts, keeping pair counts up to date as it merges."""

    def __init__(self, counts):
        self.words = [(list(word), count) for word, count in counts.items()]
        self.pairs = collections.Counter()
        self.where = collections.defaultdict(set)
        for index in range(len(self.words)):
            self._count(index, 1)

    def _count(self, index, sign):
        symbols, count = self.words[index]
        for pair in zip(symbols, symbols[1:]):
            self.pairs[pair] += sign * count
            if sign > 0:
                self.where[pair].add(index)

    def merge_best(self):
        """Merge the most frequent pair (ties: the smallest) and return it."""
        pair = max(self.pairs, key=lambda p: (self.pairs[p], p))
        for index in self.where.pop(pair):
            symbols, count = self.words[index]
            self._count(index, -1)
            self.words[index] = (merge_word(symbols, pair, "".join(pair)), count)
            self._count(index, 1)
        del self.pairs[pair]
        return pair


def train(texts, vocabulary):
    """Return the list of merges for a vocabulary of the given size, specials included."""
    counts = collections.Counter()
    for text in texts:
        counts.update(split(text))
    trainer = Trainer({visible(word): n for word, n in sorted(counts.items())})
    return [trainer.merge_best() for _ in range(vocabulary - 256 - len(SPECIALS))]


class Tokenizer:
    """Encodes and decodes; ids are the specials, then the bytes, then the merges."""

    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        self.tokens = [*SPECIALS, *BYTE_CHAR.values(), *("".join(p) for p in self.merges)]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.cache = {}

    @classmethod
    def load(cls, path):
        """Read a tokenizer written by `save`."""
        return cls(json.loads(pathlib.Path(path).read_text())["merges"])

    def save(self, path):
        """Write the merges."""
        pathlib.Path(path).write_text(json.dumps({"merges": self.merges}, indent=0))

    def _encode_piece(self, piece):
        symbols = list(visible(piece))
        while len(symbols) > 1:
            pair = min(zip(symbols, symbols[1:]), key=lambda p: self.ranks.get(p, 1 << 30))
            if pair not in self.ranks:
                break
            symbols = merge_word(symbols, pair, "".join(pair))
        return [self.ids[symbol] for symbol in symbols]

    def encode(self, text):
        """Token ids of plain text (special tokens in it are not recognised)."""
        ids = []
        for piece in split(text):
            if piece not in self.cache:
                self.cache[piece] = self._encode_piece(piece)
            ids += self.cache[piece]
        return ids

    def encode_document(self, turns):
        """Ids of one document of the corpus, in the format the models are trained on."""
        ids = [END_OF_TEXT]
        for role, text in turns:
            if role == "story":
                ids += self.encode(text)
            else:
                ids += [USER if role == "user" else ASSISTANT, *self.encode(text), END]
        return ids

    def decode(self, ids):
        """Text of the ids, special tokens spelled out."""
        out = b""
        for i in ids:
            token = self.tokens[i]
            out += token.encode() if i < len(SPECIALS) else bytes(CHAR_BYTE[c] for c in token)
        return out.decode(errors="replace")


def main():
    """Train on the first documents of a corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--vocab", type=int, default=1024)
    parser.add_argument("--documents", type=int, default=20000)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    texts = []
    with args.corpus.open() as lines:
        for _, line in zip(range(args.documents), lines):
            texts += [text for _, text in json.loads(line)]
    tokenizer = Tokenizer(train(texts, args.vocab))
    tokenizer.save(args.out)
    ids = [tokenizer.encode(text) for text in texts[:2000]]
    assert all(tokenizer.decode(i) == text for i, text in zip(ids, texts))
    words = sum(len(text.split()) for text in texts[:2000])
    print(f"{len(tokenizer.tokens)} tokens, {sum(map(len, ids)) / words:.2f} a word")


if __name__ == "__main__":
    main()

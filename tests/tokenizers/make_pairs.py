#!/usr/bin/env python3
"""Writes the tokenizer pairs of tests/data/tokenizers: texts, two small vocabularies, the ids that reference.py gives.

    make_pairs.py FOLDER               writes texts.txt, byte-level.gguf, sentencepiece.gguf and NAME.ids
    make_pairs.py --check FILE PRE...  how many of the pairs beside each vocabulary FILE (FILE.inp, FILE.out) the reference gives;
                                       PRE is its pre-tokenizer, or "llama" for a SentencePiece one

The merges are learned from the texts as they are, with nothing cut: they cross every border that a pre-tokenizer draws, so another
border gives other ids. Python 3 standard library only.
"""

import struct
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from gguf_writer import BOOL, FLOAT32, INT32, STRING, UINT32, Gguf  # noqa: E402
from reference import SPLITS, ByteLevel, SentencePiece, byte_symbols  # noqa: E402

SEPARATOR = "\n__text__\n"
MERGES = 420

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\r\n", "\t\n \n", "a", " a", "a ", "  a  ",
    "Hello world", " Hello world", "Hello, world!", "Hello  world   and    all",
    "It's what they're after, isn't it? I've said we'll see; you'd know, I'm sure.",
    "IT'S WHAT THEY'RE AFTER, I'VE SAID WE'LL SEE, YOU'D KNOW, I'M SURE.", "don't 'quote' ''twice'' 's 'll'",
    "1", "12", "123", "1234", "12345", "1234567890", "1 2 3", "3.14159 and 2,718,281", "in 2026 there were 365 days",
    "x1 x12 x123 x1234 a1b22c333", "\u0661\u0662\u0663 \u00bd \u00b2 \u2167 \uff11\uff12\uff13",
    "...", "!!!", "?!?!", "(a) [b] {c} <d>", "a.b.c", "a-b_c", "#1 $2 %3 &4 *5", "--- === *** ///", "wait... what?! No -- never.",
    "path/to/file.cc:12: error: expected ';' before '}' token", "https://example.org/a/b?c=d&e=f#g",
    "for (int i = 0; i < n; ++i) {\n    sum += a[i];\n}\n", "def f(x):\n\treturn x ** 2  # square\n\n\nprint(f(3))\n",
    "SELECT name FROM people WHERE age >= 36 AND name LIKE 'A%';", "<p class=\"x\">a &amp; b</p>",
    "camelCase PascalCase snake_case SCREAMING_CASE HTTPServer iPhone", "one\ntwo\n\nthree\r\nfour \n five\n ",
    "line one  \n   line two\n\n\n\n     line three", " leading and trailing ", "tabs\tand\t\tmore\t ",
    "Fran\u00e7ois a mang\u00e9 \u00e0 No\u00ebl; \u00c9cole, na\u00efve, \u0153uvre", "Stra\u00dfe, \u00c4rger, \u00dcbung, gr\u00f6\u00dfer",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u042d\u0442\u043e \u0442\u0435\u0441\u0442.",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8\u3002\u5b66\u6821\u3067123\u4eba\u306b\u4f1a\u3063\u305f\u3002", "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u4eca\u5929 2026 \u5e74\u3002",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4.", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e04\u0e23\u0e31\u0e1a",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "e\u0301 o\u0308 n\u0303 (combining)", "\U0001f600 \U0001f469\u200d\U0001f4bb\U0001f3fd \U0001f1e9\U0001f1ea!", "\u00a0non\u2003breaking\u3000spaces\u200b\u2028end",
    "\u201cquoted\u201d \u2018single\u2019 \u2013 dash \u2014 long\u2026", "\u20ac5 \u00a36 \u00a57 + 8 = \u221e \u2260 \u221a2 \u2264 3",
    "<|end|> </s> <0x41> <s>[INST]", "\u0001\u007f control", "The the THE tHe", "aaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab",
    "Once upon a time there was a fox who lived in a house at the edge of the wood. Every day she went to the river, and every day "
    "she came home with three fish and a story.",
    "The quick brown fox jumps over the lazy dog; the dog, being lazy, doesn't mind.",
]


def join_the_best(words: list[list]) -> tuple:
    """Joins the most frequent pair wherever it stands in `words`: the pair. Of equals the last in order."""
    counts = Counter(pair for word in words for pair in zip(word, word[1:]))
    best = max(counts.items(), key=lambda entry: (entry[1], entry[0]))[0]
    for word in words:
        at = 0
        while at + 1 < len(word):
            if (word[at], word[at + 1]) == best:
                word[at:at + 2] = [word[at] + word[at + 1]]
            at += 1
    return best


def learned_merges() -> list[tuple[bytes, bytes]]:
    words = [[bytes([byte]) for byte in text.encode()] for text in TEXTS]
    return [join_the_best(words) for _ in range(MERGES)]


def byte_level() -> tuple[list[str], list[str], bytes]:
    """Tokens, merges, and the file, whose pre-tokenizer is a matter of who reads it."""
    symbols = byte_symbols()
    spelled = lambda data: "".join(symbols[byte] for byte in data)
    merges = learned_merges()
    tokens = list(dict.fromkeys(symbols + [spelled(a + b) for a, b in merges]))
    # A word that no merges lead to: who takes whole pieces finds it.
    tokens.append(spelled(b" story"))
    lines = [f"{spelled(a)} {spelled(b)}" for a, b in merges]
    g = Gguf()
    g.key("general.architecture", STRING, "llama")
    g.key("tokenizer.ggml.model", STRING, "gpt2").key("tokenizer.ggml.pre", STRING, "default")
    g.list("tokenizer.ggml.tokens", STRING, tokens + ["<|end|>"])
    g.list("tokenizer.ggml.token_type", INT32, [1] * len(tokens) + [3])
    g.list("tokenizer.ggml.merges", STRING, lines)
    g.key("tokenizer.ggml.eos_token_id", UINT32, len(tokens))
    return tokens, lines, g.bytes()


def sentencepiece() -> tuple[list[str], list[float], list[int], bytes]:
    """Tokens, scores, types and the file. Scores fall with the place, so that what was learned first is joined first."""
    words = [list(word.replace(" ", "\u2581")) for text in TEXTS for word in f" {text}".replace(" ", "\n ").split("\n") if word]
    letters = sorted({letter for word in words for letter in word if letter < "\u0500" or letter == "\u2581"})
    pieces = []
    for _ in range(MERGES):
        piece = "".join(join_the_best(words))
        if piece not in pieces:
            pieces.append(piece)
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)] + pieces
    tokens += [letter for letter in letters if letter not in tokens]
    types = [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259)
    scores = [0.0] * 259 + [-float(place) for place in range(len(tokens) - 259)]
    g = Gguf()
    g.key("general.architecture", STRING, "llama").key("tokenizer.ggml.model", STRING, "llama")
    g.list("tokenizer.ggml.tokens", STRING, tokens)
    g.list("tokenizer.ggml.scores", FLOAT32, scores)
    g.list("tokenizer.ggml.token_type", INT32, types)
    for name, value in (("bos", 1), ("eos", 2), ("unknown", 0)):
        g.key(f"tokenizer.ggml.{name}_token_id", UINT32, value)
    g.key("tokenizer.ggml.add_bos_token", BOOL, 1)
    return tokens, scores, types, g.bytes()


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.txt").write_bytes("".join(text + SEPARATOR for text in TEXTS).encode())
    lines = lambda encode: "".join(" ".join(map(str, encode(text))) + "\n" for text in TEXTS)
    tokens, merges, data = byte_level()
    (folder / "byte-level.gguf").write_bytes(data)
    bpe = ByteLevel(tokens, merges)
    for pre in SPLITS:
        (folder / f"{pre}.ids").write_text(lines(lambda text: bpe.encode(text, pre)))
    tokens, scores, types, data = sentencepiece()
    (folder / "sentencepiece.gguf").write_bytes(data)
    (folder / "sentencepiece.ids").write_text(lines(SentencePiece(tokens, scores, types).encode))


def read_keys(data: bytes) -> dict[str, list]:
    """The arrays of a well-formed GGUF file's header, by their name."""
    at, found = 24, {}
    sizes = {UINT32: 4, INT32: 4, FLOAT32: 4, BOOL: 1, 0: 1, 1: 1, 2: 2, 3: 2, 10: 8, 11: 8, 12: 8}

    def take(form):
        nonlocal at
        (value,) = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        length = take("Q")
        at += length
        return data[at - length:at].decode()

    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        name, kind = text(), take("I")
        if kind == STRING:
            text()
        elif kind != 9:
            at += sizes[kind]
        else:
            kind, count = take("I"), take("Q")
            form = {INT32: "i", FLOAT32: "f"}.get(kind)
            if kind == STRING:
                found[name] = [text() for _ in range(count)]
            elif form:
                found[name] = [take(form) for _ in range(count)]
            else:
                at += count * sizes[kind]
    return found


def check(path: Path, pre: str) -> str:
    keys = read_keys(path.read_bytes())
    get = lambda name: keys.get(f"tokenizer.ggml.{name}", [])
    if pre == "llama":
        encode = SentencePiece(get("tokens"), get("scores"), get("token_type")).encode
    else:
        bpe = ByteLevel(get("tokens"), get("merges"))
        encode = lambda text: bpe.encode(text, pre)
    beside = lambda end: Path(f"{path}{end}")
    texts = beside(".inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")[:-1]
    published = beside(".pub.out") if beside(".pub.out").exists() else beside(".out")
    wanted = [[int(word) for word in line.split()] for line in published.read_text().split("\n")]
    wrong = [text for text, ids in zip(texts, wanted) if encode(text) != ids]
    return f"{path.name} as {pre}: {len(texts) - len(wrong)} of {len(texts)}" + "".join(f"\n  {text[:60]!r}" for text in wrong[:5])


def main() -> None:
    if sys.argv[1] == "--check":
        for path, pre in zip(sys.argv[2::2], sys.argv[3::2]):
            print(check(Path(path), pre))
    else:
        write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()

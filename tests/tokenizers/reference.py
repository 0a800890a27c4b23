"""Tokenizers as they are published, the slow and obvious way: what skald's fast ones are compared with.

Regular expressions of Python with Unicode's tables of Python, and merges found by looking at all pairs again and again. The patterns
are those of llama.cpp's converter and of the models' publishers.
"""

import re
import sys
import unicodedata

GPT2 = (
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
LLAMA3 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!"""
    r"""\S)|\s+""")
QWEN2 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"""
    r"""\s+""")
DEEPSEEK_LETTERS = (
    r"""\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}"""
    r"""-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F"""
    r"""7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}"""
    r"""\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F2"""
    r"""0}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1F"""
    r"""B6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{"""
    r"""1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{"""
    r"""2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{"""
    r"""2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-"""
    r"""\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3"""
    r"""A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{"""
    r"""10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+""")
DEEPSEEK_PUNCTUATION = (
    r"""\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+""")
DEEPSEEK_CJK = (
    r"""[\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+""")
DEEPSEEK_V3_CJK = (
    r"""[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+""")
DEEPSEEK_V3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""")
TEKKEN = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}"""
    r"""\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""")
GPT4O = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^"""
    r"""\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N"""
    r"""}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""")
# Each pattern cuts what those before it left in one piece.
SPLITS = {
    "default": [r"""[\p{P}\$\+<=>\^~\|]+""", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "gpt-2": [GPT2],
    "dbrx": [LLAMA3],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
    "smollm": [r"\p{N}", GPT2],
    "tekken": [TEKKEN],
    "gpt-4o": [GPT4O],
    "deepseek-llm": [r"[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_PUNCTUATION, r"\s+$", DEEPSEEK_CJK, r"\p{N}+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_CJK, r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", DEEPSEEK_V3_CJK, DEEPSEEK_V3],
}
# A piece that is a token is that token, whatever the merges would make of it.
WHOLE_PIECES = {"llama-bpe", "tekken"}
WHITE_SPACE = [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def ranges(points) -> str:
    """The inside of a character class."""
    text, first, last = "", None, None
    for point in [*sorted(points), None]:
        if last is not None and point == last + 1:
            last = point
            continue
        if first is not None:
            text += f"\\U{first:08x}-\\U{last:08x}"
        first = last = point
    return text


def category(name: str) -> str:
    """The characters of a general category, or of all whose names begin so."""
    return ranges(point for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)).startswith(name))


def compiled(pattern: str, known={}) -> re.Pattern:  # noqa: B006
    """A pattern in the syntax of PCRE as one of Python."""
    if pattern in known:
        return known[pattern]
    text, inside, at = "", False, 0
    while at < len(pattern):
        if found := re.match(r"\\p\{(\w+)\}", pattern[at:]):
            name = found[1]
            known.setdefault(("p", name), category(name))
            piece = known["p", name]
            text += piece if inside else f"[{piece}]"
        elif found := re.match(r"\\x\{(\w+)\}", pattern[at:]):
            text += f"\\U{int(found[1], 16):08x}"
        elif found := re.match(r"\\[sS]", pattern[at:]):
            spaces = ranges(WHITE_SPACE)
            other = "^" if found[0].endswith("S") else ""
            text += spaces if inside else f"[{other}{spaces}]"
        elif found := re.match(r"\\.", pattern[at:]):
            text += found[0]
        else:
            found = re.match(r".", pattern[at:], re.DOTALL)
            inside = found[0] == "[" or (inside and found[0] != "]")
            text += found[0]
        at += found.end()
    known[pattern] = re.compile(text)
    return known[pattern]


def pieces_of(text: str, pre: str) -> list[str]:
    pieces = [text]
    for pattern in SPLITS[pre]:
        cut = []
        for piece in pieces:
            at = 0
            for match in compiled(pattern).finditer(piece):
                cut += [piece[at:match.start()], match[0]]
                at = match.end()
            cut.append(piece[at:])
        pieces = [piece for piece in cut if piece]
    return pieces


def byte_symbols() -> list[str]:
    """The printable stand-ins of the 256 bytes (GPT-2)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + other.index(byte)) for byte in range(256)]


class ByteLevel:
    def __init__(self, tokens: list[str], merges: list[str]):
        self.ids = {token: index for index, token in enumerate(tokens)}
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in reversed(list(enumerate(merges)))}
        self.symbols = byte_symbols()

    def encode(self, text: str, pre: str) -> list[int]:
        ids = []
        for piece in pieces_of(text, pre):
            symbols = [self.symbols[byte] for byte in piece.encode()]
            whole = "".join(symbols)
            if pre in WHOLE_PIECES and whole in self.ids:
                ids.append(self.ids[whole])
                continue
            while True:
                pairs = [(self.ranks[pair], at) for at, pair in enumerate(zip(symbols, symbols[1:])) if pair in self.ranks]
                if not pairs:
                    break
                at = min(pairs)[1]
                symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
            ids += [self.ids[symbol] for symbol in symbols]
        return ids


class SentencePiece:
    """Normal tokens by score, bytes for what there is no token for; the text gets a space in front."""

    def __init__(self, tokens: list[str], scores: list[float], types: list[int]):
        self.bytes = {token: index for index, token in enumerate(tokens) if types[index] == 6}
        self.ids = {token: index for index, token in enumerate(tokens) if types[index] == 1}
        self.scores = scores

    def encode(self, text: str) -> list[int]:
        symbols = list((" " + text).replace(" ", "\u2581")) if text else []
        while True:
            pairs = [(-self.scores[self.ids[a + b]], at) for at, (a, b) in enumerate(zip(symbols, symbols[1:]))
                     if a + b in self.ids]
            if not pairs:
                break
            at = min(pairs)[1]
            symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
        ids = []
        for symbol in symbols:
            if symbol in self.ids:
                ids.append(self.ids[symbol])
            else:
                ids += [self.bytes[f"<0x{byte:02X}>"] for byte in symbol.encode()]
        return ids

"""Which sources may be compiled as one: unity_groups.py SIZE SOURCE...

Prints a number for each source, in their order, `;` between them: sources of one number make one translation
unit of SIZE sources at most, all in one folder. A name that a source keeps to itself (in a namespace without a name) must mean
nothing in another source of its unit, nor in the header of one: no name is defined twice, and no call finds
an overload that it would not find alone. So a developer needs not know that there are units. A source that opens
a region for instructions of its own is alone: what it includes there is compiled for them, and no header is included twice.
"""

import re
import sys
from pathlib import Path

REGION = "isa/target_"
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
DECLARATIONS = [
    re.compile(r"(?:class|struct|enum class|enum|using|concept) (\w+)"),
    re.compile(r"(?:constexpr|const|inline|std|thread_local)\b[^(]*?\b(k[A-Z]\w*)\s*[\[{=;(]"),
    re.compile(r"[A-Za-z_][^=]*?(\w+)\("),
]


def code_of(path: Path) -> str:
    """A file without its comments and texts."""
    text = re.sub(r"//[^\n]*", lambda m: m[0] if m[0] == "// namespace" else "", path.read_text())
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


def own_names(text: str) -> set[str]:
    names = set()
    for block in ANONYMOUS.findall(text):
        for line in block.splitlines():
            for declaration in DECLARATIONS:
                if match := declaration.match(line):
                    names.add(match[1])
    return names


class Unit:
    def __init__(self, folder: Path | None) -> None:
        self.folder = folder  # None: takes no other
        self.size, self.names, self.words = 0, set(), set()

    def takes(self, names: set[str], words: set[str]) -> bool:
        return not names & self.words and not self.names & words

    def add(self, names: set[str], words: set[str]) -> None:
        self.size += 1
        self.names |= names
        self.words |= words


def main() -> None:
    size, units, numbers = int(sys.argv[1]), [], []
    for path in map(Path, sys.argv[2:]):
        code, header = code_of(path), path.with_suffix(".h")
        words = set(re.findall(r"\w+", code + (code_of(header) if header.exists() else "")))
        names = own_names(code)
        folder = None if REGION in path.read_text() else path.parent
        for number, unit in enumerate(units):
            if folder and unit.folder == folder and unit.size < size and unit.takes(names, words):
                break
        else:
            number, unit = len(units), Unit(folder)
            units.append(unit)
        unit.add(names, words)
        numbers.append(str(number))
    print(";".join(numbers), end="")


if __name__ == "__main__":
    main()

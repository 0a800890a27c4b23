"""The checks of the style test: each takes a file (or all paths) and yields findings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property

import cpp
import rules


@dataclass(frozen=True)
class Finding:
    path: str
    line: int  # 0: the file as a whole
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass
class File:
    """One file of the project. `text` is None for data files."""
    path: str
    text: str | None
    size_bytes: int = 0
    executable: bool = False
    project_paths: frozenset[str] = field(default=frozenset(), repr=False)

    def matches(self, patterns: tuple[str, ...]) -> bool:
        return any(fnmatch(self.path, pattern) for pattern in patterns)

    @property
    def is_header(self) -> bool:
        return self.path.endswith(".h")

    @property
    def is_cpp(self) -> bool:
        return self.path.endswith((".h", ".cc"))

    @property
    def is_markdown(self) -> bool:
        return self.path.endswith(".md")

    @property
    def is_test(self) -> bool:
        return self.matches(rules.TESTS)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def code(self) -> cpp.Code:
        return cpp.read(self.text)

    @cached_property
    def prose_lines(self) -> list[tuple[int, str]]:
        """The lines of a markdown file outside fenced code, numbered from 1."""
        kept, fenced = [], False
        for number, line in enumerate(self.lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                kept.append((number, line))
        return kept


# --- rooms -----------------------------------------------------------------------------------

def include_rule(file: File) -> Iterator[Finding]:
    """Arrows point left: a room includes only the rooms of its allow-list."""
    if not file.is_cpp:
        return
    for number, line in enumerate(file.lines, 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            problem = _include_problem(file, match.group(1))
            if problem:
                yield Finding(file.path, number, "include", problem)
        # Who includes a public header needs no package but skald's own.
        other = re.match(r"\s*#\s*include\s*<([^>]*[/.][^>]*)>", line)
        if other and file.path.startswith("include/"):
            yield Finding(file.path, number, "include", f"a public header may not include <{other.group(1)}>, only std and skald/")


def _include_problem(file: File, included: str) -> str | None:
    if file.path.startswith("include/"):
        return None if included.startswith("skald/") else \
            f"a public header may not include {included}, only std and skald/"
    room = _room_of(file.path)
    if room is None:
        return None
    if included.startswith("skald/"):
        return _public_include_problem(room, included)
    if included in rules.TEST_SUPPORT and (file.is_test or file.path.endswith("_fuzz.cc")):
        return None
    other = included.split("/")[0]
    if "/" not in included or other not in rules.ROOM_ORDER:
        return f'"{included}": write paths from src/ ("room/file.h"), <> for system headers'
    order = rules.ROOM_ORDER.index
    if other == room or other in rules.ROOM_MAY_INCLUDE[room]:
        return None
    if file.is_test and order(other) < order(room):
        return None
    return f"room {room} may not include room {other} (tools/tidy/rules.py)"


def _public_include_problem(room: str, included: str) -> str | None:
    if included in rules.VOCABULARY or room in rules.FACADE_ROOMS.get(included, {"cli"}):
        return None
    return f"room {room} may not include the facade {included}"


def _room_of(path: str) -> str | None:
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def room_is_known(file: File) -> Iterator[Finding]:
    """A folder of src/ is a room with a place in the order."""
    room = _room_of(file.path)
    if room is not None and room not in rules.ROOM_ORDER:
        yield Finding(file.path, 0, "room", f"'{room}' has no place in ROOM_ORDER")


# --- sizes -----------------------------------------------------------------------------------

def file_length(file: File) -> Iterator[Finding]:
    """Files are short enough to be read in one sitting."""
    if file.text is None or file.matches(rules.DATA):
        return
    lines = len(file.lines) - 1
    yield from _ratchet(file, 0, "file_length", lines, rules.FILE_LINES_MAX,
                        rules.FILE_LINES_RATCHET)


def function_length(file: File) -> Iterator[Finding]:
    """Functions fit on a screen."""
    if not file.is_cpp:
        return
    longest = max(file.code.functions, key=lambda f: f.last - f.first, default=cpp.Function(1, 1))
    yield from _ratchet(file, longest.first, "function_length", longest.last - longest.first + 1,
                        rules.FUNCTION_LINES_MAX, rules.FUNCTION_LINES_RATCHET)


def _ratchet(file: File, line: int, rule: str, lines: int, limit: int,
             ratchet: dict[str, int]) -> Iterator[Finding]:
    allowed = ratchet.get(file.path, limit)
    if lines > allowed:
        yield Finding(file.path, line, rule, f"{lines} lines, at most {allowed}")
    elif file.path in ratchet and lines < allowed:
        yield Finding(file.path, line, rule, f"now {lines} lines: tighten or drop its ratchet")


def line_length(file: File) -> Iterator[Finding]:
    """C++ and prose keep to their columns; tables, links and fenced code are as wide as needed."""
    if file.is_cpp:
        numbered, limit = list(enumerate(file.lines, 1)), rules.CPP_COLUMNS_MAX
    elif file.is_markdown:
        limit = rules.MARKDOWN_COLUMNS_MAX
        numbered = [(number, line) for number, line in file.prose_lines
                    if not line.lstrip().startswith("|") and "](" not in line
                    and "://" not in line]
    else:
        return
    for number, line in numbered:
        if len(line) > limit:
            yield Finding(file.path, number, "line_length", f"{len(line)} columns, max {limit}")


def file_size(file: File) -> Iterator[Finding]:
    """No large files, but for the bundled models."""
    if file.size_bytes > rules.FILE_BYTES_MAX and not file.matches(rules.SIZE_EXEMPT):
        yield Finding(file.path, 0, "file_size",
                      f"{file.size_bytes} bytes, at most {rules.FILE_BYTES_MAX}")


# --- characters ------------------------------------------------------------------------------

def whitespace(file: File) -> Iterator[Finding]:
    """No trailing blanks, tabs or carriage returns; one newline at the end."""
    if not file.text or file.matches(rules.DATA):
        return
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield Finding(file.path, number, "whitespace", "trailing blank")
        if "\t" in line and not file.path.endswith("Makefile"):
            yield Finding(file.path, number, "whitespace", "tab")
    if not file.text.endswith("\n"):
        yield Finding(file.path, len(file.lines), "whitespace", "no newline at the end")
    elif file.text.endswith("\n\n"):
        yield Finding(file.path, len(file.lines), "whitespace", "blank line at the end")


def ascii_only(file: File) -> Iterator[Finding]:
    """Sources are ASCII (write escapes); tests may show text as it is."""
    source = file.is_cpp or file.path.endswith((".py", ".sh", ".cmake", "CMakeLists.txt"))
    if not source or file.is_test or file.path.endswith("_test.py"):
        return
    for number, line in enumerate(file.lines, 1):
        if not line.isascii():
            yield Finding(file.path, number, "ascii", "character outside ASCII")


# --- code ------------------------------------------------------------------------------------

_BANS = [(re.compile(ban.pattern), ban) for ban in rules.BANS]


def banned_code(file: File) -> Iterator[Finding]:
    """Each effect has one home; the message names it."""
    if not file.is_cpp:
        return
    bans = [(pattern, ban) for pattern, ban in _BANS if not file.matches(ban.home)]
    for number, line in enumerate(file.code.lines, 1):
        if re.match(r"\s*#\s*include", line) and "regex" not in line and "cassert" not in line:
            continue
        for pattern, ban in bans:
            match = pattern.search(line)
            if match:
                yield Finding(file.path, number, "banned",
                              f"'{match.group().strip()}': use {ban.instead}")


def machine_paths(file: File) -> Iterator[Finding]:
    """Nothing in the project depends on one machine."""
    if file.text is None or file.path.startswith("tools/tidy/"):
        return
    for pattern, home in rules.MACHINE_PATHS:
        if file.matches(home):
            continue
        for match in re.finditer(pattern, file.text):
            line = file.text.count("\n", 0, match.start()) + 1
            yield Finding(file.path, line, "machine", f"'{match.group()}' belongs to one machine")


def macros(file: File) -> Iterator[Finding]:
    """Macros are defined in the files of the allow-list only."""
    if not file.is_cpp or file.matches(rules.MACRO_FILES):
        return
    for number, line in enumerate(file.code.lines, 1):
        match = re.match(r"\s*#\s*define\s+(\w+)", line)
        if match and match.group(1) not in rules.LIBRARY_MACROS:
            yield Finding(file.path, number, "macro", "use a function, a template or a constant")


_DECLARATION = re.compile(
    r"using|typedef|static_assert|template|friend|class|struct|enum|union|namespace|return|"
    r"__extension__ typedef")
_VARIABLE = re.compile(r"[A-Za-z_][\w:<>,\s*&]*[\s*&>]\w+(\s*\[[^\]]*\])*")


def mutable_state(file: File) -> Iterator[Finding]:
    """No variable outlives its owner: nothing mutable in a namespace, no static locals."""
    if not file.is_cpp or file.matches(rules.MUTABLE_STATE_FILES):
        return
    # In a test class a static member is GoogleTest's way to share a fixture within a suite.
    static_scopes = ("function",) if file.is_test else ("function", "class")
    for statement in file.code.statements:
        static = re.match(r"(inline\s+)?static\s", statement.text)
        if statement.scope == "namespace" or (static and statement.scope in static_scopes):
            if _is_mutable_variable(statement.text):
                yield Finding(file.path, statement.line, "mutable_state",
                              "a variable without owner: make it const, or a member passed along")


def _is_mutable_variable(text: str) -> bool:
    if _DECLARATION.match(text):
        return False
    declared = re.split(r"[={]", text, maxsplit=1)[0].strip()
    if "(" in declared or re.search(r"\b(const|constexpr)\b", declared):
        return False
    return _VARIABLE.fullmatch(declared) is not None


# A bool that is the value itself (a setter, a default) reads well and is no switch.
_BOOL_PARAMETER = re.compile(
    r"[(,]\s*(?:const\s+)?bool\s+(?!value\b|fallback\b)\w+\s*(?:=[^,();]*)?[,)]")


def bool_parameter(file: File) -> Iterator[Finding]:
    """A call reads without its declaration: Sort(list, Order::kDescending), not Sort(list, true)."""
    if not file.is_header:
        return
    code = "\n".join(file.code.lines)
    for match in _BOOL_PARAMETER.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield Finding(file.path, line, "bool_parameter", "use an enum or an options struct")


def header_start(file: File) -> Iterator[Finding]:
    """A header opens with a paragraph on what it is, and is included once."""
    if not file.is_header:
        return
    bracket = file.matches(rules.BRACKET_HEADERS)
    mark = "// " if bracket else "/// "
    if not file.text.startswith(mark):
        yield Finding(file.path, 1, "header", f"must open with a '{mark}' paragraph")
    if not bracket and "\n#pragma once\n" not in file.text:
        yield Finding(file.path, 1, "header", "no #pragma once")


def loose_ends(file: File) -> Iterator[Finding]:
    """What is left to do has an issue; what is broken is not merged."""
    if file.text is None or file.path.startswith("tools/tidy/") or file.is_markdown:
        return
    for number, line in enumerate(file.lines, 1):
        if re.search(r"\b(FIXME|XXX)\b", line):
            yield Finding(file.path, number, "loose_end", "mend it before it is merged")
        if re.search(r"\bTODO\b(?!\(#\d+\))", line):
            yield Finding(file.path, number, "loose_end", "write TODO(#issue)")


# --- files and documents ---------------------------------------------------------------------

def executable_bit(file: File) -> Iterator[Finding]:
    """Executable are exactly the files that name their interpreter."""
    has_shebang = file.text is not None and file.text.startswith("#!")
    if file.executable and not has_shebang:
        yield Finding(file.path, 0, "executable", "executable, but without a #! line")
    if has_shebang and not file.executable:
        yield Finding(file.path, 0, "executable", "has a #! line, but is not executable")


def markdown_title(file: File) -> Iterator[Finding]:
    """A document has one title."""
    if not file.is_markdown:
        return
    titles = [number for number, line in file.prose_lines if re.match(r"# ", line)]
    if len(titles) != 1:
        yield Finding(file.path, titles[1] if titles else 0, "title",
                      f"{len(titles)} titles ('# '), expected 1")


_PATH = re.compile(r"\.{0,2}/?[\w.+-]+(/[\w.*+<>-]*)+")


def document_paths(file: File) -> Iterator[Finding]:
    """Paths in backticks and links of documents exist. <name> and * stand for anything."""
    if not file.is_markdown or file.path == "CHANGELOG.md":
        return
    for number, line in file.prose_lines:
        for token in re.findall(r"`([^`]+)`", line):
            if _PATH.fullmatch(token) and not _path_exists(file, token.removeprefix("./")):
                yield Finding(file.path, number, "path", f"`{token}` does not exist")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not _link_exists(file, target):
                yield Finding(file.path, number, "path", f"link to {target}, which does not exist")


def _path_exists(file: File, token: str) -> bool:
    first = token.split("/")[0]
    top_level = {path.split("/")[0] for path in file.project_paths if "/" in path}
    if first not in top_level and first not in rules.ROOM_ORDER and first != "skald":
        return True  # not a path of ours: a media type, a package, a pair of words
    pattern = re.sub(r"<[^>]*>", "*", token).rstrip("/")
    return any(_any_path(file, prefix + pattern) for prefix in ("", "src/", "include/"))


def _link_exists(file: File, target: str) -> bool:
    folder = file.path.rpartition("/")[0]
    parts: list[str] = []
    for part in f"{folder}/{target}".split("/"):
        if part == "..":
            if not parts:
                return True  # beside the checkout
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return _any_path(file, "/".join(parts))


def _any_path(file: File, pattern: str) -> bool:
    if "*" not in pattern:
        return pattern in file.project_paths or \
            any(path.startswith(pattern + "/") for path in file.project_paths)
    return any(fnmatch(path, pattern) or fnmatch(path, pattern + "/*")
               for path in file.project_paths)


ALL = [include_rule, room_is_known, file_length, function_length, line_length, file_size,
       whitespace, ascii_only, banned_code, machine_paths, macros, mutable_state, bool_parameter,
       header_start, loose_ends, executable_bit, markdown_title, document_paths]

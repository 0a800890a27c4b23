"""Just enough C++ reading for the checks: code without comments, functions, statements by scope.

Not a parser. It is exact for code in this project's style (clang-format, no macros that open
braces); what it cannot classify it leaves out rather than report.
"""

import re
from dataclasses import dataclass, field

# A comment, a raw string, a string or a character. The apostrophe of 1'000 starts none.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'""", re.S)
_BLANK = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_CLASS = re.compile(r"^(template\s*<.*>\s*)?(typedef\s+)?(class|struct|union|enum)\b", re.S)
_CONSTRUCTOR = re.compile(r"\)\s*(noexcept\s*)?:(?!:)", re.S)
_ACCESS = re.compile(r"^\s*(public|private|protected)\s*:(?!:)")


@dataclass
class Function:
    """A function body: lines first..last, counted from 1, from its opening to its closing brace."""
    first: int
    last: int


@dataclass
class Statement:
    """What ends in `;`, and what stands before the `{` of a block, with the kind of its scope:
    "namespace" (also the file itself), "class" or "function"."""
    line: int
    scope: str
    text: str


@dataclass
class Code:
    """One file, read."""
    lines: list[str]                 # without comments; text of strings blanked
    functions: list[Function] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


@dataclass
class _Scope:
    kind: str
    line: int
    outer_parentheses: int


def strip(text: str) -> str:
    """`text` with comments and the inside of strings and characters replaced by spaces."""
    def blank(match: re.Match) -> str:
        token = match.group()
        if token.startswith("/"):
            return _BLANK.sub(" ", token)
        return token[0] + _BLANK.sub(" ", token[1:-1]) + token[-1]
    return _TOKEN.sub(blank, text)


def read(text: str) -> Code:
    """Reads one file."""
    stripped = strip(text)
    code = Code(lines=stripped.split("\n"))
    # Directives have their own grammar: not part of any statement.
    body = _DIRECTIVE.sub(lambda match: _BLANK.sub(" ", match.group()), stripped)
    scopes = [_Scope("namespace", 1, 0)]
    parentheses = 0
    start = 0
    line = 1
    for match in re.finditer(r"[{}();\n]", body):
        mark, at = match.group(), match.start()
        if mark == "\n":
            line += 1
        elif mark == "(":
            parentheses += 1
        elif mark == ")":
            parentheses -= 1
        elif mark == ";" and parentheses == 0:
            _add_statement(code, scopes[-1].kind, body[start:at], line)
            start = at + 1
        elif mark == "{":
            head = body[start:at]
            kind = _kind_of_block(scopes[-1].kind, head, parentheses)
            scopes.append(_Scope(kind, line, parentheses))
            parentheses = 0
            if kind != "initializer":
                _add_statement(code, scopes[-2].kind, head, line)
                start = at + 1
        elif mark == "}" and len(scopes) > 1:
            closed = scopes.pop()
            parentheses = closed.outer_parentheses
            if closed.kind == "function" and scopes[-1].kind != "function":
                code.functions.append(Function(closed.line, line))
            if closed.kind != "initializer":
                start = at + 1
    return code


def _kind_of_block(outer: str, head: str, parentheses: int) -> str:
    head = _ACCESS.sub("", head).strip()
    if outer == "initializer" or parentheses > 0:
        return "initializer" if outer != "function" else "function"
    if outer == "function":
        return "initializer" if head.endswith("=") else "function"
    if re.match(r"(inline\s+)?namespace\b", head) or re.fullmatch(r'extern\s+"\s*"', head):
        return "namespace"
    if _CLASS.match(head):
        return "class"
    if head.endswith("=") or "(" not in head:
        return "initializer"
    # Foo::Foo() : a_{1}, b_(2) {: a brace after a name initialises a member.
    if _CONSTRUCTOR.search(head) and re.search(r"[\w>]$", head):
        return "initializer"
    return "function"


def _add_statement(code: Code, scope: str, text: str, line: int) -> None:
    text = " ".join(_ACCESS.sub("", text).split())
    if text and scope != "initializer":
        code.statements.append(Statement(line, scope, text))

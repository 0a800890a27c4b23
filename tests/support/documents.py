"""What the documents show: commands in indented blocks, and behind them, fenced, what these print."""

import re
from dataclasses import dataclass, field


@dataclass
class Block:
    """An indented block: its commands, and the fenced block behind it, if there is one."""
    commands: list[str] = field(default_factory=list)
    kind: str = ""    # the word behind the fence: text, timed, ...; empty: nothing is shown
    shown: str = ""   # the text between the fences
    first_line: int = 0  # the line behind the opening fence, from 0
    end_line: int = 0    # the line of the closing fence


def blocks_of(text: str) -> list[Block]:
    """The indented blocks of a document. Of a command, lines that go on behind a backslash are joined."""
    found: list[Block] = []
    indented, before_is_blank, fence_may_follow = False, True, False
    fence: Block | None = None
    for number, line in enumerate(text.splitlines()):
        if fence is not None:
            if line.startswith("```"):
                fence.end_line, fence = number, None
            else:
                fence.shown += line + "\n"
            continue
        if line.startswith("```"):
            fence = found[-1] if fence_may_follow else Block()
            fence.kind, fence.first_line = line[3:].strip(), number + 1
            indented, before_is_blank, fence_may_follow = False, False, False
            continue
        is_code = line.startswith("    ") and (indented or not line.lstrip().startswith(("|", "-", "*")))
        is_code = is_code and (indented or before_is_blank)
        if is_code and not indented:
            found.append(Block())
        if is_code:
            commands = found[-1].commands
            if commands and commands[-1].endswith("\\"):
                commands[-1] = commands[-1][:-1] + line.strip()
            else:
                commands.append(line.strip())
        fence_may_follow = is_code or (fence_may_follow and not line.strip())
        indented, before_is_blank = is_code, not line.strip()
    return found


def commands_of(text: str) -> list[str]:
    """The lines of all indented blocks."""
    return [command for block in blocks_of(text) for command in block.commands]


# What only a clock knows: a number before a unit of time or rate or a percent sign, and any number with a
# fraction that is not one of bytes or operations.
_CLOCK = re.compile(r"\d[\d,.]*(?: ?(?:us|ms|s|tok/s|tokens/s|GB/s|GMAC/s|TFLOP/s)\b| ?%)|\d+\.\d+(?![\d.]| ?(?:[KMGT]i?B?|B)\b)")


def without_times(text: str) -> str:
    """`text` with what only a clock knows replaced, and blanks and rules of tables, which make room for it, as one."""
    return "".join(re.sub(r"--+", "--", re.sub(r"\s+", " ", _CLOCK.sub("#", line))).strip() + "\n" for line in text.splitlines())


def shows(block: Block, printed: str) -> bool:
    """Whether `printed` is what the block shows: to the byte, or of kind `timed` but for times. A line `...` is any lines."""
    shown = block.shown
    if block.kind == "timed":
        shown, printed = without_times(shown), without_times(printed)
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line)
                      for line in shown.splitlines(keepends=True))
    return re.fullmatch(pattern, printed) is not None

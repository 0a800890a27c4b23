"""The commands of docs/book and docs/coming-from.md, run in order: what they print is what the chapters show, and the figures are theirs.

Run by ctest (test Book), and by hand: python3 tests/examples/book_test.py build/release/skald .
With --write behind it the chapters and figures are brought up to date: what does not fit is replaced by what was printed.

A chapter's commands stand in indented blocks and run in a folder of their own, one block after the other. A fenced block behind
them is what they print: `text` to the byte, `timed` but for times and rates, and a line `...` stands for any lines. A server that a
chapter starts runs until the chapter ends. A figure is a file that a command of its chapter has made, or a part of such a page
(book_figures.py).
"""

import html
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

for folder in ("cli", "support"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))
from book_figures import figure_of
from command import TIMEOUT_S, environment
from documents import Block, blocks_of, shows

ADDRESS = "127.0.0.1:8080"  # of a server, as the chapters have it


class Setup:
    binary = Path()
    source = Path()
    write = False


def at_terminal(command: list[str], **options) -> tuple[int, str]:
    """Runs a command at a terminal, as a reader does: its exit code, and what is to be seen, without colours and blanks at ends."""
    reader, terminal = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, **options) as child:
        os.close(terminal)
        watch = threading.Timer(TIMEOUT_S, child.kill)
        watch.start()
        seen = b""
        try:
            while part := os.read(reader, 65536):
                seen += part
        except OSError:  # the last program that had the terminal has ended
            pass
        code = child.wait()
        watch.cancel()
    os.close(reader)
    return code, re.sub(r" *\r?\n", "\n", re.sub(r"\x1b\[[\d;]*m", "", seen.decode()))


class Chapter:
    """A chapter in its folder, with the server that it has started."""

    def __init__(self, folder: Path):
        self.at = folder
        (folder / "bin").mkdir()
        (folder / "bin/skald").symlink_to(Setup.binary)
        self.env = environment(HOME=str(folder), TERM="dumb", NO_COLOR="1")
        self.env["PATH"] = f"{folder}/bin:{self.env['PATH']}"
        self.server: subprocess.Popen | None = None
        self.address = ADDRESS

    def run(self, block: Block) -> str:
        """What the block's commands print. Errors: AssertionError where one fails."""
        commands = "\n".join(block.commands).replace(ADDRESS, self.address)
        if commands.startswith("skald serve"):
            return self.serve(commands)
        code, printed = at_terminal(["bash", "-ec", commands], cwd=self.at, env=self.env)
        if code != 0:
            raise AssertionError(f"{commands}\nends with {code}:\n{printed}")
        return printed.replace(self.address, ADDRESS)

    def serve(self, command: str) -> str:
        self.stop()
        command = re.sub(r" --port \d+", "", command) + " --port 0"
        self.server = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.at, env=self.env,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        printed = ""
        for line in self.server.stderr:
            printed += line.decode()
            if match := re.search(r"http://([\d.]+:\d+)/v1", printed):
                self.address = match[1]
                return printed.replace(self.address, ADDRESS)
        raise AssertionError(f"{command}\nends with {self.server.wait()}:\n{printed}")

    def stop(self) -> None:
        if self.server is None:
            return
        self.server.send_signal(signal.SIGTERM)
        self.server.stderr.read()  # else a server that says much would wait for its reader
        self.server.stderr.close()
        code, self.server = self.server.wait(timeout=TIMEOUT_S), None
        if code != 0:
            raise AssertionError(f"the server ends with {code}")


def finding_of(svg: str) -> object:
    """What a figure shows on every machine. Which step computed what hangs on how long steps take, so of a schedule it is how much
    of its prompt each sequence found, and how much it wrote; of all others it is everything."""
    data = re.search("<metadata>(.*?)</metadata>", svg)
    told = json.loads(html.unescape(data[1])) if data else None
    if not isinstance(told, dict) or "sequences" not in told:
        return svg
    return sorted([each["prompt"], each["cached"], each["tokens"]] for each in told["sequences"])


class Book(unittest.TestCase):
    def check_chapter(self, path: Path) -> None:
        text, changes = path.read_text(), []
        with tempfile.TemporaryDirectory() as folder:
            chapter = Chapter(Path(folder))
            try:
                for block in blocks_of(text):
                    printed = chapter.run(block) if block.commands else ""
                    if block.kind and not shows(block, printed):
                        self.assertTrue(Setup.write, f"{block.commands} prints\n{printed}and {path.name} shows\n{block.shown}")
                        changes.append((block, printed))
                for name in re.findall(r"\]\((figures/[^) ]+)", text):
                    self.check_figure(path.parent / name, chapter.at)
            finally:
                chapter.stop()
        lines = text.splitlines()
        for block, printed in reversed(changes):
            lines[block.first_line:block.end_line] = printed.splitlines()
        if changes:
            path.write_text("\n".join(lines) + "\n")

    def check_figure(self, path: Path, made_in: Path) -> None:
        made = figure_of(path.name, made_in)
        if path.is_file() and finding_of(path.read_text()) == finding_of(made):
            return
        self.assertTrue(Setup.write, f"{path} is not what the chapter's commands draw (--write draws it anew)")
        path.write_text(made)


class ComingFrom(unittest.TestCase):
    """The tables of docs/coming-from.md."""

    def test_flags_of_other_programs_are_known(self):
        page = (Setup.source / "docs/coming-from.md").read_text()
        there = "\n".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
        flags = sorted(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", there)) - {"-p", "-m"})
        self.assertGreater(len(flags), 25)
        for flag in flags:
            with self.subTest(flag):
                answers = [subprocess.run([Setup.binary, verb, "-m", "/no/such", flag, "77"], capture_output=True, text=True,
                                          env=environment(), check=False).stderr for verb in ("run", "serve")]
                self.assertTrue(any("unknown flag" not in answer for answer in answers), answers)


def add_chapters() -> None:
    """A test for each chapter, in the order of the book, and for the page beside it that is written like one."""
    docs = Setup.source / "docs"
    for path in [*sorted(docs.glob("book/[01]*.md")), docs / "coming-from.md"]:
        setattr(Book, "test_" + re.sub(r"\W", "_", path.stem), lambda self, path=path: self.check_chapter(path))


def main() -> None:
    Setup.binary, Setup.source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    Setup.write = "--write" in sys.argv
    add_chapters()
    unittest.main(argv=[sys.argv[0], *[word for word in sys.argv[3:] if word != "--write"]], verbosity=2)


if __name__ == "__main__":
    main()

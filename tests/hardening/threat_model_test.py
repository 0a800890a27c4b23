"""Every bound in SECURITY.md names a test, and every test that it names exists.

Run in the top of the checkout. A name is `Suite.Case` of a GoogleTest program (also `Suite/Name.Case`
of one with parameters), `file.py: test_name` of a suite in Python, or the name of a ctest.
"""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
TEST_MACRO = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def rows(text: str) -> list[list[str]]:
    """The cells of every table row that is no head and no rule."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("|") or set(line) <= set("|- "):
            continue
        if number + 1 < len(lines) and set(lines[number + 1]) <= set("|- ") and lines[number + 1]:
            continue
        found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def tests_named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def known_tests(source: Path) -> set[str]:
    known = set()
    for path in [*source.glob("src/**/*_test.cc"), *source.glob("tests/**/*_test.cc")]:
        known |= {f"{suite}.{case}" for suite, case in TEST_MACRO.findall(path.read_text())}
    for path in source.glob("tests/**/*.py"):
        known |= {f"{path.name}: {name}"
                  for name in re.findall(r"def (test_\w+)\(", path.read_text())}
    for path in source.glob("tests/**/CMakeLists.txt"):
        text = path.read_text()
        known |= set(re.findall(r"add_test\(NAME (\w+)", text))
        known |= set(re.findall(r"(?:e2e_test|house_test)\((\w+) ", text))
    known |= {path.stem for path in source.glob("src/**/*_fuzz.cc")}
    known |= {path.stem for path in source.glob("tests/**/*_fuzz.cc")}
    return known


def findings(text: str, known: set[str]) -> list[str]:
    wrong = []
    for cells in rows(text):
        named = tests_named(cells[-1])
        if not named:
            wrong.append(f"no test: {cells[0]}")
        wrong += [f"no such test: {name}" for name in named if name not in known]
    return wrong


class ThreatModel(unittest.TestCase):
    def test_every_bound_has_a_test(self):
        text = (SOURCE / "SECURITY.md").read_text()
        self.assertGreater(len(rows(text)), 20)
        self.assertEqual(findings(text, known_tests(SOURCE)), [])

    def test_sees_what_is_missing(self):
        text = "| bound | test |\n|---|---|\n| a | `A.B` |\n| b | `A.C`, `A.B` |\n| c | none |\n"
        self.assertEqual(findings(text, {"A.B"}), ["no such test: A.C", "no test: c"])

    def test_knows_tests_of_every_kind(self):
        known = known_tests(SOURCE)
        for name in ("FloatMode.HoldsInEveryWorkerOfAPool", "E2eAbuse", "malformed", "tidy",
                     "sandbox_test.py: test_every_thread_is_limited_and_no_answer_differs",
                     "gguf_fuzz"):
            self.assertIn(name, known)


if __name__ == "__main__":
    sys.exit(unittest.main())

"""skald grammar from outside: what it prints of texts, and its exit code.

Run by ctest (test GrammarCommand), and by hand:
python3 tests/cli/grammar_test.py build/release/skald .
"""

import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, run


class Grammar(unittest.TestCase):
    """`skald grammar check`: a line for each text, and the exit code says whether all are accepted."""

    def test_texts_of_a_grammar(self):
        with tempfile.TemporaryDirectory() as folder:
            chess, answers = Path(folder) / "chess.gbnf", Path(folder) / "answers.txt"
            chess.write_text('root ::= "1. " move (" " move)?\nmove ::= [a-h] [1-8]\n')
            check = ("grammar", "check", "--gbnf", str(chess))
            self.assertEqual(run(*check).returncode, 0)
            done = run(*check, "1. e4 e5")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertEqual(done.stdout, b"accepted; next: the end only\n")
            answers.write_text("1. e4\n1. e\n1. z4\n")
            done = run(*check, "--text-file", str(answers), "--lines")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout.decode().splitlines(), [
                "accepted; next: space, or the end",
                "incomplete after 4 bytes; next: 1-8",
                "dead at byte 3 (z); possible: a-h",
            ])
            self.assertIn(b"1 of 3 texts accepted", done.stderr)
            done = run("grammar", "check", "--regex", str(answers), "--gbnf", str(chess))
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"more than one grammar", done.stderr)
            chess.write_text("root ::= other")
            self.assertIn(b"rule 'other' is not defined", run(*check).stderr)

    def test_a_schema_is_kept_or_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            schema = Path(folder) / "person.json"
            schema.write_text('{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}')
            check = ("grammar", "check", "--json-schema", str(schema))
            self.assertEqual(run(*check, '{"name": "Ann"}').returncode, 0)
            done = run(*check, "{}")
            self.assertEqual((done.returncode, done.stdout), (2, b'dead at byte 1 (}); possible: \\n space "\n'))
            self.assertEqual(run(*check, "--no-whitespace", '{"name": "Ann"}').returncode, 2)
            schema.write_text('{"type": "array", "uniqueItems": true}')
            done = run(*check)
            self.assertEqual(done.returncode, 6)
            self.assertIn(b"#/uniqueItems: is not supported", done.stderr)
            done = run(*check, "--relaxed", "[1]")
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"left out: #/uniqueItems", done.stderr)


if __name__ == "__main__":
    Setup.binary, Setup.source = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)

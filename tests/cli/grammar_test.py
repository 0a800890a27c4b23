"""skald grammar from outside: what it prints of texts, and its exit code; texts of `skald run` and `chat` that are
kept to a grammar.

Run by ctest (test GrammarCommand), and by hand:
python3 tests/cli/grammar_test.py build/release/skald .
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, bundled_model, run, run_json

PERSON = json.dumps({"type": "object", "required": ["name", "age"], "additionalProperties": False,
                     "properties": {"name": {"type": "string", "maxLength": 12},
                                    "age": {"type": "integer", "minimum": 0, "maximum": 99}}})


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


class KeptTexts(unittest.TestCase):
    """`-j`, `--grammar`, `--regex` of run and chat."""

    def run_json(self, *arguments: str) -> dict:
        return run_json("run", "-m", str(bundled_model()), "--seed", "3", "The fox is ", *arguments)

    def assert_is_person(self, text: str) -> None:
        person = json.loads(text)
        self.assertEqual(list(person), ["name", "age"])
        self.assertTrue(len(person["name"]) <= 12 and 0 <= person["age"] <= 99, text)

    def test_a_schema_holds_and_nothing_else_changes_the_text(self):
        facts = self.run_json("-j", PERSON)
        self.assert_is_person(facts["text"])
        self.assertEqual(facts["finish_reason"], "stop")
        draft = str(bundled_model().parent / "tales-draft.gguf")
        for more in (("--spec", "ngram", "--draft-min", "3"), ("--draft", draft, "--draft-min", "2"),
                     ("--chunk", "1"), ("-t", "1"), ("--isa", "scalar"), ("--ignore-eos",)):
            self.assertEqual(self.run_json("-j", PERSON, *more)["text"], facts["text"], more)
        with tempfile.TemporaryDirectory() as folder:
            schema = Path(folder) / "person.json"
            schema.write_text(PERSON + "\n")
            for flag in ("-j", "-jf"):
                self.assertEqual(self.run_json(flag, str(schema))["text"], facts["text"])
        cut = self.run_json("-j", PERSON, "-n", "3")
        self.assertEqual(cut["finish_reason"], "length")
        self.assertTrue(facts["text"].startswith(cut["text"]))

    def test_every_seed_and_every_beam_is_kept(self):
        for seed in range(8):
            self.assert_is_person(self.run_json("-j", PERSON, "--seed", str(seed), "--temp", "1.5")["text"])
        # The text depends on the guesses of a draft model then, but every one is kept.
        draft = str(bundled_model().parent / "tales-draft.gguf")
        for seed in range(4):
            guessed = self.run_json("-j", PERSON, "--seed", str(seed), "--temp", "1.2", "--draft", draft,
                                    "--draft-min", "2", "--spec-rule", "rejection", *(("--top-k", "0") if seed % 2 else ()))
            self.assert_is_person(guessed["text"])
        searched = self.run_json("-j", PERSON, "--beams", "4", "--n-best", "2")
        for text in (searched, *searched["others"]):
            self.assert_is_person(text["text"])

    def test_expressions_and_grammars_hold(self):
        day = self.run_json("--regex", "(Mon|Tues|Fri)day")["text"]
        self.assertIn(day, ("Monday", "Tuesday", "Friday"))
        self.assertRegex(self.run_json("--grammar", "root ::= [a-c]{3}")["text"], "^[a-c]{3}$")
        self.assertEqual(self.run_json("--regex", "")["text"], "")

    def test_each_answer_of_a_conversation_is_kept(self):
        done = run("chat", "-m", str(bundled_model()), "-q", "--json", "--regex", "(yes|no)[.!]",
                   stdin=b"Is it?\nAnd now?\n")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        answers = [json.loads(line)["content"] for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), 2)
        for answer in answers:
            self.assertIn(answer, ("yes.", "yes!", "no.", "no!"))

    def test_what_is_wrong_is_said_before_a_model_is_loaded(self):
        for verb in ("run", "chat"):
            for flags, part in ((("--regex", "(a"), "--regex: "),
                                (("-j", "{}", "--regex", "a"), "two forms of the text"),
                                (("-j", "no/such.json"), "no/such.json"),
                                (("-j", '{"not": {}}'), "#/not")):
                done = run(verb, "-m", "no/such/model.gguf", *flags, stdin=b"")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(part, done.stderr.decode())


if __name__ == "__main__":
    Setup.binary, Setup.source = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)

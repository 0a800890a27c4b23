"""Texts that are longer than what a model was trained for: warnings, stretched positions, endless texts.

Run by ctest (test LongText), and by hand:
python3 tests/cli/long_text_test.py build/release/skald .
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, bundled_model, golden_model, run

TELL = ("run", "Once upon a time", "--temp", "0", "--ignore-eos")


class Refusals(unittest.TestCase):
    def refuses(self, done, code: int, part: str) -> None:
        self.assertEqual(done.returncode, code, done.stderr.decode())
        self.assertIn(part, done.stderr.decode())


class Context(Refusals):
    """-c and the --rope flags."""

    def test_a_context_beyond_the_models_is_a_warning(self):
        for verb in (("run", "-p", "a"), ("chat",)):
            done = run(*verb, "-m", str(bundled_model()), "-n", "1", "-c", "1000", stdin=b"")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertIn(b"warning: the context of 1000 tokens is beyond the 512 of the model", done.stderr)
            fits = run(*verb, "-m", str(bundled_model()), "-n", "1", "-c", "512", stdin=b"")
            self.assertNotIn(b"warning", fits.stderr)

    def test_a_context_that_is_stretched_is_the_models(self):
        tell = ("run", "x", "-n", "1", "-c", "1000", "--rope-scaling", "yarn", "--rope-scale")
        self.assertNotIn(b"warning", run(*tell, "2").stderr)
        self.assertIn(b"beyond the 768 of the model", run(*tell, "1.5").stderr)
        self.refuses(run(*tell, "0"), 2, "rope factor is 0")
        self.refuses(run(*tell[:-1]), 2, "give a factor")


class Endless(Refusals):
    """--endless."""

    def test_a_text_goes_on_behind_the_trained_context(self):
        told = run(*TELL, "-n", "700", "--endless", "4,508")
        self.assertEqual(told.returncode, 0, told.stderr.decode())
        self.assertNotIn(b"warning", told.stderr)
        # Until something is left out nothing is different.
        self.assertTrue(told.stdout.startswith(run(*TELL, "-n", "400").stdout))

    def test_the_text_is_the_same_on_every_way(self):
        told = run(*TELL, "-n", "300", "--endless", "3,60")
        self.assertEqual(told.returncode, 0, told.stderr.decode())
        for flags in (("--isa", "scalar", "-t", "1"), ("--isa", "avx2"), ("--ranks", "2"), ("--chunk", "7"),
                      ("--spec", "ngram")):
            with self.subTest(flags=flags):
                self.assertEqual(run(*TELL, "-n", "300", "--endless", "3,60", *flags).stdout, told.stdout)
        self.assertNotEqual(run(*TELL, "-n", "300").stdout, told.stdout)
        # All the rest: pages, preemption, batches, a folder, receipts.
        for model in (bundled_model(), golden_model("deepseek2"), golden_model("qwen35")):
            done = run("proof", "-m", str(model), "--endless", "3,20", "-n", "40")
            self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())

    def test_a_receipt_knows_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            receipt = Path(folder) / "receipt.json"
            run(*TELL, "-n", "90", "--endless", "3,60", "--receipt", str(receipt))
            self.assertEqual(json.loads(receipt.read_text())["model"]["endless"], {"sinks": 3, "window": 60})
            done = run("verify", str(receipt))
            self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())

    def test_numbers_that_make_no_sense_and_models_that_cannot(self):
        for numbers, why in (("4", "SINKS,WINDOW"), ("4,0", "0 is out of range"), ("257,9", "257 is out of range"),
                             ("4,9x", "'9x' is not a whole number"), (",9", "'' is not")):
            self.refuses(run(*TELL, "-n", "1", "--endless", numbers), 2, why)
        done = run("embed", "a", "-m", str(golden_model("bert")), "--endless", "4,60")
        self.refuses(done, 6, "texts of this model cannot be endless: its positions were learned")


if __name__ == "__main__":
    Setup.binary, Setup.source = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)

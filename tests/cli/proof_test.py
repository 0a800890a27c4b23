"""skald proof and skald verify from outside: one answer on every way, a planted fault, receipts, exit codes.

Run by ctest (test Proof), and by hand: python3 tests/cli/proof_test.py build/release/skald .
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, run

SHORT = ("-p", "The fox and the lantern.", "-n", "6", "-t", "1")


class ProofTest(unittest.TestCase):
    """`skald proof`."""

    def test_all_runs_give_the_same_bits(self):
        done = run("proof", "-t", "1", "-n", "12")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().splitlines()
        rows = [line.split() for line in lines[1:-1] if "not run" not in line]
        self.assertGreaterEqual(len(rows), 10)
        hashes = {word for row in rows for word in row if len(word) == 16}
        self.assertEqual(len(hashes), 2, lines)  # of the tokens, of the logits
        self.assertRegex(lines[-1], r"^\d+ runs, the same bits: prompt of \d+ tokens, answer of 12, seed 1$")

    def test_a_fault_is_found_and_shown(self):
        done = run("proof", *SHORT, "--fault", "--without", "crowded", "--without", "restarted")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode().splitlines()[-1],
                         r"^planted fault: first different at token 0 of the answer: logit of token id \d+ is "
                         r"\S+ \(0x[0-9a-f]{8}\), expected \S+ \(0x[0-9a-f]{8}\)")
        self.assertRegex(done.stderr.decode(), r"^skald: 1 of \d+ runs gave other bits than the first\n$")

    def test_json_has_whole_hashes(self):
        done = run("proof", *SHORT, "--fault", "--json")
        self.assertEqual(done.returncode, 1)
        told = json.loads(done.stdout)
        self.assertFalse(told["equal"])
        ran = [each for each in told["runs"] if each["ran"]]
        self.assertEqual([each["name"] for each in ran if not each["equal"]], ["planted fault"])
        self.assertEqual(len({each["logits_sha256"] for each in ran}), 2)
        self.assertTrue(all(len(each["tokens_sha256"]) == 64 for each in ran))

    def test_names_the_runs_there_are(self):
        done = run("proof", "--without", "nope")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"there is no run 'nope', expected one of: scalar, avx2,", done.stderr)


class VerifyTest(unittest.TestCase):
    """`skald run --receipt` and `skald verify`."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.receipt = self.folder / "receipt.json"

    def make(self, *flags: str) -> dict:
        done = run("run", "-p", "The fox", "-n", "12", "--seed", "4", "--json", "--receipt", str(self.receipt), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_receipt_holds_on_another_instruction_set(self):
        told = self.make("--temp", "0.7", "--kv-type", "q8", "--spec", "ngram", "--stop", "zzz")
        receipt = json.loads(self.receipt.read_text())
        self.assertEqual(receipt["output"]["tokens"], told["tokens"])
        self.assertEqual((receipt["sampling"]["seed"], receipt["model"]["k_type"]), ("4", "q8"))
        done = run("verify", str(self.receipt), "--isa", "scalar", "-t", "1")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout.decode(), r"^holds: this model \([0-9a-f]{12}\.\.\.\) said these 12 tokens behind a prompt of \d+ \(.*\)\n$")

    def test_a_split_model_gives_the_same_receipt(self):
        self.make()
        whole = self.receipt.read_text()
        self.make("--ranks", "2", "-t", "2")
        self.assertEqual(self.receipt.read_text(), whole)

    def test_what_was_changed_does_not_hold(self):
        self.make()
        text = self.receipt.read_text()
        self.receipt.write_text(text.replace('"seed":"4"', '"seed":"5"'))
        done = run("verify", str(self.receipt))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"does not hold (seal): the seal does not fit the rest: the receipt was changed\n")
        self.assertEqual(done.stderr, b"skald: the receipt does not hold\n")
        self.receipt.write_text(text[:-1])
        done = run("verify", str(self.receipt), "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["part"]), (1, "form"))

    def test_hashes_need_the_tokens(self):
        told = self.make("--receipt-hashes")
        self.assertEqual(json.loads(self.receipt.read_text())["output"]["tokens"], [])
        self.assertEqual(json.loads(run("verify", str(self.receipt), "--json").stdout)["part"], "tokens")
        prompt, output = self.folder / "prompt", self.folder / "output"
        prompt.write_bytes(run("tokenize", "--ids", "The fox").stdout)
        output.write_text(",".join(map(str, told["tokens"])))
        done = run("verify", str(self.receipt), "--prompt-tokens", str(prompt), "--output-tokens", str(output))
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)

    def test_refuses_what_has_no_receipt(self):
        for flags, words in ((("--beams", "2"), b"no receipt for a beam search"),
                             (("--regex", "a+"), b"no receipt for an answer that a grammar holds to a form"),
                             (("--spec", "ngram", "--spec-rule", "rejection"), b"under the rule rejection")):
            done = run("run", "-p", "The fox", "--receipt", str(self.receipt), *flags)
            self.assertEqual(done.returncode, 6)
            self.assertIn(words, done.stderr)
            self.assertFalse(self.receipt.exists())
        self.assertEqual(run("run", "-p", "x", "--receipt-hashes").returncode, 2)
        self.assertEqual(run("verify", str(self.receipt)).returncode, 3)


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

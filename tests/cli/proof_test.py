"""skald proof from outside: one answer on every way, a planted fault, exit codes.

Run by ctest (test Proof), and by hand: python3 tests/cli/proof_test.py build/release/skald .
"""

import json
import sys
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


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

"""skald explain from outside: tokens, steps, trees, and what --json has of them.

Run by ctest (test Explain), and by hand: python3 tests/cli/explain_test.py build/release/skald .
"""

import json
import sys
import unittest
from pathlib import Path

from command import Setup, run

SHORT = ("-p", "The fox", "-n", "2", "-t", "1", "--bandwidth", "10", "--peak", "0.1", "-q")


class ExplainTest(unittest.TestCase):
    """`skald explain`."""

    def test_shows_prefill_and_decode_down_to_a_matrix(self):
        done = run("explain", *SHORT, "--layer", "1", "--depth", "4")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        self.assertIn("\nstep 0, prefill\n", text)
        self.assertIn("\nstep 1, decode\n", text)
        self.assertRegex(text, r"\n        blk\.1\.attn_q\.weight +\[1, 192\] +\[192, 192\] +\[1, 192\] ")
        self.assertNotIn("layer 0", text)
        self.assertNotIn("\x1b", text)

    def test_colours_are_asked_for(self):
        done = run("explain", *SHORT, "--color", "always")
        self.assertIn(b"\x1b[32m", done.stdout)

    def test_json_adds_up(self):
        done = run("explain", *SHORT, "--warm", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["cached_tokens"], told["prompt_tokens"] - 1)
        self.assertEqual([step["kind"] for step in told["steps"]], ["prefill", "decode"])
        self.assertEqual([token["origin"] for token in told["tokens"]][-2:], ["drawn", "drawn"])
        for step in told["steps"]:
            tree = step["tree"]
            for field in ("bytes", "operations", "seconds"):
                self.assertAlmostEqual(sum(call[field] for call in tree["calls"]), tree[field], delta=1e-9 * tree[field])
            self.assertGreater(tree["share"], 0)

    def test_names_the_steps_there_are(self):
        done = run("explain", *SHORT, "--step", "7")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--step: there is no step 7, expected 0 to 1", done.stderr)


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

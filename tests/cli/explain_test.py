"""skald explain from outside: tokens, steps, trees, and what --json has of them.

Run by ctest (test Explain), and by hand: python3 tests/cli/explain_test.py build/release/skald .
"""

import json
import sys
import unittest
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from command import Setup, golden_model, run

SHORT = ("-p", "The fox", "-n", "2", "-t", "1", "--bandwidth", "10", "--peak", "0.1", "-q")


VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A document as a strict reader sees it: every element closed, nothing fetched, nothing run."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.problems, self.scripts, self.links = [], [], [], []
        self.ids, self.tags, self.data = set(), Counter(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "action", "data", "poster") or name.startswith("on"):
                self.problems.append(f"{tag} {name}")
            if name == "href":
                self.links.append(value)
            if name == "id":
                self.ids.add(value)
        if tag == "script":
            self.scripts.append(dict(attrs).get("type"))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}>")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data += data


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

    def test_the_page_is_one_document_without_anything_from_elsewhere(self):
        done = run("explain", *SHORT, "--html", "-")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        page = Page(done.stdout.decode())
        self.assertEqual(page.open, [])
        self.assertEqual(page.problems, [])
        self.assertEqual(page.scripts, ["application/json"])
        self.assertGreater(page.tags["table"], 6)
        self.assertEqual(page.tags["caption"], page.tags["table"])
        self.assertLessEqual({link.removeprefix("#") for link in page.links}, page.ids)
        self.assertEqual(len(page.links), 2)
        told = json.loads(page.data)
        self.assertEqual(len(told["steps"]), 2)
        for step in told["steps"]:
            chances = step["choice"]["chances"]
            self.assertEqual(len(chances[0]["probabilities"]), len(step["choice"]["filters"]))
        self.assertLess(len(done.stdout) - len(page.data), 300_000)

    def test_all_that_can_be_looked_at_is_in_terminal_page_and_data(self):
        done = run("explain", *SHORT, "--all")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for part in (b"\nlogit lens: ", b"\nattention: ", b"\nweights\n", b"\nvalues "):
            self.assertIn(part, done.stdout)
        self.assertNotIn(b"\nexperts", done.stdout, "it has none")
        done = run("explain", *SHORT, "--all", "--html", "-")
        page = Page(done.stdout.decode())
        self.assertEqual((page.open, page.problems), ([], []))
        self.assertLessEqual({link.removeprefix("#") for link in page.links}, page.ids)
        self.assertLess(len(done.stdout) - len(page.data), 300_000)
        told = json.loads(page.data)
        layers = {head["layer"] for head in told["heads"]}
        self.assertEqual(layers, {lens["layer"] for lens in told["steps"][0]["lens"]})
        self.assertEqual(told["steps"][0]["lens"][-1]["best"], told["steps"][0]["choice"]["chances"][0]["token"])
        self.assertEqual(sum(told["weights"][0]["card"]["bins"]), told["weights"][0]["card"]["count"])

    def test_experts_of_a_mixture(self):
        done = run("explain", *SHORT, "--experts", "-m", str(golden_model("moe")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.decode(), r"\nexperts\nlayer +chosen +most often\n0 +\d of \d +\d \(\d of \d tokens\)")

    def test_names_the_steps_there_are(self):
        done = run("explain", *SHORT, "--step", "7")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--step: there is no step 7, expected 0 to 1", done.stderr)


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

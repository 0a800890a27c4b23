"""skald lab from outside: the list, an experiment in a terminal, as a drawing and as data, exit codes.

Run by ctest (test Lab), and by hand: python3 tests/cli/lab_test.py build/release/skald .
"""

import json
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from command import Setup, run

SHORT = ("-n", "12", "-t", "1", "-q")


class LabTest(unittest.TestCase):
    """`skald lab`."""

    def test_lists_experiments_with_what_they_are_for(self):
        done = run("lab")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        names = re.findall(r"^([a-z-]+) +\S", done.stdout.decode(), re.MULTILINE)
        told = json.loads(run("lab", "--json").stdout)["experiments"]
        self.assertEqual(names, [each["name"] for each in told])
        self.assertIn("forget-cache", names)
        self.assertTrue(all(each["see"].endswith(".") and each["bug"].endswith(".") for each in told))

    def test_shows_what_was_changed_and_that_it_is_clean_without(self):
        done = run("lab", "forget-cache", *SHORT)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        self.assertRegex(text, r"(?m)^changed          From position \d+ on no step has anything of the steps before it$")
        self.assertRegex(text, r"(?m)^with the fault   \|")
        self.assertIn("^ the fault", text)
        self.assertRegex(text.replace("\n", " "), r"Without it the same steps give the bits of the text computed at once, "
                                                  r"in all \d+ rows: KL 0\. $")

    def test_a_drawing_is_a_document(self):
        done = run("lab", "future", *SHORT, "--svg", "-")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        root = ElementTree.fromstring(done.stdout)
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        data = json.loads(root.find(space + "metadata").text)
        self.assertEqual(data["experiment"], "future")
        self.assertTrue(data["is_clean"])
        for element in root.iter():
            self.assertNotIn(element.tag, (space + "script", space + "image", space + "foreignObject"))
            self.assertFalse([name for name in element.attrib if name.startswith("on") or "href" in name])
        self.assertIn("skald lab future -n 12 --svg -", "".join(root.itertext()))

    def test_the_prompt_and_the_position_are_the_users(self):
        done = run("lab", "write-index", "-p", "The fox sat by the old door", "--position", "4", "--json", *SHORT)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        told = json.loads(done.stdout)
        self.assertEqual(told["position"], 4)
        self.assertEqual(len(told["text"]), told["prompt_tokens"] + 12)
        self.assertEqual(told["text"][:told["prompt_tokens"]], told["broken_text"][:told["prompt_tokens"]])
        points = told["panels"][1]["series"][0]["points"]
        self.assertEqual({y for x, y in points if x < 4}, {0})
        self.assertGreater(max(y for _, y in points), 0)

    def test_the_document_shows_what_is_printed(self):
        """Every bit is the same on every machine, so the figures of docs/lab.md are."""
        blocks = re.findall(r"^```\n(.*?)^```$", (Path(Setup.source) / "docs/lab.md").read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(run("lab", "key", "-t", "1", "-q").stdout.decode(), blocks[0])
        found = []
        for block in blocks[1:]:
            for line in block.splitlines():
                name, words = line[:15].strip(), line[15:]
                if name:
                    found.append([name, words])
                else:
                    found[-1][1] += " " + words
        self.assertGreater(len(found), 10)
        for name, finding in found:
            told = json.loads(run("lab", name, "--json", "-t", "1", "-q").stdout)
            self.assertEqual(told["finding"] + ".", finding, name)

    def test_refusals(self):
        for flags, code, words in ((("nope",), 2, b"there is no experiment 'nope', expected one of: key, "),
                                   (("stale-state",), 6, b"it has no recurrent layers, so it carries no state"),
                                   (("key", "--position", "400"), 2, b"the position is 400, expected 1 to ")):
            done = run("lab", *flags)
            self.assertEqual((done.returncode, done.stdout), (code, b""))
            self.assertIn(words, done.stderr)


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

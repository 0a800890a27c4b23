"""The drawing of a record, opened in speedscope as its users open it: in a browser, the page of its npm package.

    speedscope_test.py SKALD SOURCE [--picture FILE]

What speedscope cannot read it refuses with a dialog, or shows nothing of. Needs chromium and the packages of
tests/e2e/clients (npm ci).
"""

import argparse
import base64
import json
import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, run

from browser import Browser, Page  # command has put tests/support on the path

SPEEDSCOPE = Path(__file__).resolve().parent.parent / "e2e/clients/node_modules/speedscope/dist/release/index.html"
STREAMS = ("bench", "--traffic", "random", "--num-prompts", "3", "--input-len", "20", "--output-len", "4", "-t", "1")
# Speedscope draws on a canvas; what it read stands in its menu of profiles, one a track.
TEXT = "document.body.innerText"


class Speedscope(unittest.TestCase):
    picture: Path | None = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.browser = self.enterContext(Browser())

    def open(self, drawing: bytes) -> Page:
        # What the command of the package does: the page loads a script with the file in it.
        script = self.folder / "drawing.js"
        script.write_text(f'speedscope.loadFileFromBase64("run.json", "{base64.b64encode(drawing).decode()}")')
        return self.browser.open(f"{SPEEDSCOPE.as_uri()}#localProfilePath={script}")

    def test_every_track_is_a_profile(self):
        record = self.folder / "run.jsonl"
        done = run(*STREAMS, "--trace", str(record))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        drawing = run("trace", "convert", "--perfetto", str(record), "-").stdout
        page = self.open(drawing)
        page.wait(f"/\\([0-9]+\\/[0-9]+\\)/.test({TEXT})")
        tracks = {event["tid"] for event in json.loads(drawing)["traceEvents"] if event["ph"] == "B" and event["pid"] == 2}
        self.assertEqual(len(tracks), 3)
        self.assertIn("/4)", page.evaluate(TEXT), "the steps, and three requests")
        if self.picture:
            page.screenshot(self.picture)
        told = [text for text in page.complaints if "WebGL" not in text]  # there is no GPU
        self.assertEqual(told, [])
        self.assertEqual([url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))], [])

    def test_what_is_none_is_refused(self):
        page = self.open(b"[1, 2")
        page.wait(f"!{TEXT}.includes('Loading')")
        self.assertNotRegex(page.evaluate(TEXT), r"\([0-9]+/[0-9]+\)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skald")
    parser.add_argument("source", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    Setup.binary, Setup.source, Speedscope.picture = options.skald, options.source.resolve(), options.picture
    unittest.main(argv=sys.argv[:1], verbosity=2)

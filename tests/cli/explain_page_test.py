"""The page of skald explain in a browser: wide and narrow, light and dark, by mouse and by keyboard.

Run by ctest (test ExplainPageInBrowser), and by hand:
python3 tests/cli/explain_page_test.py build/release/skald .
"""

import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, golden_model, run

from browser import Browser  # command has put tests/support on the path

# What a Tab stops at.
STOPS = """[...document.querySelectorAll('a[href], summary, [tabindex="0"]')].filter((e) => e.checkVisibility()).length"""
SHOWN = "[...document.querySelectorAll('g.choice')].filter((e) => getComputedStyle(e).display !== 'none').map((e) => e.id)"


class ExplainPageTest(unittest.TestCase):
    """`skald explain --all --html`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.browser = cls.enterClassContext(Browser())
        cls.page = cls.draw("tales")

    @classmethod
    def draw(cls, name: str, *model: str) -> str:
        path = Path(cls.folder) / f"{name}.html"
        done = run("explain", "-p", "The fox ran over the hill", "-n", "3", "-t", "1", "--no-ceiling", "-q", "--all", "--html",
                   str(path), *model)
        if done.returncode:
            raise AssertionError(done.stderr)
        return path.as_uri()

    def hold(self, url: str, width: int, dark: bool) -> None:
        with self.subTest(url=url, width=width, dark=dark):
            page = self.browser.open(url, width=width, dark=dark)
            # Closed parts, too.
            page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
            self.assertEqual(page.faults(), [])
            self.assertEqual(page.requests, [url])

    def test_is_sound_at_every_width_and_in_the_dark(self):
        for width in (1280, 400):
            for dark in (False, True):
                self.hold(self.page, width, dark)

    def test_is_sound_with_experts_and_with_states(self):
        self.hold(self.draw("moe", "-m", str(golden_model("moe"))), 400, False)
        self.hold(self.draw("qwen35", "-m", str(golden_model("qwen35"))), 400, True)

    def test_tints_keep_the_hue_of_where_a_token_came_from(self):
        url = self.draw("prompt", "--prompt-probs")
        for dark in (False, True):
            self.hold(url, 400, dark)
        page = self.browser.open(url)
        hue = "getComputedStyle(document.querySelector('.strip .{}')).borderColor"
        hues = [page.evaluate(hue.format(origin)) for origin in ("computed:not(.p0, .p1, .p2, .p3, .p4)", "computed.p4", "drawn")]
        self.assertEqual(hues[0], hues[1])
        self.assertNotEqual(hues[1], hues[2])

    def test_a_link_chooses_the_head_that_is_shown(self):
        page = self.browser.open(self.page)
        self.assertEqual(page.evaluate(SHOWN), ["show-map-all"])
        page.evaluate("""document.querySelector('a[href="#show-map-1-2"]').click()""")
        self.assertEqual(page.evaluate(SHOWN), ["show-map-1-2"])
        self.assertGreater(page.evaluate("document.querySelector('#show-map-1-2').getBBox().width"), 5)

    def test_all_is_reached_by_keyboard(self):
        page = self.browser.open(self.page)
        stops = page.evaluate(STOPS)
        self.assertGreater(stops, 20)
        page.evaluate("window.seen = new Set()")
        for _ in range(stops):
            page.press("Tab")
            page.evaluate("window.seen.add(document.activeElement), 0")
        self.assertEqual(page.evaluate("window.seen.has(document.body) ? 0 : window.seen.size"), stops)
        page.evaluate("document.querySelector('details.data summary').focus()")
        page.press("Enter")
        self.assertTrue(page.evaluate("document.querySelector('details.data').open"))
        page.evaluate("""document.querySelector('a[href="#show-map-0"]').focus()""")
        page.press("Enter")
        self.assertEqual(page.evaluate(SHOWN), ["show-map-0"])

    def test_prints_on_white(self):
        page = self.browser.open(self.page, dark=True)
        self.assertNotEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

"""The documents as a site: mkdocs builds it without a warning, and every link in it leads to a page and a place there.

Run by ctest (test Site), and by hand: python3 tests/examples/site_test.py .
"""

import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Setup:
    source = Path()


class Page(HTMLParser):
    """What a page fetches, where it leads, and the places that others may lead to."""

    def __init__(self, path: Path):
        super().__init__()
        self.places, self.links, self.fetched = set(), [], []
        self.text = path.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.places |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and told.get("href"):
            self.links.append(told["href"])
        elif tag in ("script", "img", "link", "iframe"):
            self.fetched += [told[name] for name in ("src", "href") if told.get(name)]


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--site-dir", str(cls.at)], cwd=Setup.source,
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"mkdocs ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        cls.pages = {path: Page(path) for path in sorted(cls.at.rglob("*.html")) if path.name != "404.html"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_links_lead_to_a_place(self):
        for path, page in self.pages.items():
            for link in page.links:
                if re.match(r"\w+:", link):
                    continue
                file, _, place = link.partition("#")
                target = (path.parent / unquote(file)).resolve() if file else path.resolve()
                with self.subTest(link, page=path.name):
                    self.assertTrue(target.is_file())
                    if place and target in self.pages:
                        self.assertIn(unquote(place), self.pages[target].places)

    def test_nothing_is_fetched_from_elsewhere(self):
        for path, page in self.pages.items():
            for name in page.fetched:
                with self.subTest(name, page=path.name):
                    self.assertFalse(re.match(r"(\w+:)?//", name))
                    self.assertTrue((path.parent / unquote(name.partition("?")[0])).is_file())

    def test_lists_and_tables_are_not_taken_for_text(self):
        # GitHub begins a list behind a line of text, mkdocs wants an empty line before it.
        for path, page in self.pages.items():
            for paragraph in re.findall(r"<p>(.*?)</p>", page.text, re.DOTALL):
                with self.subTest(page=path.name):
                    self.assertNotRegex(paragraph, r"\n([-*] |1\. |\|[^|\n]*\|[^|\n]*\|$)")


def main() -> None:
    Setup.source = Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()

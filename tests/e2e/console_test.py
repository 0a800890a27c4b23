"""The console in a browser: narrow and wide, light and dark, with keys and without.

    console_test.py SKALD SOURCE [--pictures FOLDER] [--minutes 10]

--pictures writes what was seen. --minutes watches 200 streams for so long, and prints what the page's memory does meanwhile.
"""

import argparse
import asyncio
import statistics
import sys
import threading
import time
import unittest
from pathlib import Path

import skald_server
from skald_server import Server, ask, completion

sys.path.append(str(Path(__file__).resolve().parent.parent / "support"))
from browser import Browser, Page  # noqa: E402  # behind the path

WIDE, NARROW = 1280, 400
STORY = "The fox and the lantern went over the hill"
# A page shows more rows than this only under load.
SLACK_NODES = 600

# What of the page is wider than the screen, or than the box around it that cannot be scrolled.
OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth;
  const inBox = (e) => e.closest('.wide, .tokens, .unseen, .skip, textarea');
  const out = [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !inBox(e.parentElement ?? e) &&
    !e.matches('.unseen, .skip') && e.getBoundingClientRect().right > wide + 1);
  if (document.documentElement.scrollWidth > wide) out.push(document.documentElement);
  return out.map((e) => `${e.tagName} ${e.id} ${e.className}`);
})()"""

# How many pixels of the pool have this colour of the palette.
GROUNDS = """((name) => {
  const canvas = document.getElementById('pages-canvas');
  const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += wanted.every((value, at) => data[i + at] === value);
  return count;
})"""

FOCUSED = "(() => { const e = document.activeElement; return e.id || e.closest('details,section')?.id + ' ' + e.tagName })()"


class Console(unittest.TestCase):
    pictures: Path | None = None
    minutes = 0.0
    page: Page

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Browser())

    def show(self, server: Server, width: int, scheme: str):
        self.page = self.browser.open(f"http://127.0.0.1:{server.port}/", width=width, dark=scheme == "dark")

    def await_figures(self):
        self.page.wait("document.getElementById('link').textContent === 'Connected'")
        self.page.wait("document.getElementById('tree-title').textContent.startsWith('Prefixes of')")
        self.page.wait("document.getElementById('pages-title').textContent.includes('free')")

    def chat(self, text: str):
        self.page.evaluate("document.getElementById('say').focus()")
        self.page.evaluate("document.getElementById('most').value = 24")
        self.page.type(text)
        self.page.press("Enter")
        self.page.wait("/^[0-9]+ tokens/.test(document.getElementById('chat-note').textContent)")

    def check_quiet(self, server: Server):
        self.assertEqual(self.page.complaints, [])
        elsewhere = [url for url in self.page.requests if not url.startswith(f"http://127.0.0.1:{server.port}/")]
        self.assertEqual(elsewhere, [])

    def keep(self, name: str):
        if self.pictures:
            self.page.screenshot(self.pictures / f"{name}.png", whole=True)

    def test_it_is_readable_and_fits_wide_and_narrow_light_and_dark(self):
        with Server("--ceilings") as server:
            for i in range(6):
                server.exchange(completion(prompt=f"{STORY} {i} times", max_tokens=40, seed=i, ignore_eos=True))
            for width in (WIDE, NARROW):
                for scheme in ("light", "dark"):
                    with self.subTest(width=width, scheme=scheme):
                        self.show(server, width, scheme)
                        self.await_figures()
                        self.chat("Tell me a story")
                        self.assertEqual(self.page.evaluate(OVERFLOW), [])
                        self.assertEqual(self.page.faults(), [])
                        self.check_quiet(server)
                        self.keep(f"console-{width}-{scheme}")
            self.assertIn("%", self.page.evaluate("document.getElementById('step-note').textContent"), "of the ceiling")

    def test_colours_say_what_is_meant(self):
        with Server() as server:
            server.exchange(completion(prompt=STORY * 8, max_tokens=8))
            self.show(server, WIDE, "light")
            self.page.wait("/, [1-9][0-9]* cached, 0 in use/.test(document.getElementById('pages-title').textContent)")
            # Squares with blue ground are cached. Nobody holds a page, so none has the ground of held or shared ones.
            self.page.wait(f"{GROUNDS}('blue-on') > 0")
            for other in ("amber-on", "purple-on"):
                self.assertEqual(self.page.evaluate(f"{GROUNDS}('{other}')"), 0, other)
            self.chat("Tell me a story")
            self.page.evaluate("document.getElementById('strip-data').open = true")
            self.page.wait("document.querySelector('#strip-data tbody tr') !== null")
            tints = self.page.evaluate("[...document.querySelectorAll('#strip > span')].map((e) => e.classList[0])")
            shares = self.page.evaluate("[...document.querySelectorAll('#strip-data tbody tr')].map((e) => e.cells[2].textContent)")
            self.assertEqual(len(tints), len(shares))
            self.assertGreater(len(set(tints)), 1, "tokens that were to be expected, and others")
            for tint, share in zip(tints, shares):
                percent = float(share.removesuffix(" %"))
                if min(abs(percent - bound) for bound in (70, 30, 10, 2)) > 0.6:  # what is shown is rounded
                    self.assertEqual(tint, f"p{sum(percent < bound for bound in (70, 30, 10, 2))}", share)

    def test_the_keyboard_reaches_everything_and_every_figure_has_its_table(self):
        with Server() as server:
            server.exchange(completion(prompt=STORY, max_tokens=8))
            self.show(server, WIDE, "light")
            self.await_figures()
            self.chat("Tell me a story")
            # Where the browser goes on from: the first that can have the focus.
            self.page.evaluate("document.querySelector('a, button, input, textarea, summary, [tabindex]').focus()")
            order = [self.page.evaluate(FOCUSED)]
            for _ in range(40):
                self.page.press("Tab")
                order.append(self.page.evaluate(FOCUSED))
                if order[-1] == "forget":
                    break
            self.assertEqual(order, ["undefined A", "requests DIV", "pages-data SUMMARY", "tree-canvas", "tree-data SUMMARY",
                                     "step-data SUMMARY", "strip", "strip-data SUMMARY", "say", "most", "heat", "send", "forget"])
            # Each opens by the keyboard, and has rows.
            for figure in ("pages", "tree", "step", "strip"):
                self.page.evaluate(f"document.querySelector('#{figure}-data summary').focus()")
                self.page.press("Enter")
                self.page.wait(f"document.querySelectorAll('#{figure}-data tbody tr').length > 0")
            # What the eye sees in canvases has a name.
            names = {node["name"]["value"] for node in self.page.call("Accessibility.getFullAXTree")["nodes"]
                     if node.get("role", {}).get("value") in ("image", "img") and not node.get("ignored")}
            self.assertEqual(len(names), 4, names)
            self.assertNotIn("", names)
            # From box to box, and from token to token. The tree comes again some time after an answer has ended, and its table stays as
            # it was opened, until it is renewed.
            self.page.wait("document.querySelector('#tree-data button').click(),"
                           " document.querySelectorAll('#tree-data tbody tr').length >= 4")
            self.page.evaluate("document.getElementById('tree-canvas').focus()")
            for _ in range(3):  # all, the token that begins each text, one of the two texts
                self.page.press("ArrowDown")
            self.assertRegex(self.page.evaluate("document.getElementById('tree-edge').textContent"), "^tokens 1 to .*: .")
            self.page.evaluate("document.getElementById('strip').focus()")
            self.page.press("ArrowRight")
            self.assertRegex(self.page.evaluate("document.getElementById('token').textContent"), r"^Token 0: .* %; others: ")
            self.check_quiet(server)

    def test_a_second_key_sees_no_text_of_the_first(self):
        keys = ("key-of-root name=root", "key-of-alice name=alice", "key-of-bob name=bob")  # the first is an admin's
        with Server(keys=keys) as server:
            of_alice = "Authorization: Bearer key-of-alice"
            body = completion(prompt=STORY, max_tokens=4)
            self.assertEqual(server.exchange(body.replace(b"\r\n\r\n", f"\r\n{of_alice}\r\n\r\n".encode(), 1)).status, 200)
            self.show(server, NARROW, "light")
            for key, sees in (("a-wrong-key", None), ("key-of-bob", ""), ("key-of-root", ""), ("key-of-alice", "lantern")):
                self.page.wait("!document.getElementById('key-form').hidden")
                self.page.evaluate("document.getElementById('key').focus()")
                self.page.type(key)
                self.page.press("Enter")
                if sees is None:
                    self.page.wait("document.getElementById('link').textContent === 'The key was refused'")
                    continue
                self.page.wait("document.getElementById('link').textContent === 'Connected'")
                self.page.wait("/^(No p|P)refix(es)? /.test(document.getElementById('tree-title').textContent)")
                self.page.evaluate("document.getElementById('tree-data').open = true")
                self.page.wait("document.querySelector('#tree-data table') !== null")
                if sees:
                    self.page.wait(f"document.body.innerText.includes('{sees}')")
                said = self.page.evaluate("document.body.innerText")
                self.assertEqual("lantern" in said, sees == "lantern", key)
                self.assertEqual(self.page.evaluate("document.getElementById('pages').hidden"), key != "key-of-root", key)
                self.assertEqual(self.page.evaluate(OVERFLOW), [])
                self.page.evaluate("sessionStorage.clear()")
                self.show(server, NARROW, "light")
            # What was refused is said by the browser, too: that is no fault of the page.
            faults = [each for each in self.page.complaints if "401" not in each]
            self.assertEqual(faults, [])

    def test_memory_is_flat_while_much_happens(self):
        streams = 200 if self.minutes else 12
        seconds = 60 * self.minutes or 4
        with Server("--parallel", "64", "--kv-positions", "65536") as server:
            self.show(server, WIDE, "light")
            self.page.wait("document.getElementById('link').textContent === 'Connected'")
            stop = threading.Event()
            load = threading.Thread(target=lambda: asyncio.run(keep_busy(server.port, streams, stop)))
            load.start()
            try:
                self.page.wait("/^[1-9]/.test(document.getElementById('requests-title').textContent)")
                # What is drawn for the first time is made in the first seconds.
                time.sleep(2 if not self.minutes else 30)
                heaps, nodes = [], []
                while (begun := time.monotonic()) and len(heaps) < 8:
                    time.sleep(max(0.0, seconds / 8 - (time.monotonic() - begun)))
                    heaps.append(self.page.heap_bytes())
                    nodes.append(self.page.node_count())
                if self.minutes:
                    print(f"{streams} streams, {self.minutes} minutes: heap {heaps}, nodes {nodes}", flush=True)
            finally:
                stop.set()
                load.join()
            early, late = statistics.median(heaps[:4]), statistics.median(heaps[4:])
            self.assertLess(late, early * 1.25 + (1 << 20), heaps)
            self.assertLess(nodes[-1], nodes[0] + SLACK_NODES, nodes)
            self.check_quiet(server)


async def keep_busy(port: int, streams: int, stop: threading.Event):
    """So many streams at a time until told to stop."""
    async def one(number: int):
        turn = 0
        while not stop.is_set():
            turn += 1
            await ask(port, {"prompt": f"{STORY} {number} {turn}", "max_tokens": 100, "ignore_eos": True, "stream": True})
    await asyncio.gather(*(one(number) for number in range(streams)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--only", help="the name of one test")
    options = skald_server.configure(parser)
    Console.pictures, Console.minutes = options.pictures, options.minutes
    unittest.main(argv=sys.argv[:1] + ([f"Console.{options.only}"] if options.only else []))

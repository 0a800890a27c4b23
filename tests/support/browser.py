"""A headless Chromium, driven through a pipe (Chrome DevTools Protocol): pages as their readers see them.

    with Browser() as browser:
        page = browser.open(Path("page.html").as_uri(), width=400, dark=True)
        page.evaluate("document.title")

Needs the Debian package chromium, and nothing else. What every page of ours is held to: `Page.faults`.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = "chromium"
ANSWER_SECONDS = 60

# Text whose contrast with what lies behind it is below 4.5 (WCAG 2, AA), as "text: ratio". A background that is half
# transparent is laid over the next one.
CONTRAST = r"""
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    const isDark = getComputedStyle(document.documentElement).colorScheme.includes('dark') &&
      matchMedia('(prefers-color-scheme: dark)').matches;
    return layers.reverse().reduce((below, top) => over(top, below), rgba(isDark ? '#121212' : '#ffffff'));
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faults = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    const element = texts.currentNode.parentElement;
    if (text === '' || element.closest('script, style, svg') || !element.checkVisibility()) continue;
    const below = behind(element);
    const [a, b] = [light(over(rgba(getComputedStyle(element).color), below)), light(below)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faults.add(`${text.slice(0, 40)}: contrast ${ratio.toFixed(2)}`);
  }
  return [...faults];
})()
"""

# What is wider than the window although nothing scrolls it; what scrolls and has no name or no place in the tab order;
# images of data without a name.
LAYOUT = r"""
(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
  const named = (e) => e.getAttribute('aria-label') || document.getElementById(e.getAttribute('aria-labelledby'))?.textContent;
  const describe = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute('class')}: ${e.textContent.trim().slice(0, 30)}`;
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') && e.tagName !== 'svg') continue;
    const style = getComputedStyle(e);
    const scrolls = e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(style.overflowX);
    if (scrolls && e.tabIndex < 0) faults.push(`no key scrolls ${describe(e)}`);
    if (scrolls && !named(e)) faults.push(`no name for ${describe(e)}`);
  }
  for (const e of document.querySelectorAll('svg')) {
    if (e.getAttribute('aria-hidden') !== 'true' && !named(e)) faults.push(`no name for ${describe(e)}`);
  }
  for (const e of document.querySelectorAll('a[href^="#"]')) {
    if (!document.getElementById(e.getAttribute('href').slice(1))) faults.push(`no target for ${e.getAttribute('href')}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`two elements have the id ${id}`);
  return faults;
})()
"""


class Page:
    """A tab, and what it has complained about and asked for."""

    def __init__(self, browser: "Browser", session: str):
        self._browser, self._session = browser, session
        self.complaints, self.requests = [], []

    def call(self, method: str, **params):
        """A command of the protocol; its result."""
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression: str):
        """The value of JavaScript in the page, as data."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression[:60]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as from a keyboard: "Tab", "Enter", "ArrowDown"."""
        codes = {"Tab": 9, "Enter": 13, "ArrowDown": 40, "ArrowRight": 39, "Escape": 27}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
                      **(text if kind == "keyDown" else {}))

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def wait(self, condition: str) -> None:
        """Until the expression is true."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise AssertionError(f"never true: {condition}; the page says: {self.evaluate('document.body.innerText')}")
            time.sleep(0.05)

    def heap_bytes(self) -> int:
        """Of its scripts, what is reachable."""
        self.call("HeapProfiler.collectGarbage")
        return self._metric("JSHeapUsedSize")

    def node_count(self) -> int:
        """Of its document."""
        return self._metric("Nodes")

    def _metric(self, name: str) -> int:
        metrics = self.call("Performance.getMetrics")["metrics"]
        return int(next(each["value"] for each in metrics if each["name"] == name))

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of the window, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def faults(self) -> list:
        """What is wrong with the page as it stands, in words; nothing: an empty list."""
        return self.complaints + self.evaluate(LAYOUT) + self.evaluate(CONTRAST)

    def see(self, event: dict) -> None:
        """Takes an event of the protocol."""
        method, params = event["method"], event.get("params", {})
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {params['exceptionDetails'].get('text')}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"log: {params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


class Browser:
    """One Chromium with a profile of its own, gone at the end."""

    def __enter__(self):
        self._profile = tempfile.mkdtemp(prefix="skald-browser-")
        # Chromium reads commands at descriptor 3 and writes at 4.
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        command = [CHROMIUM, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self._profile}", "--no-sandbox",
                   "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                   "--hide-scrollbars", "about:blank"]
        shell = 'exec 3<&"$0" 4>&"$1"; shift 1; exec "$@"'
        # A group of its own: it has children that outlive it otherwise.
        self._process = subprocess.Popen(["bash", "-c", shell, str(to_read), str(to_write), *command], pass_fds=(to_read, to_write),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self._rest, self._next, self._answers, self._pages = b"", 0, {}, {}
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        """A new tab with the page, loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.loaded = False
        page.call("Page.navigate", url=url)
        while not page.loaded:
            self._read()
        return page

    def call(self, method: str, session: str | None = None, **params):
        """A command of the protocol to the browser, or to a tab."""
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while number not in self._answers:
            self._read()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self) -> None:
        if not select.select([self._from], [], [], ANSWER_SECONDS)[0]:
            raise AssertionError(f"{CHROMIUM} has not answered for {ANSWER_SECONDS} s")
        data = os.read(self._from, 1 << 20)
        if not data:
            raise AssertionError(f"{CHROMIUM} has ended")
        *messages, self._rest = (self._rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
                continue
            page = self._pages.get(message.get("sessionId"))
            if page is None:
                continue
            if message["method"] == "Page.loadEventFired":
                page.loaded = True
            page.see(message)

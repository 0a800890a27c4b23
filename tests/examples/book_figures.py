"""The figures of docs/book: files that the commands of a chapter make, and parts of pages that they make, as pictures.

A part of an HTML page is put into an SVG with the page's own style, so that a document can show it: both GitHub and the site of
the documents show SVG files and nothing else that is a text.
"""

import html
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """An element of a page: the `index`-th of those that `tag` and `words` (of its start tag) fit."""
    page: str
    tag: str
    words: str
    index: int
    width: int
    height: int  # a picture cannot ask for the height of what is in it
    style: str = ""  # beside the page's: what a reader would have chosen by a link


PARTS = {
    "01-strip.svg": Part("page.html", "ol", 'class="strip"', 0, 720, 152),
    "02-lens.svg": Part("page.html", "div", 'aria-label="Logit lens"', 0, 560, 176),
    "03-attention.svg": Part("page.html", "svg", 'class="map"', 0, 560, 392,
                             "#show-map-1-1 { display: inline } .choice:last-child { display: none }"),
    "04-cache.svg": Part("page.html", "div", 'class="pages"', 0, 320, 96),
    "06-choice.svg": Part("page.html", "div", 'aria-label="Choice of step 1"', 0, 736, 512),
    "08-pages.svg": Part("page.html", "div", 'class="pages"', 0, 640, 96),
}

_VOID = {"br", "hr", "img", "meta", "link", "input"}
_MIXED_CASE = {"viewbox": "viewBox"}  # which a parser of HTML tells in small letters


class _Element(HTMLParser):
    """Finds a part and writes it down as XML."""

    def __init__(self, part: Part):
        super().__init__(convert_charrefs=True)
        self.part, self.left, self.depth, self.xml = part, part.index, 0, ""

    def handle_starttag(self, tag, attrs):
        start = self.get_starttag_text()
        if self.depth == 0:
            if self.xml or tag != self.part.tag or self.part.words not in start:
                return
            self.left -= 1
            if self.left >= 0:
                return
        # Of a picture no link leads anywhere; what is drawn again has its name in `href` too.
        attrs = [(_MIXED_CASE.get(name, name), value) for name, value in attrs if name != "href" or tag == "use"]
        attrs += [("xmlns", "http://www.w3.org/2000/svg")] * (tag == "svg")
        shown = "".join(f' {name}="{html.escape(value or "")}"' for name, value in attrs)
        self.xml += f"<{tag}{shown}{'/' if tag in _VOID else ''}>"
        self.depth += tag not in _VOID

    def handle_endtag(self, tag):
        if self.depth > 0:
            self.depth -= 1
            self.xml += f"</{tag}>"

    def handle_data(self, data):
        if self.depth > 0:
            self.xml += html.escape(data, quote=False)


def figure_of(name: str, made_in: Path) -> str:
    """The figure of that name, of what a chapter's commands have left in a folder."""
    if name not in PARTS:
        return (made_in / name).read_text()
    part = PARTS[name]
    page = (made_in / part.page).read_text()
    element = _Element(part)
    element.feed(page)
    if not element.xml or element.depth:
        raise AssertionError(f"{part.page} has no {part.tag} {part.words} {part.index}")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1].strip()
    size = f'width="{part.width}" height="{part.height}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {part.width} {part.height}">\n<style>{style}{part.style}</style>\n'
            f'<rect {size} fill="var(--paper)"/>\n<foreignObject {size}>\n<body xmlns="http://www.w3.org/1999/xhtml"><main>'
            f"{element.xml}</main></body>\n</foreignObject>\n</svg>\n")

"""What is wrong with a text of metrics: Prometheus's exposition format 0.0.4, and promtool's habits.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)?,?\}})? (\S+)$")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


def problems_of(text: str) -> list[str]:
    """One line for each thing that a reader of the format would refuse or doubt; empty: good."""
    return Reader().read(text)


class Reader:
    """The family at hand and what was seen so far."""

    def __init__(self):
        self.found: list[str] = []
        self.types: dict[str, str] = {}
        self.helped: set[str] = set()
        self.series: set[str] = set()
        self.family = ""
        self.buckets: dict[str, list[tuple[float, float]]] = {}
        self.counts: dict[str, float] = {}

    def read(self, text: str) -> list[str]:
        if not text.endswith("\n"):
            self.found.append("the last line does not end")
        for number, line in enumerate(text.split("\n")[:-1], 1):
            before = len(self.found)
            if line.startswith("# "):
                self.comment(line)
            elif line:
                self.sample(line)
            self.found[before:] = [f"line {number}: {each}: {line}" for each in self.found[before:]]
        self.check_histograms()
        self.found += [f"{name} has no HELP" for name in self.types if name not in self.helped]
        return self.found

    def comment(self, line: str):
        parts = line.split(" ", 3)
        if len(parts) < 4 or parts[1] not in ("HELP", "TYPE") or not re.fullmatch(NAME, parts[2]):
            self.found.append("neither HELP nor TYPE")
        elif parts[1] == "HELP":
            if parts[2] in self.helped:
                self.found.append("a second HELP")
            self.helped.add(parts[2])
        else:
            if parts[2] in self.types:
                self.found.append("a second TYPE")
            if parts[3] not in ("counter", "gauge", "histogram", "summary", "untyped"):
                self.found.append("an unknown type")
            if (parts[3] == "counter") != parts[2].endswith("_total"):
                self.found.append("counters, and nothing else, end with _total")
            self.types[parts[2]] = parts[3]
            self.family = parts[2]

    def sample(self, line: str):
        match = SAMPLE.match(line)
        if not match:
            self.found.append("not NAME{LABELS} VALUE")
            return
        name, labels, literal = match[1], match[2] or "", match[3]
        kind = self.types.get(self.family)
        if name not in [self.family + suffix for suffix in SUFFIXES.get(kind, ("",))]:
            self.found.append(f"does not belong to the family {self.family}")
        key = f"{name}{{{labels}}}"
        if key in self.series:
            self.found.append("the series stands twice")
        self.series.add(key)
        try:
            value = float(literal)
        except ValueError:
            self.found.append("the value is not a number")
            return
        if kind in ("counter", "histogram") and not value >= 0:
            self.found.append("below zero")
        if kind == "histogram":
            self.note_histogram(name, labels, value)

    def note_histogram(self, name: str, labels: str, value: float):
        others = ",".join(part for part in labels.split(",") if not part.startswith("le="))
        series = f"{self.family}{{{others}}}"
        if name.endswith("_count"):
            self.counts[series] = value
        elif name.endswith("_bucket"):
            bound = re.search(r'le="([^"]+)"', labels)
            if bound is None:
                self.found.append("a bucket without le")
            else:
                self.buckets.setdefault(series, []).append((float(bound[1]), value))

    def check_histograms(self):
        for series, buckets in self.buckets.items():
            if buckets != sorted(buckets) or [n for _, n in buckets] != sorted(n for _, n in buckets):
                self.found.append(f"{series}: buckets do not grow")
            if not math.isinf(buckets[-1][0]) or buckets[-1][1] != self.counts.get(series):
                self.found.append(f"{series}: the last bucket is not +Inf with the count")


def main():
    """Proves that the checks find what they are for."""
    good = ('# HELP a_total Help.\n# TYPE a_total counter\na_total{x="y"} 1\n# HELP h H.\n# TYPE h histogram\n'
            'h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n')
    assert problems_of(good) == [], problems_of(good)
    for old, new in (('{x="y"} 1', '{x="y} 1'), ("} 1\n# HELP h", "} -1\n# HELP h"), ("a_total{", "b_total{"),
                     ("# HELP a_total Help.\n", ""), ("h_count 2", "h_count 3"), ('le="1"} 1', 'le="1"} 3'),
                     ("h_sum 3\n", "h_sum 3\nh_sum 3\n"), ("counter", "gauge"), ("h_sum 3", "h_sum x"),
                     ("h_count 2\n", "h_count 2")):
        assert problems_of(good.replace(old, new, 1)), (old, new)
    print("11 passed, 0 failed")


if __name__ == "__main__":
    main()

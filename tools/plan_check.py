#!/usr/bin/env python3
"""How near `skald plan` comes to `skald bench`: each model's benchmark foretells all the others.

    plan_check.py SKALD MODEL MODEL... [--threads 2] [--prompt 256] [--tokens 32] [--repetitions 5] [--batch 1] [--depth 0]
                  [--rounds 1] [--bar 20] [--keep FOLDER]

Benchmarks every model once, then asks for each ordered pair what the planner foretells of the second from the first one's machine
file, and prints a line a test: foretold, measured, and by how much the foretold speed is off. Exit code 1 if one is off by more
than the bar, in percent. --rounds does that several times, the models in turn, and compares the medians: where a machine's
bandwidth moves from minute to minute, one benchmark foretells the next at another bandwidth. --keep leaves the benchmarks in a
folder, and takes those that are there in place of new ones.

Times mean something on a quiet machine alone, and shares are alike for models whose weights are of the same kind and many times
larger than the caches (docs/plan.md).
"""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

KEY = ("n_prompt", "n_sequences", "n_depth")  # of a test; what a decode has beside them only says how long it was measured


@dataclasses.dataclass(frozen=True)
class Line:
    """One test of one model, foretold from another's benchmark. Speeds in tokens/s."""
    machine: str
    model: str
    test: str
    foretold: float
    measured: float

    @property
    def percent(self) -> float:
        return 100 * (self.foretold / self.measured - 1)

    def text(self) -> str:
        return (f"{self.machine:24} {self.model:24} {self.test:18} {self.foretold:10.1f} {self.measured:10.1f} "
                f"{self.percent:+8.1f} %")


def place_of(test: dict) -> tuple:
    return tuple(test[key] for key in KEY)


def lines_of(machine: str, model: str, forecasts: list[dict], benchmark: list[dict]) -> list[Line]:
    """A line for each test of the benchmark. Errors: KeyError if one was not foretold."""
    foretold = {place_of(test): test for test in forecasts}
    lines = []
    for measured in benchmark:
        forecast = foretold[place_of(measured)]
        lines.append(Line(machine, model, forecast["test"], forecast["tokens_per_second"], measured["median_ts"]))
    return lines


def run_json(*command: str) -> dict | list:
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def benchmark_of(model: str, round_number: int, options: argparse.Namespace, folder: Path) -> Path:
    """The machine file of a model."""
    file = folder / f"{Path(model).stem}-{round_number}.json"
    if not file.exists():
        told = run_json(options.skald, "bench", "-m", model, "--json", "-t", options.threads, "-p", options.prompt, "-n",
                        options.tokens, "-r", options.repetitions, "-b", options.batch, "-d", options.depth)
        file.write_text(json.dumps(told))
    return file


def check(round_number: int, options: argparse.Namespace, folder: Path) -> list[Line]:
    files = {model: benchmark_of(model, round_number, options, folder) for model in options.models}
    lines = []
    for machine, file in files.items():
        for model in (each for each in files if each != machine):
            plan = run_json(options.skald, "plan", "-m", model, "--machine", str(file), "--json", "-t", options.threads, "-p",
                            options.prompt, "-b", options.batch, "-d", options.depth)
            lines += lines_of(Path(machine).stem, Path(model).stem, plan["forecasts"], json.loads(files[model].read_text()))
    return lines


def medians(rounds: list[list[Line]]) -> list[Line]:
    """Each round has the same tests in the same order."""
    return [dataclasses.replace(same[0], foretold=statistics.median(line.foretold for line in same),
                                measured=statistics.median(line.measured for line in same)) for same in zip(*rounds)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skald")
    parser.add_argument("models", nargs="+")
    for name, default in (("threads", "2"), ("prompt", "256"), ("tokens", "32"), ("repetitions", "5"), ("batch", "1"),
                          ("depth", "0")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--bar", type=float, default=20)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = medians([check(number, options, folder) for number in range(options.rounds)])
    print(f"{'machine from':24} {'model':24} {'test':18} {'foretold':>10} {'measured':>10} {'off':>10}")
    for line in lines:
        print(line.text())
    off = [abs(line.percent) for line in lines]
    beyond = sum(each > options.bar for each in off)
    if off:
        print(f"{len(off)} tests, median off {statistics.median(off):.1f} %, most {max(off):.1f} %, "
              f"{beyond} beyond {options.bar:g} %")
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the tests that ctest would run, many tests of one program in one process.

    run_together.py --test-dir BUILD -j N --output-junit FILE [CTEST OPTION...]

A test program under a sanitizer takes longer to start (0.2 s) than most of its tests take to run. ctest starts it anew for every
test, this not: tests of one program go in batches. Where a process dies, the test it was at has failed and the rest goes on in a new
one. All else is as with ctest: which tests (its options -L, -LE, -R, -E), labels, time limits, the report, the last line, and the
exit code. Tests are tried both ways: the unit lane has each in a process of its own, these have them one behind the other.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml
from pathlib import Path

BATCH = 40  # tests; the last process to end should not be long alone
FILTER = "--gtest_filter="
KNOWN = {"WORKING_DIRECTORY", "TIMEOUT", "COST", "LABELS", "ENVIRONMENT", "DISABLED", "SKIP_REGULAR_EXPRESSION"}
RUN = re.compile(r"^\[ RUN      \] (.*)$", re.M)
END = re.compile(r"\[ *(OK|FAILED|SKIPPED) *\] .*\((\d+) ms\)")


class Test:
    """A test of ctest's list. `filter` is GoogleTest's name of it, None if another program than GoogleTest's runs it."""

    def __init__(self, entry: dict) -> None:
        properties = {each["name"]: each["value"] for each in entry["properties"]}
        if unknown := properties.keys() - KNOWN:
            sys.exit(f"error: test {entry['name']} has {unknown}, which run_together.py does not know")
        self.name, self.command = entry["name"], entry.get("command", [])
        self.folder = properties["WORKING_DIRECTORY"]
        self.timeout = properties.get("TIMEOUT", 1500)
        self.environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        self.disabled = properties.get("DISABLED", False)
        filters = [word.removeprefix(FILTER) for word in self.command if word.startswith(FILTER)]
        self.filter = filters[0] if filters else None
        self.status, self.seconds, self.output = "disabled" if self.disabled else "notrun", 0.0, ""


def list_tests(folder: str, options: list[str]) -> list[Test]:
    said = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1", *options],
                          stdout=subprocess.PIPE, text=True, check=True)
    return [Test(entry) for entry in json.loads(said.stdout)["tests"]]


def batches_of(tests: list[Test]) -> list[list[Test]]:
    """What is run by one process each; longest first, as far as that is known: other programs run many cases each."""
    alone, together = [], {}
    for test in tests:
        if test.disabled:
            continue
        if test.filter is None:
            alone.append([test])
        else:
            together.setdefault((test.command[0], test.folder), []).append(test)
    return alone + [group[at:at + BATCH] for group in together.values() for at in range(0, len(group), BATCH)]


def run_process(tests: list[Test]) -> tuple[str, int | str]:
    """What the process of a batch prints, and its exit code or what became of it."""
    first = tests[0]
    command = first.command
    if first.filter is not None:
        command = [first.command[0], FILTER + ":".join(test.filter for test in tests)]
    with tempfile.TemporaryFile() as printed:
        try:
            code = subprocess.run(command, cwd=first.folder, env=os.environ | first.environment, stdin=subprocess.DEVNULL,
                                  stdout=printed, stderr=subprocess.STDOUT, check=False,
                                  timeout=sum(test.timeout for test in tests)).returncode
        except subprocess.TimeoutExpired:
            code = "no end in time"
        printed.seek(0)
        return printed.read().decode(errors="replace"), code


def judge_together(tests: list[Test], output: str, code: int | str) -> list[Test]:
    """Gives the tests of a batch their results; returns those behind the one at which the process died."""
    by_filter = {test.filter: test for test in tests}
    starts = {}  # where each begins; the child of a death test prints its name once more
    for match in RUN.finditer(output):
        if match[1] in by_filter:
            starts.setdefault(match[1], match.start())
    for name, following in zip(starts, [*starts.values(), len(output)][1:], strict=True):
        test = by_filter.pop(name)
        test.output = output[starts[name]:following]
        end = END.search(test.output)
        test.status = "run" if end and end[1] == "OK" else "fail"
        if end:
            test.seconds = int(end[2]) / 1000
        else:
            test.output += f"\nThe process ended here: {code}\n"
    rest = list(by_filter.values())
    if rest and len(rest) == len(tests):  # it did not get to the first
        rest[0].status, rest[0].output = "fail", output + f"\nThe process ended: {code}\n"
        rest = rest[1:]
    elif not rest and code != 0 and all(test.status == "run" for test in tests):  # as leaks are reported
        tests[-1].status, tests[-1].output = "fail", output + f"\nThe process ended: {code}\n"
    return rest


def run_batch(tests: list[Test]) -> None:
    while tests:
        start = time.monotonic()
        output, code = run_process(tests)
        if tests[0].filter is not None:
            tests = judge_together(tests, output, code)
            continue
        tests[0].status = "run" if code == 0 else "fail"
        tests[0].seconds, tests[0].output = time.monotonic() - start, output + f"\nExit code: {code}\n"
        return


def run_all(tests: list[Test], at_a_time: int) -> None:
    batches, lock = batches_of(tests), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not batches:
                    return
                batch = batches.pop(0)
            run_batch(batch)
            for test in batch:
                if test.status == "fail":
                    print(f"Test {test.name} ***Failed {test.seconds:.2f} sec\n{test.output}", flush=True)

    workers = [threading.Thread(target=work) for _ in range(at_a_time)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def write_report(tests: list[Test], file: Path) -> None:
    """In ctest's JUnit form, as far as tools/test_summary.py and people with a viewer read it."""
    root = xml.Element("testsuite", name="ctest", tests=str(len(tests)))
    for test in tests:
        case = xml.SubElement(root, "testcase", name=test.name, time=f"{test.seconds:.3f}", status=test.status)
        if test.status == "fail":
            xml.SubElement(case, "failure", message="Failed")
            printable = "".join(c if c.isprintable() or c == "\n" else "?" for c in test.output)
            xml.SubElement(case, "system-out").text = printable
    xml.ElementTree(root).write(file, encoding="unicode")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--test-dir", required=True)
    parser.add_argument("-j", type=int, required=True)
    parser.add_argument("--output-junit", type=Path, required=True)
    arguments, options = parser.parse_known_args()
    tests = list_tests(arguments.test_dir, options)
    start = time.monotonic()
    run_all(tests, arguments.j)
    write_report(tests, arguments.output_junit)
    asked = [test for test in tests if not test.disabled]
    failed = [test for test in asked if test.status != "run"]
    passed = 100 * (len(asked) - len(failed)) // max(1, len(asked))
    print(f"\n{passed}% tests passed, {len(failed)} tests failed out of {len(asked)}\n")
    print(f"Total Test time (real) = {time.monotonic() - start:8.2f} sec")
    if failed:
        print("\nThe following tests FAILED:", *[f"\t{test.name}" for test in failed], sep="\n")
    return 1 if failed or not asked else 0


if __name__ == "__main__":
    sys.exit(main())

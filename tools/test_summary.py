#!/usr/bin/env python3
"""What ./test.sh says at its end, for people and as JSON.

    test_summary.py LANES JSON [KERNELS_TEST]

LANES is a file of lines that test.sh writes: "lane NAME PASSED FAILED SECONDS", and behind it what belongs to the lane:
"ctest FILE" (the report of ctest in JUnit's form), "labels FILE" (ctest --show-only=json-v1), "failed NAME" (a failure that is no
test of ctest). Prints a line a lane, what was left out and why, and the kernels that this CPU cannot run; writes all of it, with the
names of what failed, to JSON. KERNELS_TEST is the program that says which instruction sets it cannot test.
"""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

NEEDS = "needs "  # what the label of a disabled test begins with (cmake/shared_data.cmake)


def suite_of(test: str) -> str:
    """The suite of a test's name: of GoogleTest's "Instance/Suite.Test/parameter", or a name of ctest itself."""
    return test.split(" ")[0].split(".")[0].split("/")[-1]


def labels_of(file: Path) -> dict[str, list[str]]:
    """The labels of every test in ctest's list."""
    if not file.exists() or not file.stat().st_size:
        return {}
    found = {}
    for test in json.loads(file.read_text())["tests"]:
        for entry in test.get("properties", []):
            if entry["name"] == "LABELS":
                found[test["name"]] = entry["value"]
    return found


def read_report(file: Path, labels: dict[str, list[str]]) -> tuple[list[str], list[dict]]:
    """The failed tests of a report, and the suites left out: {"suite", "tests", "needs"}."""
    failed, left_out = [], {}
    if not file.exists():
        return failed, []
    for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        if status == "disabled":
            needs = [label[len(NEEDS):] for label in labels.get(name, []) if label.startswith(NEEDS)]
            key = suite_of(name), ", ".join(needs) or "nothing that is known"
            left_out[key] = left_out.get(key, 0) + 1
        elif status != "run":
            failed.append(name)
    return failed, [{"suite": suite, "tests": count, "needs": needs}
                    for (suite, needs), count in sorted(left_out.items())]


def read_lanes(text: str) -> list[dict]:
    lanes = []
    report = None
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "lane":
            name, passed, failed, seconds = rest.split(" ")
            lanes.append({"name": name, "passed": int(passed), "failed": int(failed), "seconds": int(seconds),
                          "failed_tests": [], "left_out": []})
        elif kind == "ctest":
            report = Path(rest)
        elif kind == "labels":
            failed, left_out = read_report(report, labels_of(Path(rest)))
            lanes[-1]["failed_tests"] += failed
            lanes[-1]["left_out"] += left_out
        elif kind == "failed":
            lanes[-1]["failed_tests"].append(rest)
    return lanes


def cpu_name(cpuinfo: str) -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else "unknown"


def kernels_not_run(program: str) -> list[str]:
    """The instruction sets that the tests of the kernels do not find, as they say themselves."""
    if not program:
        return []
    said = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=False).stderr
    return list(dict.fromkeys(re.findall(r"not run: this CPU lacks (\w+)", said)))


def lines_of(summary: dict) -> list[str]:
    """What a person reads."""
    lines = ["%-12s %5d passed %3d failed %5d s" % (lane["name"], lane["passed"], lane["failed"], lane["seconds"])
             for lane in summary["lanes"]]
    for lane in summary["lanes"]:
        for name in lane["failed_tests"]:
            lines.append("failed in %s: %s" % (lane["name"], name))
        by_need: dict[str, list[str]] = {}
        for entry in lane["left_out"]:
            by_need.setdefault(entry["needs"], []).append(entry["suite"])
        for needs, suites in by_need.items():
            lines.append("%s: %d suite%s need%s %s: left out (%s)" % (
                lane["name"], len(suites), "s" * (len(suites) > 1), "s" * (len(suites) == 1), needs, ", ".join(suites)))
    if summary["kernels_not_run"]:
        lines.append("kernels not run, because this CPU (%s) lacks them: %s" % (
            summary["cpu"], ", ".join(summary["kernels_not_run"])))
    return lines


def main() -> int:
    lanes = read_lanes(Path(sys.argv[1]).read_text())
    summary = {"passed": sum(lane["passed"] for lane in lanes), "failed": sum(lane["failed"] for lane in lanes),
               "cpu": cpu_name(Path("/proc/cpuinfo").read_text()),
               "kernels_not_run": kernels_not_run(sys.argv[3] if len(sys.argv) > 3 else ""), "lanes": lanes}
    Path(sys.argv[2]).write_text(json.dumps(summary, indent=1) + "\n")
    print("\n".join(lines_of(summary)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

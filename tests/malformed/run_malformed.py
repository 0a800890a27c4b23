#!/usr/bin/env python3
"""Gives every malformed model to the real binary and requires a clean refusal of each.

    run_malformed.py SKALD_BINARY [FOLDER] [--slack N] [--stages parse,model,vocabulary,run] [--verbose]

Writes the files of make_malformed.py into FOLDER (default: a temporary folder, removed at the end),
then for each runs `skald show -m FILE`, `skald plan -m FILE` and
`skald logits -m FILE --tokens 1,2,3 --out OUT`, for faults of a vocabulary also
`skald tokenize -m FILE TEXT`, and for faults that only computing shows
`skald run -m FILE -n 4 TEXT`. Required of every run:

- no DEATH: no signal, no exit code outside the catalogue (docs/cli.md), an answer within 5 s;
- what is to be refused is refused, with a code that the index allows, by exactly one line on stderr
  that holds the name of the file; what is to be accepted exits with 0;
- refusing costs at most 100 ms of CPU and 32 MiB of memory more than `skald --version`; waiting is
  bounded by 10 times that, because a shared machine may be busy with something else.

--slack N multiplies the bounds of time and memory (10 for sanitizer builds). Exit code 0 if all passed.
Faults of stage model, vocabulary or run need not be seen by `show` and `plan`, nor those of stage vocabulary or
run by `logits`, which prints what it computes, also NaN: there either answer is right, a DEATH is not.
An error of computing need not name the file. Memory: the peak of a child counts from that of this
process (about 15 MiB), so the bound is looser by what this process has more than `skald --version`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CATALOGUE = {0: "ok", 2: "usage", 3: "not found", 4: "io", 5: "bad model", 6: "unsupported",
             7: "resource exhausted", 9: "numeric"}
NOTE = "skald: warning: "  # what a note on stderr starts with
TIMEOUT_S = 5.0
CPU_S_MAX = 0.1
WALL_S_MAX = 1.0
RSS_KIB_MAX = 32 * 1024


class Run:
    """One finished process: exit code, text, wall and CPU seconds, peak memory in KiB."""

    def __init__(self, arguments, timeout_s):
        begin = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            self.hung = False
            timer = threading.Timer(timeout_s, self._kill, [process])
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            err.seek(0)
            self.stderr = err.read(1 << 16).decode(errors="replace")
        self.wall_s = time.monotonic() - begin
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_kib = usage.ru_maxrss

    def _kill(self, process):
        self.hung = True
        process.kill()


class Judge:
    def __init__(self, binary, folder, slack):
        self.binary, self.folder, self.slack = binary, folder, slack
        baselines = [Run([binary, "--version"], TIMEOUT_S * slack) for _ in range(5)]
        for run in baselines:
            if run.code != 0:
                sys.exit("%s --version: exit code %d: %s" % (binary, run.code, run.stderr))
        self.cpu_s = sorted(run.cpu_s for run in baselines)[2]
        self.rss_kib = sorted(run.rss_kib for run in baselines)[2]
        self.worst = {"cpu_s": (0.0, ""), "wall_s": (0.0, ""), "rss_kib": (0, "")}

    def commands(self, entry):
        path = os.path.join(self.folder, entry["file"])
        out = os.path.join(self.folder, "out.bin")
        yield "show", [self.binary, "show", "-m", path]
        yield "plan", [self.binary, "plan", "-m", path, "--machine", "h100"]
        yield "logits", [self.binary, "logits", "-m", path, "--tokens", "1,2,3", "--out", out]
        if entry["stage"] == "vocabulary":
            yield "tokenize", [self.binary, "tokenize", "-m", path, "the cab"]
        if entry["stage"] == "run":
            yield "run", [self.binary, "run", "-m", path, "-n", "4", "the cab"]

    def faults(self, entry, verb, run):
        """All that is wrong with one run, as a list of texts."""
        faults = []
        if run.hung:
            return ["DEATH: no answer within %g s" % (TIMEOUT_S * self.slack)]
        if run.code not in CATALOGUE:
            return ["DEATH: exit code %d: %s" % (run.code, run.stderr.strip()[-300:])]
        expect = entry["expect"]
        blind = entry["stage"] in {"show": ("model", "vocabulary", "run"),
                                   "plan": ("model", "vocabulary", "run"), "logits": ("vocabulary", "run")}.get(verb, ())
        if expect == "accept" and run.code != 0:
            faults.append("refused (%d): %s" % (run.code, run.stderr.strip()))
        if expect == "reject" and run.code == 0 and not blind:
            faults.append("accepted")
        if run.code != 0:
            faults += self.refusal_faults(entry, run)
        return faults

    def refusal_faults(self, entry, run):
        faults = []
        if run.code not in entry["codes"]:
            faults.append("exit code %d (%s), expected one of %s" % (run.code, CATALOGUE[run.code], entry["codes"]))
        # A note about weights that are no numbers may come before the refusal.
        lines = [line for line in run.stderr.strip().split("\n") if not line.startswith(NOTE)]
        if len(lines) != 1 or not lines[0]:
            faults.append("expected one line on stderr, found %d" % len(run.stderr.splitlines()))
        named = os.path.join(self.folder, entry["id"]) in run.stderr  # of a split model, any part
        if not named and CATALOGUE[run.code] != "numeric":
            faults.append("the message does not name the file: %s" % run.stderr.strip()[:200])
        if entry["stage"] == "run":
            return faults  # the whole model is loaded and computed with
        costs = (("cpu_s", run.cpu_s - self.cpu_s, CPU_S_MAX), ("wall_s", run.wall_s, WALL_S_MAX),
                 ("rss_kib", run.rss_kib - self.rss_kib, RSS_KIB_MAX))
        for name, cost, limit in costs:
            self.worst[name] = max(self.worst[name], (cost, entry["id"]))
            if cost > limit * self.slack:
                faults.append("%s %.3f, at most %g" % (name, cost, limit * self.slack))
        return faults

    def shrinking(self, entry):
        """G129: shortens the file at many moments of a run. A mapped file would die of SIGBUS."""
        faults = []
        path = os.path.join(self.folder, entry["file"])
        with open(path, "rb") as file:
            content = file.read()
        for delay_ms in range(0, 40, 2):
            with open(path, "wb") as file:
                file.write(content)
            timer = threading.Timer(delay_ms / 1000, os.truncate, [path, 4096])
            timer.start()
            for verb, arguments in self.commands(entry):
                run = Run(arguments, TIMEOUT_S * self.slack)
                faults += ["%s, cut after %d ms: %s" % (verb, delay_ms, fault)
                           for fault in self.faults(entry, verb, run)]
            timer.join()
        return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--slack", type=float, default=1.0)
    parser.add_argument("--stages", default="parse,model,vocabulary,run")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder or tempfile.mkdtemp(prefix="skald-malformed-")
    try:
        # Another process writes the files: the peak memory of a child counts from its parent's.
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_malformed.py")
        subprocess.run([sys.executable, maker, folder], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "index.json")) as file:
            index = json.load(file)
        return judge_all(Judge(arguments.binary, folder, arguments.slack), index, arguments)
    finally:
        if not arguments.folder:
            shutil.rmtree(folder)


def judge_all(judge, index, arguments):
    passed = failed = 0
    for entry in index:
        if entry["stage"] not in arguments.stages.split(","):
            continue
        faults = []
        if entry["id"] == "G129":
            faults = judge.shrinking(entry)
        else:
            for verb, command in judge.commands(entry):
                run = Run(command, TIMEOUT_S * judge.slack)
                faults += ["%s: %s" % (verb, fault) for fault in judge.faults(entry, verb, run)]
                if arguments.verbose:
                    print("%-6s %-8s %3d %s" % (entry["id"], verb, run.code, run.stderr.strip()[:300]))
        for fault in faults:
            print("FAIL %s (%s): %s" % (entry["id"], entry["what"], fault))
        passed, failed = passed + (not faults), failed + bool(faults)
    worst = judge.worst
    print("most expensive refusals: %.0f ms CPU (%s), %.0f ms wall (%s), %.1f MiB (%s) above --version" %
          (worst["cpu_s"][0] * 1000, worst["cpu_s"][1], worst["wall_s"][0] * 1000, worst["wall_s"][1],
           worst["rss_kib"][0] / 1024, worst["rss_kib"][1]))
    print("malformed: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The record of a run from outside: what --trace writes, and what skald trace makes of it.

Run by ctest (test Trace), and by hand: python3 tests/cli/trace_test.py build/release/skald .
"""

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import xml.etree.ElementTree
from collections import Counter, defaultdict
from pathlib import Path

from command import Setup, environment, run, run_json, wait_until

TALE = ("run", "Once upon a time", "--seed", "7", "-n", "12", "-t", "2")


def lines_of(path: Path) -> list[dict]:
    """The events of a record, which ends with a whole line; times never go back."""
    text = path.read_text()
    assert text.endswith("\n"), text[-200:]
    events = [json.loads(line) for line in text.splitlines()]
    assert events[0]["event"] == "trace" and events[0]["version"] == 1
    times = [event["time"] for event in events[1:]]
    assert times == sorted(times)
    return events


def of_kind(events: list[dict], kind: str) -> list[dict]:
    return [event for event in events if event["event"] == kind]


def check_drawing(document: dict) -> dict[str, list[str]]:
    """Holds a document to Chrome's trace event format; names of slices by track."""
    last, open_slices, names, slices = 0.0, defaultdict(list), {}, {}
    for event in document["traceEvents"]:
        if event["ph"] in "sf":
            assert event["id"] > 0 and event["name"] == "prefix" and event["pid"] == 2, event
            continue
        assert event["ts"] >= last, event
        last, track, phase = event["ts"], (event["pid"], event["tid"]), event["ph"]
        if phase == "M":
            names[track] = event["args"]["name"] if event["name"] == "thread_name" else names.get(track)
        elif phase == "B":
            open_slices[track].append((event["name"], event["args"]))
            slices.setdefault(track, []).append(event["name"])
        elif phase == "E":
            # Speedscope looks for a slice of this name, with these arguments.
            assert open_slices[track].pop() == (event["name"], event["args"]), event
        elif phase == "C":
            assert all(isinstance(value, (int, float)) for value in event["args"].values()), event
        else:
            assert phase == "i" and event["s"] == "t" and event["name"], event
    assert not any(open_slices.values()), open_slices
    return {names[track]: found for track, found in slices.items()}


class Trace(unittest.TestCase):
    """`--trace` and `skald trace`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.record = self.folder / "run.jsonl"

    def assert_fails(self, done, code: int, part: str) -> None:
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, message)
        self.assertIn(part, message)
        self.assertEqual(message.count("\n"), 1, message)

    def test_a_run_is_the_same_with_a_record_and_stands_in_it(self):
        self.record.write_text("what was there before")
        self.record.chmod(0o644)
        plain = run_json(*TALE)
        told = run_json(*TALE, "--trace", str(self.record), "--trace-probs")
        for what in ("text", "tokens", "finish_reason", "usage"):
            self.assertEqual(plain[what], told[what])
        self.assertEqual(stat.S_IMODE(self.record.stat().st_mode), 0o600)
        events = lines_of(self.record)
        header = events[0]
        self.assertEqual((header["command"], header["threads"], header["model"]), ("run", 2, told["model"]["name"]))
        self.assertEqual(header["numerics"], told["numerics_version"])
        tokens = of_kind(events, "token")
        self.assertEqual([token["token"] for token in tokens], told["tokens"])
        self.assertIn("".join(token["texts"][0] for token in tokens).strip(), told["text"])
        for token in tokens:
            self.assertTrue(0 < token["p_model"] <= 1 and 0 < token["p_drawn"] <= 1 and 0 <= token["draw"] < 1, token)
            self.assertTrue(1 <= token["candidates"] == token["left_min_p"] <= token["left_top_p"] <= token["left_top_k"] == 40, token)
            self.assertEqual(token["left_typical"], 0)
        [queued] = of_kind(events, "queued")
        self.assertEqual((queued["seed"], queued["prompt_tokens"]), (7, told["usage"]["prompt_tokens"]))
        prompt = "".join("".join(part["texts"]) for part in of_kind(events, "prompt"))
        self.assertIn("Once upon a time", prompt)
        self.assertEqual(len(of_kind(events, "plan")), len(of_kind(events, "step")))
        self.assertEqual(events[-1]["event"] if events[-1]["event"] != "step" else events[-2]["event"], "finished")

    def test_guesses_and_what_became_of_them(self):
        done = run_json("run", "a b a b a b a b", "--temp", "0", "-n", "24", "--spec", "ngram", "--trace", str(self.record))
        events = lines_of(self.record)
        guesses, tokens = of_kind(events, "guess"), of_kind(events, "token")
        self.assertEqual([token["token"] for token in tokens], done["tokens"])
        self.assertGreater(sum(guess["kept"] for guess in guesses), 0)
        self.assertEqual(sum(guess["kept"] for guess in guesses), sum(token["guessed"] for token in tokens))
        self.assertTrue(all(token["candidates"] == 1 and token["draw"] is None for token in tokens))

    def test_a_full_disk_ends_the_record_and_not_the_run(self):
        plain = run(*TALE, "--quiet")
        done = run(*TALE, "--trace", "/dev/full")
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        warnings = [line for line in done.stderr.decode().splitlines() if "warning" in line]
        self.assertEqual(warnings, ["skald: warning: the record in '/dev/full' ends here: No space left on device"])

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        done = run(*TALE, "--trace", str(self.record), preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        self.assertIn("File too large", done.stderr.decode())
        self.assertGreater(len(lines_of(self.record)), 0)  # whole lines, or none after the first

    def test_what_was_interrupted_can_be_read(self):
        for end in (signal.SIGINT, signal.SIGKILL):
            child = subprocess.Popen(
                [Setup.binary, "run", "Once", "-n", "4000", "--ignore-eos", "-q", "-c", "4096", "--trace", str(self.record)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
            wait_until(lambda: self.record.exists() and '"token"' in self.record.read_text(), "a token is recorded")
            child.send_signal(end)
            child.wait()
            events = lines_of(self.record)
            if end == signal.SIGINT:
                self.assertEqual(of_kind(events, "finished")[0]["reason"], "cancelled")
            [request] = run_json("trace", "summary", str(self.record))["requests"]
            self.assertEqual(request["end"], "cancelled" if end == signal.SIGINT else "open")
            self.record.unlink()

    def test_traffic_is_drawn_and_summed_up(self):
        bench = run_json("bench", "--traffic", "shared", "--num-prompts", "12", "--prefix-len", "70", "--input-len", "20",
                         "--output-len", "12", "--max-concurrency", "4", "--cache-tokens", "300", "-t", "2",
                         "--trace", str(self.record))
        events = lines_of(self.record)
        kinds = Counter(event["event"] for event in events)
        self.assertEqual((kinds["queued"], kinds["finished"], kinds["lost"]), (12, 12, 0))
        self.assertGreater(kinds["pages"], 12)
        summary = run_json("trace", "summary", str(self.record))
        self.assertEqual(summary["tokens"], 12 * 12)
        self.assertEqual(summary["requests_in_all"], 12)
        self.assertEqual(summary["rows"], sum(step["rows"] for step in of_kind(events, "step")))
        for request in summary["requests"]:
            self.assertEqual((request["tokens"], request["prompt_tokens"], request["end"]), (12, 90, "length"))
            if request["preemptions"] == 0:
                self.assertEqual(request["computed_tokens"], 90 - request["cached_tokens"])
            self.assertGreater(request["ttft_seconds"], request["queue_seconds"])
        self.assertTrue(bench)
        text = run("trace", "summary", str(self.record)).stdout.decode()
        self.assertRegex(text, r"12 requests, 144 tokens in ")
        out = self.folder / "run.json"
        self.assertEqual(run("trace", "convert", "--perfetto", str(self.record), str(out)).returncode, 0)
        slices = check_drawing(json.loads(out.read_text()))
        self.assertEqual(set(slices), {"steps", *(f"request {i}" for i in range(1, 13))})
        self.assertEqual(slices["steps"].count("forward"), summary["steps"])
        self.assertEqual(slices["request 1"][0], "waiting")
        self.assertEqual(slices["request 1"].count("decode"), 11)

    def test_a_benchmark_draws_its_operations(self):
        done = run("bench", "-p", "16", "-n", "2", "-r", "1", "-t", "1", "--profile", "--trace", str(self.record))
        self.assertEqual(done.returncode, 0, done.stderr)
        drawing = run("trace", "convert", "--perfetto", str(self.record), "-").stdout
        slices = check_drawing(json.loads(drawing))["tests"]
        self.assertIn("p16 n0 b1 d0", slices)
        self.assertIn("p0 n2 b1 d0", slices)
        operations = {event["operation"] for event in of_kind(lines_of(self.record), "operation")}
        self.assertGreater(len(operations), 4)
        self.assertLessEqual(operations, set(slices))

    def test_a_server_records_the_text_of_all(self):
        # The sandbox, which is what this is about, keeps the leak check of a sanitizer's build from its threads.
        child = subprocess.Popen([Setup.binary, "serve", "--port", "0", "--trace", str(self.record)], stderr=subprocess.PIPE,
                                 env={**environment(), "ASAN_OPTIONS": "detect_leaks=0"})
        line = ""
        while "serving" not in line:
            line = child.stderr.readline().decode()
            self.assertTrue(line, "the server has ended")
        url = re.search(r"http://[\d.:]+", line)[0]
        body = json.dumps({"prompt": "A heron stood", "max_tokens": 5, "seed": 1}).encode()
        request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            text = json.load(reply)["choices"][0]["text"]
        child.send_signal(signal.SIGTERM)
        child.communicate()
        self.assertEqual(child.returncode, 0)
        events = lines_of(self.record)
        self.assertEqual(events[0]["command"], "serve")
        self.assertNotEqual(events[0]["cpu"], "unknown CPU")
        self.assertIn(text.strip(), "".join(token["texts"][0] for token in of_kind(events, "token")))
        self.assertIn("A heron stood", "".join("".join(part["texts"]) for part in of_kind(events, "prompt")))
        self.assertEqual(stat.S_IMODE(self.record.stat().st_mode), 0o600)
        self.assertIn("text of prompts and answers", " ".join(run("serve", "--help").stdout.decode().split()))

    def test_the_schedule_as_a_picture_does_not_depend_on_time(self):
        pictures = []
        for _ in range(2):
            run(*TALE, "--trace", str(self.record))
            done = run("trace", "convert", "--svg", str(self.record), "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            pictures.append(done.stdout)
        self.assertEqual(pictures[0], pictures[1])
        picture = xml.etree.ElementTree.fromstring(pictures[0])
        told = json.loads(picture.find("{http://www.w3.org/2000/svg}metadata").text)
        self.assertEqual(told["steps"], [{"rows": 5, "prompt_rows": 5}] + 11 * [{"rows": 1, "prompt_rows": 0}])
        self.assertEqual([run["doing"] for run in told["sequences"][0]["runs"]], ["prefill", "decode"])

    def test_bad_files_and_arguments(self):
        self.assert_fails(run("trace", "summary", str(self.folder / "none")), 3, "none")
        run(*TALE, "--trace", str(self.record))
        lines = self.record.read_text().splitlines()
        lines[4] = lines[4][:-5] + "}"
        self.record.write_text("\n".join(lines) + "\n")
        self.assert_fails(run("trace", "summary", str(self.record)), 2, "run.jsonl: line 5: ")
        self.record.write_text('{"event":"trace","version":99}\n')
        self.assert_fails(run("trace", "convert", "--perfetto", str(self.record), "-"), 2,
                          "line 1: version 99 of the record, expected 1")
        out = self.folder / "out.json"
        self.assert_fails(run("trace", "convert", "--perfetto", str(self.record), str(out)), 2, "line 1")
        self.assertEqual(os.listdir(self.folder), ["run.jsonl"])  # no half of a drawing
        self.assert_fails(run("trace", "convert", str(self.record), str(out)), 2, "there are --perfetto and --svg")
        self.assert_fails(run("trace", "convert", "--perfetto", str(self.record)), 2, "two files")
        self.assert_fails(run("trace", "summary", str(self.record), str(out)), 2, "one file")
        self.assert_fails(run(*TALE, "--trace-probs"), 2, "--trace-probs needs --trace FILE")
        self.assert_fails(run(*TALE, "-q", "--trace", str(self.folder / "no" / "such")), 4, "No such file")
        self.assert_fails(run("bench", "--kernels", "--trace", str(self.record)), 2, "--trace")


def main() -> None:
    Setup.binary, Setup.source = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

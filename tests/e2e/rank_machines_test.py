"""Ranks that know each other by TCP alone (skald rank): the same answers, who is let in, what becomes of streams when a rank is
killed or stopped, and how fast a supervised job serves again.

    rank_machines_test.py SKALD SOURCE --other MODEL
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import skald_server
from skald_processes import is_there, wait_until, workers_of
from skald_server import Server, Setup, Wire, completion, exchange, free_port, post, texts

STREAMS = 3


class Options:
    """What the command line gave beside Setup."""

    other = ""


class Job:
    """A first rank that serves, and the others, each under a supervisor if `again`: what ends is started anew."""

    def __init__(self, ranks: int = 2, again: bool = False, other_model: str = ""):
        self.folder = tempfile.TemporaryDirectory(prefix="skald-ranks-")
        self.key = Path(self.folder.name) / "key"
        self.key.write_text("a key of a test, of some length\n")
        self.port = free_port()
        self.again = again
        self.other_model = other_model
        self.wires = []
        self.others = [self.start_other() for _ in range(ranks - 1)]
        self.server = self.start_first(ranks)

    def flags(self) -> list[str]:
        return ["--rank-key", str(self.key), "--rank-wait", "60", "-t", "1"]

    def start_first(self, ranks: int) -> Server:
        return Server("--ranks", str(ranks), "--rank-listen", f"127.0.0.1:{self.port}", *self.flags())

    def start_other(self) -> subprocess.Popen:
        command = [Setup.binary, "rank", f"127.0.0.1:{self.port}", *self.flags()]
        if self.other_model:
            command += ["-m", self.other_model]
        if self.again:
            command = ["sh", "-c", 'while true; do "$@"; sleep 0.1; done', "sh", *command]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                start_new_session=True)

    def stream(self):
        """The chunks of an answer that has begun."""
        wire = Wire(self.server.port)
        wire.send(post("/v1/completions",
                       {"prompt": "Once upon a time", "max_tokens": 100_000, "stream": True, "ignore_eos": True}))
        self.wires.append(wire)
        assert wire.head().status == 200
        chunks = wire.chunks()
        next(chunks)
        return chunks

    def close(self):
        for wire in self.wires:
            wire.close()
        for process in [*self.others, self.server.process]:
            try:
                # A supervisor with what it has started.
                os.killpg(process.pid, signal.SIGKILL) if process in self.others else process.kill()
            except ProcessLookupError:
                pass
            process.wait()
            if process.stderr:
                process.stderr.close()
        self.server.folder.cleanup()
        self.folder.cleanup()


class RankMachines(unittest.TestCase):
    def job(self, **options) -> Job:
        job = Job(**options)
        self.addCleanup(job.close)
        job.server.wait_ready()
        return job

    def assert_lost(self, job: Job, streams: list, why: str, seconds: float):
        """Every stream has heard of it, and every process is gone."""
        self.assertEqual(job.server.process.wait(seconds), 71)
        for chunks in streams:
            self.assertIn('"error"', b"".join(chunks).decode()[-400:])
        wait_until(lambda: not any(is_there(other.pid) for other in job.others), seconds)
        self.assertIn(why, job.server.log.read_text())

    def test_answers_are_those_of_one_process(self):
        bodies = [completion(prompt="Once upon a time", max_tokens=20, seed=1, temperature=1, n=2),
                  completion(prompt="The fox and the owl " * 20, max_tokens=8, seed=1)]

        def answers(server: Server) -> list:
            return [texts(server.exchange(body)) for body in bodies]

        job = self.job(ranks=3)
        with Server() as alone:
            self.assertEqual(answers(job.server), answers(alone))
        # An orderly end of the first is one of the others.
        job.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.server.process.wait(10), 0)
        self.assertEqual([other.wait(5) for other in job.others], [0, 0])

    def test_a_killed_rank_ends_all(self):
        job = self.job(ranks=3)
        streams = [job.stream() for _ in range(STREAMS)]
        os.kill(job.others[0].pid, signal.SIGKILL)
        job.others[0].wait()
        self.assert_lost(job, streams, "is gone", 3)

    def test_a_rank_that_is_told_to_end_ends_all(self):
        job = self.job()
        streams = [job.stream() for _ in range(STREAMS)]
        os.kill(job.others[0].pid, signal.SIGTERM)
        job.others[0].wait()
        self.assert_lost(job, streams, "is gone", 3)

    def test_others_end_with_the_first(self):
        job = self.job(ranks=3)
        job.stream()
        job.server.process.kill()
        job.server.process.wait()
        for other in job.others:
            self.assertNotEqual(other.wait(3), None)

    def test_a_stopped_rank_ends_all(self):
        """Both at once, for each takes the five seconds after which a rank counts as stopped."""
        job = self.job()
        streams = [job.stream() for _ in range(STREAMS)]
        first = self.job()
        first.stream()
        os.kill(job.others[0].pid, signal.SIGSTOP)
        os.kill(first.server.process.pid, signal.SIGSTOP)
        self.assertEqual(job.server.process.wait(12), 71)
        self.assertIn("has stood still for 5 s", job.server.log.read_text())
        for chunks in streams:
            self.assertIn('"error"', b"".join(chunks).decode()[-400:])
        # The first one is stopped on another machine: who supervises it there must see it. The others end.
        self.assertEqual(first.others[0].wait(12), 10)

    def test_a_supervised_job_serves_again(self):
        job = self.job(again=True)
        job.stream()
        (worker,) = workers_of(job.others[0].pid)
        begin = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(job.server.process.wait(3), 71)
        job.server.folder.cleanup()
        job.server = job.start_first(2)
        job.server.wait_ready()
        self.assertEqual(exchange(job.server.port, completion()).status, 200)
        self.assertLess(time.monotonic() - begin, 10)

    def test_nobody_else_is_let_in(self):
        job = Job()
        self.addCleanup(job.close)
        other_key = Path(job.folder.name) / "other"
        other_key.write_text("another key of a test, as long\n")
        # Who says nothing, who speaks HTTP, and who has another key, while the group is not complete yet or is.
        silent = []
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(200)):
            try:
                silent.append(socket.create_connection(("127.0.0.1", job.port), 5))
                silent[-1].sendall(said)
            except OSError:
                pass  # it listens no more, or not yet
        done = subprocess.run([Setup.binary, "rank", f"127.0.0.1:{job.port}", "--rank-key", other_key, "--rank-wait", "1"],
                              capture_output=True, timeout=60)
        self.assertIn(done.returncode, (2, 10), done.stderr)
        job.server.wait_ready()
        self.assertEqual(job.server.exchange(completion()).status, 200)
        # The door is shut once all are there.
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", job.port), 1)
        for connection in silent:
            connection.close()

    def test_says_what_does_not_go(self):
        def said(*words: str) -> tuple[int, str]:
            done = subprocess.run([Setup.binary, *words], capture_output=True, timeout=60, text=True)
            return done.returncode, done.stderr

        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder) / "key"
            key.write_text("0123456789abcdef")
            model = ["-m", Setup.model]
            for words, code, text in (
                    (["run", *model, "--rank-listen", "127.0.0.1:0"], 2, "--rank-listen needs --ranks N"),
                    (["run", *model, "--ranks", "2", "--rank-listen", "127.0.0.1:0"], 2, "--rank-key FILE"),
                    (["run", *model, "--ranks", "2", "--rank-listen", "7000", "--rank-key", str(key)], 2, "no HOST:PORT"),
                    (["run", *model, "--ranks", "2", "--rank-listen", "127.0.0.1:0", "--rank-key", str(key), "--rank-wait", "1"],
                     10, "1 of 2 ranks are here, and nobody comes any more"),
                    (["run", *model, "--ranks", "2", "--rank-listen", "no.such.host.invalid:1", "--rank-key", str(key)],
                     3, "host 'no.such.host.invalid'"),
                    (["rank", "127.0.0.1:1", "--rank-key", str(key), "--rank-wait", "1"], 10, "Connection refused"),
                    (["rank", "127.0.0.1:1"], 2, "--rank-key FILE"),
                    (["explain", "a", *model, "--ranks", "2", "--rank-listen", "127.0.0.1:0", "--rank-key", str(key)],
                     2, "looks into all ranks")):
                with self.subTest(words=words):
                    result = said(*words)
                    self.assertEqual(result[0], code, result[1])
                    self.assertIn(text, result[1])

    def test_the_deployment_has_flags_that_there_are(self):
        text = (Path(__file__).parents[2] / "deploy/leaderworkerset.yaml").read_text()
        leader, worker = text.split("workerTemplate:")
        for verb, part in (("serve", leader), ("rank", worker)):
            known = subprocess.run([Setup.binary, verb, "--help"], capture_output=True, text=True, timeout=60).stdout
            flags = re.findall(r'"(--?[a-z-]+)"', part)
            self.assertGreater(len(flags), 2)
            for flag in flags:
                self.assertRegex(known, rf"(?m)[ ,]{flag}[ ,]")

    def test_another_model_is_refused(self):
        """The bits of two models would be those of none."""
        job = Job(other_model=Options.other)
        self.addCleanup(job.close)
        self.assertNotEqual(job.server.process.wait(30), 0)
        self.assertIn("rank 1 of 2", job.server.log.read_text())
        self.assertIn("found another model there than here", job.server.log.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", help="a model that is not the bundled one")
    Options.other = skald_server.configure(parser).other
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()

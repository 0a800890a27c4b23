"""A model over several processes (--ranks): the same answers, what becomes of streams when a rank is killed, stopped or told to
end, and that nothing is left of any of them.

    ranks_test.py SKALD SOURCE
"""

import argparse
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import skald_server
from skald_processes import cpu_seconds, is_there, wait_until, workers_of
from skald_server import Server, Setup, Wire, completion, post

STREAMS = 3


class Loaded:
    """A server of ranks with streams that run."""

    def __init__(self, ranks: int = 2):
        self.server = Server("--ranks", str(ranks), "-t", str(ranks))
        self.server.wait_ready()
        self.leader = self.server.process.pid
        self.workers = workers_of(self.leader)
        assert len(self.workers) == ranks - 1, self.workers
        body = {"prompt": "Once upon a time", "max_tokens": 100_000, "stream": True, "ignore_eos": True}
        self.wires = [Wire(self.server.port) for _ in range(STREAMS)]
        self.streams = [wire.chunks() for wire in self.wires]
        for wire, stream in zip(self.wires, self.streams):
            wire.send(post("/v1/completions", body))
            assert wire.head().status == 200
            next(stream)

    def ends(self, seconds: float):
        """Waits until every process is gone."""
        everybody = [self.leader, *self.workers]
        self.server.process.wait(seconds)
        wait_until(lambda: not any(map(is_there, everybody)), seconds)

    def last_events(self) -> list[str]:
        """The end of each stream."""
        return [b"".join(stream).decode()[-400:] for stream in self.streams]

    def close(self):
        for wire in self.wires:
            wire.close()
        for pid in [self.leader, *self.workers]:
            if is_there(pid):
                os.kill(pid, signal.SIGKILL)
        self.server.process.wait()
        self.server.folder.cleanup()


class Ranks(unittest.TestCase):
    def loaded(self, ranks: int = 2) -> Loaded:
        loaded = Loaded(ranks)
        self.addCleanup(loaded.close)
        return loaded

    def assert_told(self, loaded: Loaded, why: str):
        """Every stream ended with the error, and the server said it."""
        for end in loaded.last_events():
            self.assertIn('"error"', end)
        self.assertEqual(loaded.server.process.returncode, 71)
        self.assertIn(why, loaded.server.log.read_text())

    def test_answers_are_those_of_one_process(self):
        bodies = [completion(prompt="Once upon a time", max_tokens=20, seed=1, temperature=1, n=2),
                  completion(prompt="The fox and the owl " * 20, max_tokens=8, seed=1)]

        def texts(*options: str) -> list:
            with Server(*options) as server:
                replies = [server.exchange(body) for body in bodies]
                pids = [server.process.pid, *workers_of(server.process.pid)]
            wait_until(lambda: not any(map(is_there, pids)), 3)
            return [[choice["text"] for choice in reply.json()["choices"]] for reply in replies]

        self.assertEqual(texts("--ranks", "3", "--verify-ranks", "2"), texts())

    def test_workers_are_limited_and_have_no_files(self):
        with Server("--ranks", "2", "-t", "4") as server:
            (worker,) = workers_of(server.process.pid)
            for task in Path(f"/proc/{worker}/task").iterdir():
                status = (task / "status").read_text()
                self.assertIn("Seccomp:\t2", status)
                self.assertIn("NoNewPrivs:\t1", status)
            links = sorted(os.readlink(path) for path in Path(f"/proc/{worker}/fd").iterdir())
            self.assertFalse([link for link in links if "tcp" in link.lower()])
            self.assertEqual(sum(link.startswith("socket:") for link in links), 1, links)

    def test_a_killed_rank_ends_all(self):
        for ranks, victim in ((3, 1), (2, 0)):
            loaded = self.loaded(ranks)
            os.kill(loaded.workers[victim], signal.SIGKILL)
            loaded.ends(3)
            self.assert_told(loaded, "is gone")

    def test_a_rank_that_is_told_to_end_ends_all(self):
        loaded = self.loaded()
        os.kill(loaded.workers[0], signal.SIGTERM)
        loaded.ends(3)
        self.assert_told(loaded, "is gone")

    def test_ranks_end_with_the_first(self):
        loaded = self.loaded()
        os.kill(loaded.leader, signal.SIGKILL)
        loaded.ends(3)

    def test_streams_end_in_order_when_the_first_is_told_to_end(self):
        with Server("--ranks", "2") as server, Wire(server.port) as wire:
            (worker,) = workers_of(server.process.pid)
            wire.send(completion(prompt="Once", max_tokens=200, ignore_eos=True, stream=True))
            self.assertEqual(wire.head().status, 200)
            stream = wire.chunks()
            next(stream)
            server.process.send_signal(signal.SIGTERM)
            self.assertIn(b'"finish_reason":"length"', b"".join(stream).replace(b" ", b""))
            self.assertEqual(server.process.wait(10), 0)
            wait_until(lambda: not is_there(worker), 3)

    def test_a_stopped_rank_ends_all_and_idle_ones_sleep(self):
        """All three at once, for each takes the five seconds after which a rank counts as stopped."""
        other = self.loaded()
        os.kill(other.workers[0], signal.SIGSTOP)
        first = self.loaded()
        os.kill(first.leader, signal.SIGSTOP)
        with Server("--ranks", "2") as idle:
            (worker,) = workers_of(idle.process.pid)
            begin, before = time.monotonic(), cpu_seconds(worker)
            other.ends(12)
            self.assert_told(other, "has stood still for 5 s")
            first.ends(12)
            self.assertEqual(first.server.process.returncode, -signal.SIGKILL)
            share = (cpu_seconds(worker) - before) / (time.monotonic() - begin)
            self.assertLess(share, 0.02)

    def test_ctrl_c_reaches_all_and_ends_in_order(self):
        run = subprocess.Popen([Setup.binary, "run", "-m", Setup.model, "--ranks", "2", "-n", "100000", "--ignore-eos", "-p", "Once"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.assertTrue(run.stdout.read(20))
        workers = workers_of(run.pid)
        self.assertEqual(len(workers), 1)
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=10)
        self.assertEqual(run.returncode, 130)
        wait_until(lambda: not is_there(workers[0]), 3)

    def test_a_lost_rank_ends_a_run_with_its_name(self):
        run = subprocess.Popen([Setup.binary, "run", "-m", Setup.model, "--ranks", "2", "-n", "100000", "--ignore-eos", "-p", "Once"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(run.stdout.read(20))
        (worker,) = workers_of(run.pid)
        os.kill(worker, signal.SIGKILL)
        said = run.communicate(timeout=10)[1].decode()
        self.assertEqual(run.returncode, 10, said)
        self.assertIn(f"rank 1 of 2 (process {worker}) is gone", said)

    def test_a_name_that_is_no_verb_does_nothing(self):
        done = subprocess.run([Setup.binary, "rank-worker", "1", "free"], capture_output=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (10, b"", b""))
        done = subprocess.run([Setup.binary, "rank-worker"], capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 2)


def main():
    skald_server.configure(argparse.ArgumentParser(description=__doc__))
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()

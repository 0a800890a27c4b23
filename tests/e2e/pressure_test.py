"""Work, bytes and descriptors under attack: one client must not stall or end the others.

Run by ctest (test E2ePressure), and by hand:
python3 tests/e2e/pressure_test.py build/release/skald . [--only NAME]

Each attack is bounded in time and count. What counts is what others see meanwhile (/livez, a short
request), what the process costs (resident memory, processor time), and that it lives.
"""

import argparse
import os
import resource
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

from skald_server import Server, Setup, Wire, completion, configure, head, post

MIB = 1 << 20
STORY = "Once upon a time there was a little fox who lived together with his grandmother in the forest."


def cpu_seconds(server: Server) -> float:
    """Processor time of the process, user and system."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_kib(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def in_background(work, *arguments) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


class Work(unittest.TestCase):
    def test_short_bodies_do_not_wait_for_long_ones(self):
        """A short request while six bodies of 8 MB are read: it is answered before the second of them
        is, for there is a thread that takes short ones only."""
        with Server() as server:
            text = ("tell me of the fox " * (8 * MIB // 19))[:8 * MIB - 1000]
            long = post("/tokenize", {"content": text})
            ends = []

            def ask_long():
                server.exchange(long, timeout=300)
                ends.append(time.monotonic())

            threads = [in_background(ask_long) for _ in range(6)]
            # Until they are being worked on.
            idle = cpu_seconds(server)
            while cpu_seconds(server) - idle < 0.2:
                time.sleep(0.02)
            begin = time.monotonic()
            reply = server.exchange(post("/tokenize", {"content": "x" * 5000}), timeout=300)
            end = time.monotonic()
            for thread in threads:
                thread.join()
            print(f"a short body beside six of 8 MB: {end - begin:.3f} s, the last long one "
                  f"{max(ends) - begin:.3f} s", file=sys.stderr)
            self.assertEqual(reply.status, 200)
            self.assertLess(sum(1 for ended in ends if ended < end), 3)


def colliding(count: int) -> bytes:
    """A completion with an object of so many names (a power of two), which a hash of Boost.JSON (FNV-1a,
    the address of the table added first) sends to the same places: large tables begin 16 bytes
    into a page."""
    letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
    prime, start = 0x100000001B3, 0xCBF29CE484222325 + 16
    mask = 0xFFF
    members = []
    number = 0
    while len(members) < count:
        state, rest, name = start & mask, number, bytearray()
        for _ in range(4):
            name.append(letters[rest % 64])
            state = (state ^ name[-1]) * prime & mask
            rest //= 64
        for letter in letters:
            last = (state ^ letter) * prime & mask
            if last in letters if last < 128 else False:
                members.append(b'"%b":0' % bytes([*name, letter, last]))
        number += 1
    return b'{"prompt":"The fox","max_tokens":2,"metadata":{' + b",".join(members[:count]) + b"}}"


class Latency:
    """Asks /livez again and again until told to stop; the slowest answer counts."""

    def __init__(self, server: Server):
        self.server, self.worst, self.asked, self.over = server, 0.0, 0, False
        self.thread = in_background(self.run)

    def run(self):
        while not self.over:
            begin = time.monotonic()
            if self.server.exchange(head("GET", "/livez"), timeout=120).status != 200:
                raise AssertionError("/livez is not 200")
            self.worst = max(self.worst, time.monotonic() - begin)
            self.asked += 1
            time.sleep(0.02)

    def stop(self) -> float:
        self.over = True
        self.thread.join()
        return self.worst


class Bytes(unittest.TestCase):
    def test_answers_that_are_many_times_the_request(self):
        """64 prompts, each echoed 16 times, a million tokens to text, and pieces of four million: refused
        with the numbers, or as large as is allowed without anybody else noticing."""
        with Server("-c", "2048") as server:
            quiet = peak_kib(server)
            watch = Latency(server)
            before = cpu_seconds(server)
            # What a client sees that asks with token ids, which are short in JSON.
            words = server.exchange(post("/tokenize", {"content": STORY, "with_pieces": True})).json()["tokens"]
            ids = [max(words, key=lambda token: len(token["piece"]))["id"]] * 1900
            body = {"prompt": [ids] * 64, "n": 16, "max_tokens": 1, "echo": True, "temperature": 0}
            reply = server.exchange(post("/v1/completions", body), timeout=120)
            tokens = [max(range(300, 400))] * 1_000_000
            pieces = server.exchange(post("/detokenize", {"tokens": tokens}), timeout=120)
            texts = server.exchange(
                post("/tokenize", {"content": "# " * 4_000_000, "with_pieces": True}), timeout=120)
            spent, worst, grown = cpu_seconds(server) - before, watch.stop(), peak_kib(server) - quiet
            print(f"amplification: echo {reply.status} {len(reply.body)} bytes, detokenize {pieces.status} "
                  f"{len(pieces.body)}, tokenize {texts.status} {len(texts.body)}; {spent:.1f} s of processor "
                  f"time, peak +{grown >> 10} MiB, /livez at worst {worst:.3f} s", file=sys.stderr)
            for each in (reply, pieces, texts):
                self.assertIn(each.status, (200, 400))
                self.assertLessEqual(len(each.body), 64 * MIB)
            self.assertLess(grown, 450 << 10)
            self.assertLess(worst, 2)

    def test_bodies_that_never_end(self):
        """120 bodies of which 7 MB have come: they hold no more than their share, and whoever comes is
        served."""
        with Server("--max-buffered-bytes", str(128 * MIB)) as server:
            quiet = server.rss_kib()
            start = head("POST", "/v1/completions", "Content-Type: application/json",
                         f"Content-Length: {8 * MIB}")
            filler = b" " * (7 * MIB)
            wires, worst = [], 0
            for _ in range(120):
                wire = Wire(server.port)
                wire.socket.settimeout(5)
                try:
                    wire.send(start + filler)
                except OSError:
                    pass  # refused while it sent
                wires.append(wire)
                worst = max(worst, server.rss_kib())
            reply = server.exchange(completion(), timeout=60)
            print(f"half-sent bodies: resident +{(worst - quiet) >> 10} MiB", file=sys.stderr)
            self.assertEqual(reply.status, 200)
            self.assertLess(worst - quiet, 200 << 10)
            for wire in wires:
                wire.close()


class Descriptors(unittest.TestCase):
    def test_a_server_out_of_descriptors_takes_who_has_something_to_say(self):
        # The hard limit is the least that the server starts with.
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

        with Server(preexec_fn=few) as server:
            crowd = [Wire(server.port) for _ in range(200)]
            times = []
            for _ in range(20):
                begin = time.monotonic()
                self.assertEqual(server.get("/livez").status, 200)
                times.append(time.monotonic() - begin)
            self.assertLess(max(times), 10)
            print(f"out of descriptors: /livez at worst {max(times):.3f} s", file=sys.stderr)
            for wire in crowd:
                wire.close()

    def test_the_limit_of_descriptors_is_raised(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

        def low():
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

        with Server(preexec_fn=low) as server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text()
            line = next(line for line in limits.splitlines() if line.startswith("Max open files"))
            self.assertEqual(line.split()[3], str(hard))

    def test_refused_connections_do_not_keep_others_waiting(self):
        with Server("--max-connections", "64") as server:
            crowd, times = [], []
            for i in range(800):
                wire = Wire(server.port)
                wire.send(b"GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                crowd.append(wire)
                if i % 40 == 39:
                    begin = time.monotonic()
                    self.assertEqual(server.get("/livez").status, 200)
                    times.append(time.monotonic() - begin)
            print(f"refused connections that stay: /livez at worst {max(times):.3f} s", file=sys.stderr)
            self.assertLess(sorted(times)[-3], 1)
            for wire in crowd:
                wire.close()


class Hashes(unittest.TestCase):
    def test_names_that_collide_cost_no_more_than_their_bytes(self):
        # Large tables then begin at pages; an attacker finds out by timing where they begin.
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}
        with Server(env=environment) as server:
            before = cpu_seconds(server)
            reply = server.exchange(post("/v1/completions", colliding(65_536)), timeout=120)
            spent = cpu_seconds(server) - before
            print(f"65,536 names that collide: {spent:.2f} s of processor time", file=sys.stderr)
            self.assertEqual(reply.status, 400)
            self.assertLess(spent, 1)


class Signals(unittest.TestCase):
    def test_a_second_signal_ends_the_process_at_once(self):
        for second in (signal.SIGTERM, signal.SIGINT):
            server = Server("--drain", "60")
            server.wait_ready()
            with Wire(server.port) as wire:
                # A client that reads nothing: its stream has not ended when the second signal comes.
                wire.send(completion(stream=True, n=16, max_tokens=400, ignore_eos=True, logprobs=20))
                wire.until(b"data:")
                server.process.send_signal(signal.SIGTERM)
                while server.get("/readyz").status == 200:
                    time.sleep(0.01)
                server.process.send_signal(second)
                self.assertEqual(server.process.wait(10), -second)
            server.folder.cleanup()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="tests whose name holds this")
    options = configure(parser)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{options.only}*"]
    result = unittest.TextTestRunner(verbosity=2).run(loader.loadTestsFromModule(sys.modules[__name__]))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())

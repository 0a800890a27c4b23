"""Many streams at once: no failure, the text that each would have alone, flat memory.

Run by ctest (test E2eLoad), and by hand:
python3 tests/e2e/load_test.py build/release/skald . [--streams 200] [--requests 20000]

--streams is how many run together, --requests how many short ones follow to see whether memory
stays flat; a fifth of those leave before their answer is complete. The defaults are for a test of
every change, 20,000 requests for a release (half an hour).
"""

import argparse
import asyncio
import sys
import time
import unittest

from skald_server import Server, Setup, Wire, ask, completion, configure, events, post, texts

# Memory may grow by so much between the end of the first tenth of the requests and the last one.
RSS_GROWTH_KIB = 4 << 10
AT_ONCE = 32

ANIMALS = ("fox", "bear", "crow", "frog", "goat", "wolf", "hare", "lion")


def request(number: int, **more) -> dict:
    """Requests of many kinds: short and long prompts, with shared beginnings and without; greedy and
    drawn; streams and not; with stop strings, several choices, penalties."""
    animal = ANIMALS[number % len(ANIMALS)]
    prompt = ("Once upon a time there was a " + animal) if number % 3 else f"{number} {animal}s "
    body = {"prompt": prompt * (1 + number % 4), "max_tokens": 8 + number % 25, "seed": number,
            "temperature": 0 if number % 5 == 0 else 1.0, "stream": number % 4 != 3}
    if number % 7 == 0:
        body["stop"] = [".", " the"]
    if number % 11 == 0:
        body["n"] = 3
    if number % 13 == 0:
        body["frequency_penalty"] = 0.5
    return {**body, **more}


class Load(unittest.TestCase):
    streams = 200
    requests = 400

    def check(self, reply) -> list[str]:
        self.assertEqual(reply.status, 200, reply.body[:300])
        return texts(reply)

    def test_streams_together_are_what_they_are_alone(self):
        async def together(server):
            return await asyncio.gather(
                *(ask(server.port, request(i, stream=True)) for i in range(self.streams)))

        with Server("--parallel", "32") as server:
            crowd = [self.check(reply) for reply in asyncio.run(together(server))]
            server.settle()
        # Another server, with other scheduling: one by one, and its cache is cold.
        with Server("--parallel", "4") as server:
            for i, found in enumerate(crowd):
                alone = self.check(server.exchange(post("/v1/completions", request(i, stream=False))))
                self.assertEqual(found, alone, request(i))

    def test_a_small_cache_changes_no_text(self):
        """F10: pages run out all the time; who loses them computes again and says the same."""
        bodies = [request(i, max_tokens=200, ignore_eos=True) for i in range(32)]

        async def together(server):
            return await asyncio.gather(*(ask(server.port, body) for body in bodies))

        with Server("--kv-positions", "512", "--parallel", "16") as server:
            crowd = [self.check(reply) for reply in asyncio.run(together(server))]
            metrics = server.get("/metrics").body.decode()
            server.settle()
        preempted = [line for line in metrics.splitlines() if line.startswith("skald_preemptions_total")]
        self.assertGreater(float(preempted[0].split()[-1]), 0, "nothing was preempted: no test")
        with Server() as server:
            alone = [self.check(server.exchange(post("/v1/completions", body))) for body in bodies]
        self.assertEqual(crowd, alone)

    def test_what_can_never_fit_is_refused(self):
        """F11: a request larger than the cache is 400 at once, not a request that waits for ever."""
        with Server("-c", "256", "--kv-positions", "256") as server:
            reply = server.exchange(completion(prompt="fox " * 300))
            self.assertEqual(reply.status, 400)
            self.assertEqual(reply.error()["code"], "context_length_exceeded")
            self.assertEqual(server.exchange(completion()).status, 200)

    def test_memory_is_flat_over_many_requests(self):
        async def leave(server, number: int):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(post("/v1/completions", request(number, max_tokens=100, stream=True)))
            await reader.read(1 + number % 300)
            writer.close()

        async def worker(server, numbers):
            for number in numbers:
                if number % 5 == 4:
                    await leave(server, number)
                else:
                    self.check(await ask(server.port, request(number)))

        async def batch(server, first: int, last: int):
            numbers = iter(range(first, last))
            await asyncio.gather(*(worker(server, numbers) for _ in range(AT_ONCE)))

        with Server() as server:
            tenth = max(self.requests // 10, 100)
            asyncio.run(batch(server, 0, tenth))
            server.settle()
            rss, descriptors = server.rss_kib(), server.descriptors()
            asyncio.run(batch(server, tenth, self.requests))
            pages = server.settle()["pages"]
            grown = server.rss_kib() - rss
            print(f"{self.requests} requests: {grown} KiB more memory, pages {pages}")
            if not Setup.sanitized:
                self.assertLess(grown, RSS_GROWTH_KIB)
            end = time.monotonic() + 60  # a connection that was left lingers a moment
            while server.descriptors() > descriptors and time.monotonic() < end:
                time.sleep(0.05)
            self.assertLessEqual(server.descriptors(), descriptors)

    def test_who_leaves_in_any_state_leaves_nothing_behind(self):
        """F16, H74, H76: waiting, in prefill, in decode, with many choices, by farewell and by reset."""
        long = {"prompt": "fox " * 100, "max_tokens": 300, "ignore_eos": True}
        cases = [{}, {"n": 4}, {"stream": True}, {"stream": True, "n": 4}, {"prompt": ["fox " * 90] * 8}]
        with Server("--parallel", "4") as server:
            golden = server.exchange(completion(temperature=0)).json()["choices"]
            for patience in (0, 0.002, 0.02, 0.1):
                wires = []
                for number in range(12):
                    wire = Wire(server.port, timeout=5)
                    wire.send(post("/v1/completions", {**long, **cases[number % len(cases)]}))
                    wires.append(wire)
                wires[0].socket.settimeout(patience or 0.001)
                try:
                    wires[0].more()
                except TimeoutError:
                    pass
                for number, wire in enumerate(wires):
                    wire.reset() if number % 2 else wire.close()
                server.settle()
            self.assertEqual(server.exchange(completion(temperature=0)).json()["choices"], golden)

    def test_a_neighbour_that_leaves_does_not_disturb(self):
        """H75: one stream is aborted while another request is in prefill."""
        body = {"prompt": "bear " * 100, "max_tokens": 20, "temperature": 0, "cache_salt": "a"}
        with Server() as server:
            alone = self.check(server.exchange(post("/v1/completions", {**body, "cache_salt": "b"})))
            for _ in range(10):
                with Wire(server.port) as leaver, Wire(server.port) as stayer:
                    leaver.send(post("/v1/completions", request(1, max_tokens=300)))
                    leaver.more()
                    stayer.send(post("/v1/completions", body))
                    leaver.reset()
                    self.assertEqual(texts(stayer.reply()), alone)
            server.settle()

    def test_a_stop_lets_streams_end(self):
        """SIGTERM with streams: they end whole, nothing new begins, the exit code is 0."""
        with Server() as server:
            wires = [Wire(server.port) for _ in range(8)]
            for number, wire in enumerate(wires):
                wire.send(post("/v1/completions", request(number, max_tokens=200, stream=True, n=1)))
                wire.more()
            server.process.terminate()
            for wire in wires:
                reply = wire.reply()
                self.assertIn(events(reply.body)[-1]["choices"][0]["finish_reason"], ("stop", "length"))
                wire.close()
            self.assertEqual(server.process.wait(60), 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=Load.streams, help="at once (default 200)")
    parser.add_argument("--requests", type=int, default=Load.requests, help="in all (default 400)")
    parser.add_argument("--only", default="", help="tests whose name holds this")
    options = configure(parser)
    Load.streams, Load.requests = options.streams, options.requests
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{options.only}*"]
    result = unittest.TextTestRunner(verbosity=2).run(loader.loadTestsFromTestCase(Load))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())

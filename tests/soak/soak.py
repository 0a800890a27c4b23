"""Hostile and honest clients against one skald serve with a memory limit.

    soak.py SKALD SOURCE [--minutes M | --seconds S] [--seed N] [--no-times]

What must hold, and is checked:

- every honest answer is, to the last bit, that of a quiet server that was asked the same;
- the time to the first token of honest clients, 99 of 100, stays within three times its quiet value
  plus one step;
- so does that of GET /livez, which nothing may delay;
- the process lives, within its memory: resident, and address space, which the kernel enforces.

Quiet and hostile windows take turns, so that a machine whose other load changes gives both the same
share of it. Times are looked at over all windows. One step is measured, too: the time to the first
token of a prompt that fills one. Attacks: attackers.py. Honest requests repeat, with cold and warm
cache, because that is what honest clients do.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
from skald_server import (Server, Setup, ask, configure, events, exchange, head,  # noqa: E402
                          post)

# Each must have been tried, or nothing was shown.
ATTACKS = ("members", "echo", "choices", "one_choice_of_16", "long_prompts", "pieces", "detokenize",
           "letters", "nested", "conversation", "embeddings", "stop_strings", "half_open",
           "half_a_body", "knock", "strangers", "slow_readers", "leavers", "watchers")

HONEST, OTHER, HOSTILE = "sk-an-honest-client", "sk-another-honest-one", "sk-a-hostile-client"
# What the process may take beyond its quiet size: resident memory. The engine's pages are committed
# when they are first used, hence not much less.
MEMORY_BUDGET = 512 << 20
# Address space beyond that: arenas of the allocator, 64 MiB a thread, are reserved and not used.
ADDRESS_SLACK = 2 << 30
# What three times the quiet time cannot be below: the machine's own jitter.
JITTER_S = 0.02
ANIMALS = ("fox", "owl", "bear", "crow", "hare", "lion", "frog", "wolf")


def request(number: int) -> dict:
    """One of 24 honest requests: short, drawn or greedy."""
    animal = ANIMALS[number % len(ANIMALS)]
    return {"prompt": f"Once upon a time a {animal} met a friend. " * (1 + number % 3),
            "max_tokens": 6 + number % 7, "seed": number, "stream": True, "ignore_eos": True,
            "temperature": 0 if number % 4 == 0 else 1.0}


KINDS = 24


def text_of(body: bytes) -> str:
    """The text of a stream of one choice."""
    return "".join(choice["text"] for event in events(body) for choice in event["choices"])


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass
class Seen:
    """What honest clients saw in the windows of one kind."""
    first: list[float] = field(default_factory=list)
    alive: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    peak_kib: int = 0


class Soak:
    def __init__(self, server: Server, expected: list[str], seed: int):
        self.server = server
        self.expected = expected
        self.draw = random.Random(seed)
        self.quiet = Seen()
        self.hostile = Seen()
        self.rounds: dict[str, int] = {}

    async def honest(self, seen: Seen, key: str, end: float):
        """Asks, compares, thinks, until `end`, and at least a few times."""
        asked = 0
        while time.monotonic() < end or asked < 3:
            asked += 1
            number = self.draw.randrange(KINDS)
            try:
                reply = await asyncio.wait_for(ask(self.server.port, request(number), key), 120)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                seen.failures.append(f"request {number}: {error!r}")
                continue
            if reply.status != 200:
                seen.failures.append(f"request {number}: {reply.status} {reply.body[:200]!r}")
            elif text_of(reply.body) != self.expected[number]:
                seen.failures.append(f"request {number}: another text")
            else:
                seen.first.append(float(reply.fields["first-seconds"]))
            await asyncio.sleep(0.02 + 0.06 * self.draw.random())

    async def health(self, seen: Seen, end: float):
        """Who looks whether the process lives, and what it takes."""
        while time.monotonic() < end and self.server.alive():
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            begin = time.perf_counter()
            writer.write(head("GET", "/livez", "Connection: close"))
            status = await asyncio.wait_for(reader.readline(), 120)
            seen.alive.append(time.perf_counter() - begin)
            writer.close()
            if b" 200 " not in status:
                seen.failures.append(f"/livez: {status!r}")
            seen.peak_kib = max(seen.peak_kib, self.server.rss_kib())
            await asyncio.sleep(0.05)

    async def window(self, seen: Seen, seconds: float):
        end = time.monotonic() + seconds
        await asyncio.gather(self.honest(seen, HONEST, end), self.honest(seen, OTHER, end),
                             self.health(seen, end))

    def hostile_window(self, seconds: float):
        """As a quiet one, with attackers, who begin a moment earlier and end a moment later."""
        script = Path(__file__).resolve().parent / "attackers.py"
        attackers = subprocess.Popen(
            [sys.executable, str(script), str(self.server.port), HOSTILE, str(seconds + 1),
             str(self.draw.randrange(1 << 30))], stdout=subprocess.PIPE)
        try:
            time.sleep(0.5)
            asyncio.run(self.window(self.hostile, seconds))
            said, _ = attackers.communicate(timeout=300)
        finally:
            attackers.kill()
        for name, count in json.loads(said or b"{}").items():
            self.rounds[name] = self.rounds.get(name, 0) + count

    def run(self, seconds: float):
        windows = max(1, round(seconds / 60))
        for _ in range(windows):
            asyncio.run(self.window(self.quiet, seconds / windows * 0.3))
            self.hostile_window(seconds / windows * 0.7)
            self.settle()

    def settle(self):
        """What attackers left behind must end: a minute for streams that nobody reads."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            slots = json.loads(self.get("/slots"))
            if slots["running"] == slots["waiting"] == 0:
                return
            time.sleep(0.1)
        self.hostile.failures.append(f"still at work after a minute: {slots}")

    def get(self, path: str) -> bytes:
        return exchange(self.server.port,
                        head("GET", path, f"Authorization: Bearer {HONEST}")).body


def step_seconds(server: Server) -> float:
    """The longest of a few steps full of prompt, and what goes with it."""
    times = []
    for number in range(5):
        body = {"prompt": f"{number} " + "the owl sat in a tree " * 60, "max_tokens": 1}
        begin = time.perf_counter()
        exchange(server.port, post("/v1/completions", body, f"Authorization: Bearer {HONEST}"))
        times.append(time.perf_counter() - begin)
    return max(times)


def quiet_texts() -> list[str]:
    """What a server says that nobody disturbs."""
    with Server("--parallel", "4", keys=(HONEST,)) as server:
        async def each():
            return [text_of((await ask(server.port, request(n), HONEST)).body)
                    for n in range(KINDS)]
        return asyncio.run(each())


def limit_memory(server: Server) -> tuple[int, int]:
    """Gives the process the budget beyond what it takes now. Its bounds: resident KiB, bytes of
    address space."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    size = 1024 * int(status.split("VmSize:")[1].split()[0])
    bytes_of_space = size + MEMORY_BUDGET + ADDRESS_SLACK
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (bytes_of_space, bytes_of_space))
    return server.rss_kib() + MEMORY_BUDGET // 1024, bytes_of_space


def judge(soak: Soak, step: float, most_kib: int, with_times: bool) -> list[str]:
    """What did not hold."""
    quiet, hostile = soak.quiet, soak.hostile
    wrong = [f"never tried: {name}" for name in ATTACKS if not soak.rounds.get(name)]
    wrong += [f"quiet: {each}" for each in quiet.failures]
    wrong += [f"attacked: {each}" for each in hostile.failures]
    if not soak.server.alive():
        wrong.append(f"the server ended: {soak.server.log.read_text(errors='replace')[-2000:]}")
    if hostile.peak_kib > most_kib:
        wrong.append(f"{hostile.peak_kib} KiB resident, at most {most_kib}")
    for name, before, during in (("first token", quiet.first, hostile.first),
                                 ("/livez", quiet.alive, hostile.alive)):
        if not before or not during:
            wrong.append(f"{name}: nothing was measured")
            continue
        p99, bound = percentile(during, 0.99), 3 * percentile(before, 0.99) + step + JITTER_S
        print(f"{name}: quiet p50 {1e3 * percentile(before, 0.5):.1f} ms, "
              f"p99 {1e3 * percentile(before, 0.99):.1f} ms ({len(before)}); attacked p50 "
              f"{1e3 * percentile(during, 0.5):.1f} ms, p99 {1e3 * p99:.1f} ms ({len(during)}), "
              f"bound {1e3 * bound:.1f} ms")
        if with_times and p99 > bound:
            wrong.append(f"{name}: p99 {p99:.3f} s under attack, at most {bound:.3f} s")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-times", action="store_true",
                        help="times are printed, not judged: for a machine that does other things")
    options = configure(parser)
    seconds = 60 * options.minutes or options.seconds
    expected = quiet_texts()
    with Server("--parallel", "8", keys=(HONEST, OTHER, HOSTILE)) as server:
        step = step_seconds(server)
        most_kib, bytes_of_space = limit_memory(server)
        soak = Soak(server, expected, options.seed)
        print(f"{seconds:.0f} s, seed {options.seed}; a step takes {1e3 * step:.1f} ms; at most "
              f"{most_kib} KiB resident, {bytes_of_space >> 20} MiB of address space")
        try:
            soak.run(seconds)
        except (OSError, AssertionError, json.JSONDecodeError) as error:
            soak.hostile.failures.append(repr(error))
        print(f"rounds of attacks: {soak.rounds}")
        print(f"resident: quiet {soak.quiet.peak_kib} KiB, attacked {soak.hostile.peak_kib} KiB")
        wrong = judge(soak, step, most_kib, not options.no_times and not Setup.sanitized)
    for each in wrong[:20]:
        print(f"FAILED: {each}")
    print(f"{len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

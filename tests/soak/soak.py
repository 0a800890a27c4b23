"""Hostile and honest clients against one skald serve with a memory limit.

    soak.py SKALD SOURCE [--minutes M | --seconds S] [--seed N] [--each] [--no-times]

What must hold, and is checked:

- every honest answer is, to the last bit, that of a quiet server that was asked the same;
- the time to the first token of honest clients, 99 of 100, stays within three times its quiet value
  plus one step;
- so does that of GET /livez, which nothing may delay;
- the process lives, within its memory: resident, and address space, which the kernel enforces.

Clients of a server have machines of their own; here all share one. So attackers have the least
priority there is, and what an honest client itself waits for a processor is not in its times. What
threads of the server wait for is, whoever made them wait: it is printed, with what others took.

Quiet and hostile windows take turns, so that a machine whose other load changes gives both the same
share of it. Times are looked at over all windows. One step is measured, too: the time to the first
token of a prompt that fills one. Attacks: attackers.py. Honest requests repeat, with cold and warm
cache, because that is what honest clients do.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
from skald_server import (Server, Setup, ask, configure, events, exchange, head,  # noqa: E402
                          own_queued_seconds, post)

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
    """What honest clients saw in the windows of one kind. Times are without what the client itself waited
    for a processor: clients have machines of their own."""
    first: list[float] = field(default_factory=list)
    alive: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    peak_kib: int = 0
    client_queued: float = 0.0
    seconds: float = 0.0  # of the windows
    threads: dict[str, tuple[float, float]] = field(default_factory=dict)  # of the server, per second
    others: float = 0.0  # processors that the rest of the machine took


class Machine:
    """What takes the processors while it is entered: threads of the server by name, and whoever is neither
    server nor client."""

    def __init__(self, server: Server, seen: Seen, attacker: int = 0):
        self.server, self.seen = server, seen
        self.pids = [server.process.pid, os.getpid()] + ([attacker] if attacker else [])

    def threads(self) -> dict[str, tuple[float, float]]:
        """Seconds on a processor and ready for one, by name."""
        found: dict[str, tuple[float, float]] = {}
        for task in Path(f"/proc/{self.server.process.pid}/task").iterdir():
            name = (task / "comm").read_text().strip()
            ran, queued = (int(n) / 1e9 for n in (task / "schedstat").read_text().split()[:2])
            before = found.get(name, (0.0, 0.0))
            found[name] = (before[0] + ran, before[1] + queued)
        return found

    def busy(self) -> float:
        """Processor time of the machine, without that of server, client and attacker; with what its host
        gave to others."""
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        total = sum(int(fields[i]) for i in (0, 1, 2, 5, 6, 7))
        for pid in self.pids:
            try:
                own = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except FileNotFoundError:
                continue
            total -= int(own[11]) + int(own[12])
        return total / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        self.begin, self.threads_before, self.busy_before = time.monotonic(), self.threads(), self.busy()
        self.queued_before = own_queued_seconds()

    def __exit__(self, *_):
        seen, seconds = self.seen, time.monotonic() - self.begin
        for name, now in self.threads().items() if self.server.alive() else ():
            before, had = self.threads_before.get(name, (0, 0)), seen.threads.get(name, (0, 0))
            seen.threads[name] = tuple(had[i] + now[i] - before[i] for i in (0, 1))
        seen.others += self.busy() - self.busy_before
        seen.client_queued += own_queued_seconds() - self.queued_before
        seen.seconds += seconds


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
                seen.first.append(float(reply.fields["first-seconds"])
                                  - float(reply.fields["first-queued-seconds"]))
            await asyncio.sleep(0.02 + 0.06 * self.draw.random())

    async def health(self, seen: Seen, end: float):
        """Who looks whether the process lives, and what it takes."""
        while time.monotonic() < end and self.server.alive():
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            begin = time.perf_counter() - own_queued_seconds()
            writer.write(head("GET", "/livez", "Connection: close"))
            status = await asyncio.wait_for(reader.readline(), 120)
            seen.alive.append(time.perf_counter() - own_queued_seconds() - begin)
            writer.close()
            if b" 200 " not in status:
                seen.failures.append(f"/livez: {status!r}")
            seen.peak_kib = max(seen.peak_kib, self.server.rss_kib())
            await asyncio.sleep(0.05)

    async def window(self, seen: Seen, seconds: float, attacker: int = 0):
        end = time.monotonic() + seconds
        with Machine(self.server, seen, attacker):
            await asyncio.gather(self.honest(seen, HONEST, end), self.honest(seen, OTHER, end),
                                 self.health(seen, end))

    def quiet_window(self, seen: Seen, seconds: float):
        asyncio.run(self.window(seen, seconds))

    def hostile_window(self, seen: Seen, seconds: float, attack: str = ""):
        """As a quiet one, with attackers, who begin a moment earlier and end a moment later; of all kinds,
        or of one."""
        script = Path(__file__).resolve().parent / "attackers.py"
        # What they do is the server's to bear; what it costs them is not: they would not sit on its machine.
        attackers = subprocess.Popen(
            [sys.executable, str(script), str(self.server.port), HOSTILE, str(seconds + 1),
             str(self.draw.randrange(1 << 30)), *([attack] if attack else [])],
            stdout=subprocess.PIPE, preexec_fn=lambda: os.nice(19))
        try:
            time.sleep(0.5)
            asyncio.run(self.window(seen, seconds, attackers.pid))
            said, _ = attackers.communicate(timeout=300)
        finally:
            attackers.kill()
        for name, count in json.loads(said or b"{}").items():
            self.rounds[name] = self.rounds.get(name, 0) + count

    def run(self, seconds: float):
        """Quiet and hostile windows in turn, with all attacks."""
        windows = max(1, round(seconds / 60))
        for _ in range(windows):
            self.quiet_window(self.quiet, seconds / windows * 0.3)
            self.hostile_window(self.hostile, seconds / windows * 0.7)
            self.settle(self.hostile)

    def settle(self, seen: Seen):
        """What attackers left behind must end: a minute for streams that nobody reads."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            slots = json.loads(self.get("/slots"))
            if slots["running"] == slots["waiting"] == 0:
                return
            time.sleep(0.1)
        seen.failures.append(f"still at work after a minute: {slots}")

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


def judge_times(quiet: Seen, hostile: Seen, step: float, name: str = "") -> list[str]:
    """What was slower than the bound: three times the quiet p99, and a step."""
    wrong = []
    for what, before, during in (("first token", quiet.first, hostile.first),
                                 ("/livez", quiet.alive, hostile.alive)):
        if not before or not during:
            wrong.append(f"{name}{what}: nothing was measured")
            continue
        p99, most = percentile(during, 0.99), bound(before, step)
        if p99 > most:
            wrong.append(f"{name}{what}: p99 {p99:.3f} s under attack, at most {most:.3f} s")
    return wrong


def bound(quiet: list[float], step: float) -> float:
    return 3 * percentile(quiet, 0.99) + step + JITTER_S


def judge_rest(soak: Soak, quiet: Seen, hostile: Seen, most_kib: int) -> list[str]:
    """What did not hold, but for the times."""
    wrong = [f"quiet: {each}" for each in quiet.failures]
    wrong += [f"attacked: {each}" for each in hostile.failures]
    if not soak.server.alive():
        wrong.append(f"the server ended: {soak.server.log.read_text(errors='replace')[-2000:]}")
    if hostile.peak_kib > most_kib:
        wrong.append(f"{hostile.peak_kib} KiB resident, at most {most_kib}")
    return wrong


def show_times(quiet: Seen, hostile: Seen, step: float):
    for name, before, during in (("first token", quiet.first, hostile.first),
                                 ("/livez", quiet.alive, hostile.alive)):
        if not before or not during:
            continue
        print(f"{name}: quiet p50 {1e3 * percentile(before, 0.5):.1f} ms, "
              f"p99 {1e3 * percentile(before, 0.99):.1f} ms ({len(before)}); attacked p50 "
              f"{1e3 * percentile(during, 0.5):.1f} ms, p99 {1e3 * percentile(during, 0.99):.1f} ms "
              f"({len(during)}), bound {1e3 * bound(before, step):.1f} ms")


def show_machine(what: str, seen: Seen):
    """Who had the processors, and who waited for them."""
    per_second = 1 / max(seen.seconds, 1e-9)
    threads = ", ".join(f"{name} {ran * per_second:.2f} + {queued * per_second:.2f}"
                        for name, (ran, queued) in sorted(seen.threads.items()))
    print(f"{what}: processors taken + waited for by threads of the server: {threads}; waited for by the "
          f"client (not in its times) {seen.client_queued * per_second:.2f}; taken by others on this "
          f"machine {seen.others * per_second:.2f}")


def all_together(soak: Soak, step: float, most_kib: int, options) -> list[str]:
    """All attacks at once."""
    try:
        soak.run(60 * options.minutes or options.seconds)
    except (OSError, AssertionError, json.JSONDecodeError) as error:
        soak.hostile.failures.append(repr(error))
    print(f"rounds of attacks: {soak.rounds}")
    print(f"resident: quiet {soak.quiet.peak_kib} KiB, attacked {soak.hostile.peak_kib} KiB")
    show_times(soak.quiet, soak.hostile, step)
    show_machine("quiet", soak.quiet)
    show_machine("attacked", soak.hostile)
    wrong = [f"never tried: {name}" for name in ATTACKS if not soak.rounds.get(name)]
    wrong += judge_rest(soak, soak.quiet, soak.hostile, most_kib)
    if not options.no_times and not Setup.sanitized:
        wrong += judge_times(soak.quiet, soak.hostile, step)
    return wrong


def one_by_one(soak: Soak, step: float, most_kib: int, options) -> list[str]:
    """Each attack alone, between two quiet windows, as rows of a table."""
    seconds = (60 * options.minutes or options.seconds) / len(ATTACKS)
    wrong = []
    print("| attack | rounds | first token p99: quiet | attacked | bound | /livez p99: quiet | attacked | "
          "bound | resident MiB | processors: server | others |\n|" + "---|" * 11)
    before = Seen()
    soak.quiet_window(before, seconds * 0.3)
    for name in ATTACKS:
        during, after = Seen(), Seen()
        soak.hostile_window(during, seconds * 0.7, name)
        soak.settle(during)
        soak.quiet_window(after, seconds * 0.3)
        quiet = Seen(first=before.first + after.first, alive=before.alive + after.alive,
                     failures=after.failures)
        cells = [name, soak.rounds.get(name, 0)]
        for was, now in ((quiet.first, during.first), (quiet.alive, during.alive)):
            cells += [f"{1e3 * ms:.1f}"
                      for ms in (percentile(was, 0.99), percentile(now, 0.99), bound(was, step))]
        taken = sum(ran for ran, _ in during.threads.values())
        cells += [during.peak_kib >> 10, f"{taken / during.seconds:.2f}",
                  f"{during.others / during.seconds:.2f}"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
        if not soak.rounds.get(name):
            wrong.append(f"never tried: {name}")
        wrong += [f"{name}: {each}" for each in judge_rest(soak, quiet, during, most_kib)]
        if not options.no_times and not Setup.sanitized:
            wrong += judge_times(quiet, during, step, f"{name}: ")
        if not soak.server.alive():
            break
        before = after
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true",
                        help="one attack at a time, and a table of what each did")
    parser.add_argument("--no-times", action="store_true",
                        help="times are printed, not judged: for a machine that does other things")
    options = configure(parser)
    expected = quiet_texts()
    with Server("--parallel", "8", keys=(HONEST, OTHER, HOSTILE)) as server:
        step = step_seconds(server)
        most_kib, bytes_of_space = limit_memory(server)
        soak = Soak(server, expected, options.seed)
        print(f"{60 * options.minutes or options.seconds:.0f} s, seed {options.seed}; a step takes "
              f"{1e3 * step:.1f} ms; at most {most_kib} KiB resident, {bytes_of_space >> 20} MiB of "
              f"address space", flush=True)
        wrong = (one_by_one if options.each else all_together)(soak, step, most_kib, options)
    for each in wrong[:20]:
        print(f"FAILED: {each}")
    print(f"{len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

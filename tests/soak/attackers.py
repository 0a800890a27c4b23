"""Hostile clients for soak.py, as a process of its own: the times that honest clients see are not
those of a Python that is busy making trouble.

    attackers.py PORT KEY SECONDS SEED [NAME]

With a name that attack alone, else all together. Each attack is a loop over one kind of request, with a pause between two rounds, so that the load is
the server's and not the machine's. All of them stop by themselves. The last line is a count of the
rounds, as JSON.
"""

import asyncio
import json
import random
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
from skald_server import completion, head, post  # noqa: E402

MIB = 1 << 20
# An attack waits no longer than this for an answer: the next round is worth more.
PATIENCE_S = 10


class Target:
    """Where to, whose key, until when, and how often each attack went round."""

    def __init__(self, port: int, key: str, seconds: float):
        self.port = port
        self.key = key
        self.end = time.monotonic() + seconds
        self.rounds: dict[str, int] = {}

    def over(self, name: str) -> bool:
        """Whether an attack ends: its time is up, and it has been tried at least once."""
        return time.monotonic() >= self.end and name in self.rounds

    def field(self) -> str:
        return f"Authorization: Bearer {self.key}"

    async def connect(self):
        return await asyncio.wait_for(
            asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22), PATIENCE_S)

    async def send(self, data: bytes, patience: float = PATIENCE_S) -> bytes:
        """The beginning of what is answered to `data`, read to its end and thrown away."""
        reader, writer = await self.connect()
        try:
            async with asyncio.timeout(patience):
                writer.write(data)
                await writer.drain()
                first = await reader.read(64)
                while await reader.read(MIB):
                    pass
                return first
        finally:
            writer.close()

    def post(self, path: str, body) -> bytes:
        return post(path, body, self.field(), "Connection: close")


def many_members(count: int) -> bytes:
    """An object of `count` members whose names differ in their last characters only."""
    names = ",".join(f'"{"a" * 20}{i:07x}":1' for i in range(count))
    return b'{"prompt":"x","metadata":{' + names.encode() + b"}}"


# Bodies are made once: what they cost is for the server to bear.
WORDS = "the fox and the owl sat by the river and said nothing for a long while "
BODIES = {
    "members": ("/v1/completions", many_members(65_536)),
    "echo": ("/v1/completions", {"prompt": [WORDS * 25] * 64, "echo": True, "n": 16,
                                 "max_tokens": 1, "logprobs": 5}),
    "choices": ("/v1/completions", {"prompt": ["x " + WORDS] * 32, "n": 8, "max_tokens": 200,
                                    "ignore_eos": True, "priority": 1000}),
    "one_choice_of_16": ("/v1/completions", {"prompt": WORDS * 20, "n": 16, "max_tokens": 300,
                                             "ignore_eos": True, "priority": 1000}),
    "long_prompts": ("/v1/completions", {"prompt": WORDS * 25, "max_tokens": 1,
                                         "cache_salt": "%d"}),
    "pieces": ("/tokenize", {"content": WORDS * 20_000, "prompt": WORDS * 20_000,
                             "with_pieces": True}),
    "detokenize": ("/detokenize", {"tokens": [300] * 500_000}),
    "letters": ("/v1/completions", {"prompt": "A" * (4 * MIB), "max_tokens": 1}),
    "nested": ("/v1/completions", b'{"prompt":' + b"[" * 500_000 + b"]" * 500_000 + b"}"),
    "conversation": ("/v1/chat/completions",
                     {"messages": [{"role": "user", "content": WORDS}] * 3000, "max_tokens": 1}),
    "embeddings": ("/v1/embeddings", {"input": [WORDS * 25] * 64}),
    "costly_masks": ("/v1/completions",
                     {"prompt": "x", "n": 8, "max_tokens": 200, "temperature": 3, "guided_json":
                      {"anyOf": [{"type": "string", "pattern": f"a{i}.*b.*c"} for i in range(60)]}}),
    "stop_strings": ("/v1/completions", {"prompt": "x", "stop": ["y" * 1000] * 1000}),
}


async def repeat(target: Target, name: str, pause: float, once) -> None:
    """Calls `once` until the end; a refusal, a reset, a timeout are what an attacker expects."""
    while not target.over(name):
        try:
            async with asyncio.timeout(3 * PATIENCE_S):
                await once()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        target.rounds[name] = target.rounds.get(name, 0) + 1
        await asyncio.sleep(pause)


async def whole_bodies(target: Target, name: str, pause: float) -> None:
    path, body = BODIES[name]
    data = target.post(path, body if isinstance(body, bytes) else json.dumps(body).encode())
    await repeat(target, name, pause, lambda: target.send(data))


async def hold(target: Target, name: str, count: int, data: bytes) -> None:
    """Opens `count` connections, says `data` on each, and holds them for some seconds."""
    async def once():
        opened = []
        try:
            for _ in range(count):
                _, writer = await target.connect()
                opened.append(writer)
                writer.write(data)
            await asyncio.sleep(5)
        finally:
            for writer in opened:
                writer.transport.abort()
    await repeat(target, name, 0.5, once)


async def knock(target: Target) -> None:
    """Connections that say nothing and go, two hundred a second."""
    async def once():
        for _ in range(20):
            _, writer = await target.connect()
            writer.transport.abort()
    await repeat(target, "knock", 0.1, once)


async def strangers(target: Target, draw: random.Random) -> None:
    """Keys that are none, and bytes that are no HTTP."""
    async def once():
        await target.send(completion(prompt="x").replace(
            b"\r\n\r\n", b"\r\nAuthorization: Bearer sk-%d\r\nConnection: close\r\n\r\n"
            % draw.randrange(10**9), 1))
        await target.send(draw.randbytes(2000))
    await repeat(target, "strangers", 0.1, once)


async def slow_readers(target: Target) -> None:
    """Streams of which nothing is read for a while, then all is left."""
    data = target.post("/v1/completions", {"prompt": WORDS, "max_tokens": 400, "stream": True,
                                           "ignore_eos": True, "logprobs": 5, "n": 4})
    async def once():
        _, writer = await target.connect()
        writer.transport.pause_reading()
        writer.write(data)
        await asyncio.sleep(3)
        writer.transport.abort()
    await repeat(target, "slow_readers", 0.1, once)


async def leavers(target: Target, draw: random.Random) -> None:
    """Requests whose client goes before the answer."""
    data = target.post("/v1/completions", {"prompt": WORDS * 10, "max_tokens": 200, "n": 4})
    async def once():
        _, writer = await target.connect()
        writer.write(data)
        await asyncio.sleep(draw.random() * 0.2)
        writer.transport.abort()
    await repeat(target, "leavers", 0.05, once)


async def watchers(target: Target) -> None:
    """What operators look at, as often as it can be had."""
    async def once():
        for path in ("/metrics", "/slots", "/v1/models", "/props"):
            await target.send(head("GET", path, target.field(), "Connection: close"))
    await repeat(target, "watchers", 0.05, once)


def attacks(target: Target, seed: int) -> dict[str, list]:
    """Every attack by its name: functions that go on until the end."""
    draw = random.Random(seed)
    half_a_body = head("POST", "/v1/completions", "Content-Type: application/json",
                       f"Content-Length: {8 * MIB}", target.field()) + b" " * (4 * MIB)
    return {
        **{name: [partial(whole_bodies, target, name, 0.5)] for name in BODIES},
        "half_open": [partial(hold, target, "half_open", 200, b"POST /v1/comple")],
        "half_a_body": [partial(hold, target, "half_a_body", 40, half_a_body)],
        "knock": [partial(knock, target)],
        "strangers": [partial(strangers, target, draw)],
        "slow_readers": [partial(slow_readers, target)] * 2,
        "leavers": [partial(leavers, target, draw)],
        "watchers": [partial(watchers, target)],
    }


async def attack(target: Target, seed: int, only: str | None) -> None:
    chosen = attacks(target, seed)
    await asyncio.gather(*(begin() for name, each in chosen.items() if only in (None, name)
                           for begin in each))


def main() -> int:
    port, key, seconds, seed = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    only = sys.argv[5] if len(sys.argv) > 5 else None
    target = Target(port, key, seconds)
    asyncio.run(attack(target, seed, only))
    print(json.dumps(target.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())

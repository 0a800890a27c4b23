"""The time between the tokens of a stream while others are held to grammars whose masks take long.

    masks_beside_stream.py SKALD SOURCE --model MODEL.gguf [--rounds 4] [--seconds 8] [--clients 2] [--threads 2]

A measurement, no test: it wants a machine that does nothing else, and a model with a large vocabulary (made of random weights it will
do). In turn, a round each: the stream alone; beside clients that ask for tokens held to one small expression; beside as many whose
grammars make masks of tens of milliseconds at each token. Their answers are drawn at a high temperature, so that masks are needed.
Prints milliseconds between tokens, what the clients got, and the quotient of the 99th percentiles.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time

from compile_beside_stream import a_round, come_first  # which sets the path for the next
from skald_server import Server, ask, configure

CHEAP = [{"guided_regex": "[a-z ]{1,4000}"}]
COSTLY = [
    {"guided_json": {"anyOf": [{"type": "string", "pattern": f"a{i}.*b.*c"} for i in range(60)]}},
    {"guided_json": {"anyOf": [{"type": "object", "patternProperties": {f"a{i}": {"type": "integer"}}} for i in range(30)]}},
    {"guided_regex": "(.*a){200}"},
]


class Clients:
    """So many answers at a time, one behind the other, for `seconds` of a round."""

    def __init__(self, port: int, count: int, fields: list[dict], seconds: float):
        self.port, self.count, self.fields, self.seconds = port, count, fields, seconds
        self.tokens, self.failed, self.rounds = 0, 0, 0

    async def one(self, number: int, end: float):
        while time.perf_counter() < end:
            body = {"prompt": "x", "max_tokens": 40, "temperature": 3, "seed": number, **self.fields[number % len(self.fields)]}
            reply = await ask(self.port, body)
            self.failed += int(reply.status != 200)
            if reply.status == 200:
                self.tokens += json.loads(reply.body)["usage"]["completion_tokens"]
            number += self.count

    async def run(self):
        end = time.perf_counter() + self.seconds
        self.rounds += 1
        await asyncio.gather(*(self.one(i, end) for i in range(self.count)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=8, help="of a round")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--threads", default="2")
    options = configure(parser)
    gaps: dict[str, list[float]] = {"alone": [], "cheap": [], "costly": []}
    with Server("--threads", options.threads, model=options.model) as server:
        come_first()
        clients = {"alone": None, "cheap": Clients(server.port, options.clients, CHEAP, options.seconds),
                   "costly": Clients(server.port, options.clients, COSTLY, options.seconds)}
        for _ in range(options.rounds):
            for name, each in clients.items():
                gaps[name] += asyncio.run(a_round(server.port, each, options.seconds))
    p99 = {}
    for name, times in gaps.items():
        cuts = statistics.quantiles(times, n=100)
        p99[name], each = cuts[98], clients[name]
        got = f"  the others {each.tokens / (each.rounds * each.seconds):.0f} tokens/s, {each.failed} refused" if each else ""
        print(f"{name:7} {len(times):6} tokens  p50 {cuts[49] * 1e3:6.2f}  p90 {cuts[89] * 1e3:6.2f}  p99 {cuts[98] * 1e3:6.2f}  "
              f"max {max(times) * 1e3:6.1f} ms{got}")
    print(f"p99 beside costly masks {p99['costly'] / p99['cheap']:.3f} of that beside cheap ones")
    return 0


if __name__ == "__main__":
    sys.exit(main())

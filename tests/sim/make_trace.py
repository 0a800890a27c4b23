#!/usr/bin/env python3
"""Writes tests/data/traces/conversations.jsonl: invented conversations in the form of published traces.

    make_trace.py FILE

A line is a request: milliseconds since the start, lengths in tokens, an id for each block of 512 tokens of the prompt; equal ids are
equal beginnings. 40 people come one after another, most with the same system prompt, and send what was said so far with each turn.
"""

import json
import random
import sys

BLOCK = 512
REQUESTS = 150


def conversations(draw: random.Random):
    next_id = iter(range(1, 1 << 30))
    systems = [[next(next_id) for _ in range(count)] for count in (1, 4)]
    for person in range(40):
        time = person * 3000 + draw.randrange(2000)
        blocks = list(draw.choice(systems)) if person % 5 else []
        for _ in range(draw.randint(2, 6)):
            blocks = blocks + [next(next_id) for _ in range(draw.randint(1, 5))]
            answer = draw.randint(20, 700)
            yield {"timestamp": time, "input_length": len(blocks) * BLOCK - draw.randrange(BLOCK - 1), "output_length": answer,
                   "hash_ids": blocks}
            # The last block was not full: with the next turn it is another one.
            blocks = blocks[:-1]
            time += 4000 + draw.randrange(30000)


def main() -> None:
    requests = sorted(conversations(random.Random(1)), key=lambda request: request["timestamp"])[:REQUESTS]
    if len(requests) < REQUESTS:
        sys.exit(f"only {len(requests)} requests")
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.writelines(json.dumps(request) + "\n" for request in requests)


if __name__ == "__main__":
    main()

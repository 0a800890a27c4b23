"""What a JSON Schema costs an answer, of any server that takes llama.cpp's field `json_schema` in /v1/completions.

    schema_speed.py URL SCHEMAS.jsonl [--schemas 60] [--tokens 48]

A measurement, no test: it wants a machine that does nothing else. SCHEMAS has an object a line with the member "schema"; every so
many-th of them is asked for, one request at a time, and before each the same request without a schema. Prints what became of them, the
time to the first token, and the time between tokens: median, 99th percentile and longest.
"""

import argparse
import collections
import http.client
import json
import statistics
import sys
import time
from urllib.parse import urlsplit

from agent_session import events_of

PROMPT = "An object as JSON:"
SECONDS = 120  # of an answer, at most


class Times:
    """Of all answers of one kind."""

    def __init__(self):
        self.first: list[float] = []
        self.gaps: list[float] = []
        self.outcomes = collections.Counter()

    def show(self, name: str):
        print(f"{name}: {dict(self.outcomes)}")
        for what, times in (("to the first token", self.first), ("between tokens", self.gaps)):
            if len(times) > 1:
                p99 = statistics.quantiles(times, n=100)[98]
                print(f"  {what:18} p50 {statistics.median(times) * 1e3:8.2f}  p99 {p99 * 1e3:8.2f}  longest {max(times) * 1e3:9.2f} ms"
                      f"  of {len(times)}")


def ask(url: str, body: dict, times: Times):
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    begin = time.perf_counter()
    last = None
    try:
        connection.request("POST", "/v1/completions", json.dumps({"stream": True, **body}), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            times.outcomes[str(reply.status)] += 1
            return
        for _ in events_of(reply):
            now = time.perf_counter()
            if last is None:
                times.first.append(now - begin)
            else:
                times.gaps.append(now - last)
            last = now
        times.outcomes["ended"] += 1
    except (TimeoutError, OSError, http.client.HTTPException) as error:
        times.outcomes[type(error).__name__] += 1
    finally:
        connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("schemas")
    parser.add_argument("--schemas", dest="count", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=48)
    options = parser.parse_args()
    with open(options.schemas, encoding="utf-8") as lines:
        schemas = [json.loads(line)["schema"] for line in lines]
    schemas = [schema for schema in schemas if isinstance(schema, dict) and schema]
    free, held = Times(), Times()
    for number, schema in enumerate(schemas[::max(1, len(schemas) // options.count)]):
        body = {"prompt": PROMPT, "max_tokens": options.tokens, "temperature": 1.0, "seed": number}
        ask(options.url, body, free)
        ask(options.url, {**body, "json_schema": schema}, held)
    free.show("without a schema")
    held.show("with one")
    return 0


if __name__ == "__main__":
    sys.exit(main())

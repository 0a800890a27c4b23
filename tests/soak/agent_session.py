"""What an agent waits for, turn by turn, at any server that speaks OpenAI's chat API.

    agent_session.py URL [--turns 20] [--system 4000] [--result 250] [--answer 16] [--model NAME] [--json FILE]

A measurement, no test: it wants a machine that does nothing else. One conversation grows by turns: instructions of --system words,
a task, then in each turn a call of a tool and its result of --result words. As agents do,

* it sends back what it made of an answer, not its tokens: thoughts are stripped, so the last page of each answer is of no use;
* every fifth turn it takes the last result back and sends another (an edit at the tail);
* every fourth turn a side question about all of it runs at the same time (a title, a summary), and comes to nothing.

Texts are drawn from a list of words, the same in each run, so two servers with the same model get the same tokens. Prints for each
turn the tokens of the prompt, those that the server says it had computed before (usage.prompt_tokens_details, or llama.cpp's
timings), the rest, and the time to the first token; the last line adds up.
"""

import argparse
import json
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass

WORDS = ("the a of to and in is that it for on with as by at from this be are or an not have was we can one all has which "
         "file line error test build function value name path list read write open close call return type class server "
         "client request answer token cache page layer model index number text word change branch commit merge").split()


@dataclass
class Turn:
    """What one request showed. Times in seconds."""
    kind: str
    prompt: int
    cached: int
    first_token: float

    @property
    def computed(self) -> int:
        return self.prompt - self.cached

    def line(self, number: int) -> str:
        return f"{number:4} {self.kind:6} {self.prompt:8} {self.cached:8} {self.computed:9} {self.first_token:9.3f}"


class Author:
    """Texts of an agent's conversation. The same numbers give the same texts."""

    def __init__(self, system: int, result: int) -> None:
        self._result = result
        self.messages = [{"role": "system", "content": self._words("system", system)},
                         {"role": "user", "content": self._words("task", 60)}]

    @staticmethod
    def _words(seed: str, count: int) -> str:
        draw = random.Random(seed)
        return " ".join(draw.choices(WORDS, k=count)) + "."

    def act(self, turn: int) -> None:
        """What the model is taken to have called, and what came of it."""
        self.messages.append({"role": "assistant", "content": "I call read_file. " + self._words(f"call {turn}", 20)})
        self.messages.append({"role": "user", "content": "Result: " + self._words(f"result {turn}", self._result)})

    def edit(self, turn: int) -> None:
        self.messages[-1] = {"role": "user", "content": "Result, again: " + self._words(f"edited {turn}", self._result)}

    def aside(self) -> list[dict]:
        return [*self.messages[:-1], {"role": "user", "content": "Give this conversation a title of three words."}]


def events_of(answer):
    for line in answer:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def cached_of(event: dict) -> int | None:
    if "cache_n" in event.get("timings", {}):
        return event["timings"]["cache_n"]
    return ((event.get("usage") or {}).get("prompt_tokens_details") or {}).get("cached_tokens")


def first_model(url: str) -> str:
    with urllib.request.urlopen(url + "/v1/models") as answer:
        return json.load(answer)["data"][0]["id"]


def ask(url: str, model: str, messages: list[dict], answer_tokens: int, kind: str) -> Turn:
    body = {"model": model, "messages": messages, "max_tokens": answer_tokens, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}, "cache_prompt": True}
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    begin, first, prompt, cached = time.monotonic(), None, 0, None
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        sys.exit(f"{url} answers {error.code}: {error.read().decode()}")
    with answer:
        for event in events_of(answer):
            delta = event["choices"][0] if event.get("choices") else {}
            text = delta.get("delta", {})
            if first is None and (text.get("content") or text.get("reasoning_content") or delta.get("finish_reason")):
                first = time.monotonic() - begin
            prompt = (event.get("usage") or {}).get("prompt_tokens", prompt)
            if (told := cached_of(event)) is not None:
                cached = told
    if first is None or cached is None:
        sys.exit(f"{url} gave no token, or does not say what it had cached")
    return Turn(kind, prompt, cached, first)


def run(options: argparse.Namespace) -> list[Turn]:
    author, turns = Author(options.system, options.result), []
    say = lambda kind, messages: turns.append(ask(options.url, options.model, messages, options.answer, kind))
    for number in range(1, options.turns + 1):
        aside = threading.Thread(target=say, args=("aside", author.aside())) if number % 4 == 0 else None
        if aside:
            aside.start()
        say("turn", author.messages)
        if aside:
            aside.join()
        if number % 5 == 0:
            author.edit(number)
            say("edit", author.messages)
        author.act(number)
    return turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--system", type=int, default=4000, help="words of the instructions")
    parser.add_argument("--result", type=int, default=250, help="words of what a tool gives")
    parser.add_argument("--answer", type=int, default=16, help="tokens of an answer")
    parser.add_argument("--model", metavar="NAME", help="default: the first that the server lists")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.url = options.url.rstrip("/")
    options.model = options.model or first_model(options.url)
    turns = run(options)
    print("turn kind     prompt   cached  computed  first token, s")
    for number, turn in enumerate(turns, 1):
        print(turn.line(number))
    warm = [turn.first_token for turn in turns[1:]]
    print(f"computed {sum(turn.computed for turn in turns)} of {sum(turn.prompt for turn in turns)}; behind the first turn the first "
          f"token took {sorted(warm)[len(warm) // 2]:.3f} s (median), {max(warm):.3f} s (most), {sum(warm):.1f} s (in all)")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([asdict(turn) for turn in turns], file, indent=1)


if __name__ == "__main__":
    main()

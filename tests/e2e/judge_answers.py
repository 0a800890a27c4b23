"""Answers of models that are held to schemas, judged by python3-jsonschema.

    judge_answers.py SCHEMAS.jsonl SKALD SOURCE [--answers 20] [--tokens 400]

By hand: SCHEMAS has an object a line with the member "schema", perhaps "instances" as the recorded ones have. Each schema that the
server takes gets so many answers of the bundled model and of one with random weights, drawn with temperature 1 through the whole
server. An answer that ended by itself has to be valid, no key twice, and none of the instances that are to be refused.
"""

import argparse
import collections
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "promises")]
import gguf_reader  # noqa: E402  the path is set above
from judge_schemas import reason  # noqa: E402
from jsonschema import Draft202012Validator  # noqa: E402
from skald_server import Server, Setup, configure, post  # noqa: E402

AT_ONCE = 16  # the most choices of a request


def write_random_model(path: str):
    """The bundled model with noise for its matrices: small numbers, so that every token is about as likely."""
    keys, tensors = gguf_reader.read(Setup.model)
    for tensor in tensors:
        if tensor.kind == 8:  # Q8_0: a scale, and 32 numbers
            noise = os.urandom(len(tensor.data))
            tensor.data = b"".join(b"\x00\x10" + noise[at + 2:at + 34] for at in range(0, len(noise), 34))
    gguf_reader.write(path, keys, tensors)


class Judge:
    """What became of all answers of one model."""

    def __init__(self):
        self.counts = collections.Counter()
        self.wrong: list[str] = []

    def judge(self, case: dict, choice: dict):
        text = choice["text"]
        if choice["finish_reason"] != "stop":
            self.counts["cut"] += 1
            return
        self.counts["judged"] += 1
        if any(text == instance.get("text") for instance in case.get("instances", []) if instance["expect"] == "reject"):
            self.wrong.append(f"{case.get('id')}: to be refused: {text!r}")
        try:
            if wrong := reason(Draft202012Validator(case["schema"]), text):
                self.wrong.append(f"{case.get('id')}: {wrong}")
        except RecursionError:  # the validator's
            self.counts["too deep for the validator"] += 1

    def ask(self, server: Server, case: dict, options):
        for number in range(0, options.answers, AT_ONCE):
            reply = server.exchange(post("/v1/completions", {
                "prompt": "Once upon a time", "max_tokens": options.tokens, "n": min(AT_ONCE, options.answers - number), "seed": number,
                "guided_json": case["schema"]}))
            if reply.status != 200:
                self.counts[f"requests answered {reply.status}"] += 1
                return
            for choice in reply.json()["choices"]:
                self.judge(case, choice)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("schemas")
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=400)
    options = configure(parser)
    with open(options.schemas, encoding="utf-8") as lines:  # of newlines only: a schema may have others in it
        cases = [json.loads(line) for line in lines]
    # Others are no schemas; null and [] say in a body that there is none.
    cases = [case for case in cases if isinstance(case["schema"], (dict, bool))]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        write_random_model(f"{folder}/random.gguf")
        for name, model in (("bundled", Setup.model), ("random", f"{folder}/random.gguf")):
            judge = Judge()
            with Server("--parallel", str(AT_ONCE), model=model) as server:
                for case in cases:
                    judge.ask(server, case, options)
            print(f"{name}: {dict(judge.counts)}, {len(judge.wrong)} wrong")
            print(*judge.wrong[:20], sep="\n")
            failed += len(judge.wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

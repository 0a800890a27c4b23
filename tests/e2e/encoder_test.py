"""skald serve with a model that reads texts both ways: it embeds them, and refuses to generate.

    encoder_test.py SKALD SOURCE --model FILE          golden/bert.gguf of the build
"""

import argparse
import asyncio
import math
import subprocess
import sys
import unittest

import skald_server
from skald_server import Server, Setup, ask, post

WHY = "this model embeds texts; it does not generate"
# Tokens of the model: letters, which it was not trained on.
TEXTS = ["a", "the", "in the an", "ab " * 20, "theater " * 6]


def embeddings(texts: list[str]) -> dict:
    return {"input": texts}


class Encoder(unittest.TestCase):
    def test_vectors_are_the_same_alone_together_and_by_the_command(self):
        with Server("--parallel", "3") as server:
            together = server.exchange(post("/v1/embeddings", embeddings(TEXTS))).json()
            self.assertEqual(together["pooling"], "first")
            vectors = [entry["embedding"] for entry in together["data"]]
            self.assertEqual(len(vectors), len(TEXTS))
            for text, vector in zip(TEXTS, vectors):
                self.assertEqual(len(vector), 64)
                self.assertAlmostEqual(math.hypot(*vector), 1, places=5)
                alone = server.exchange(post("/v1/embeddings", embeddings([text]))).json()
                self.assertEqual(alone["data"][0]["embedding"], vector, text)
                self.assertEqual(alone["usage"]["prompt_tokens"], alone["usage"]["total_tokens"])
            self.assertEqual(len({tuple(vector) for vector in vectors}), len(TEXTS))
            # Nothing of them is kept.
            self.assertEqual(server.settle()["pages"]["cached"], 0)
        said = subprocess.run([Setup.binary, "embed", "-m", Setup.model, "-t", "1", TEXTS[3]],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual([float(number) for number in said.split()], vectors[3])

    def test_many_clients_at_once_get_what_each_gets_alone(self):
        async def all_of(port: int) -> list:
            return await asyncio.gather(*(ask(port, embeddings([text]), path="/v1/embeddings")
                                          for text in TEXTS * 8))

        with Server("--parallel", "4", "--kv-positions", "192") as server:
            alone = [server.exchange(post("/v1/embeddings", embeddings([text]))).json()["data"] for text in TEXTS]
            found = [reply.json()["data"] for reply in asyncio.run(all_of(server.port))]
            self.assertEqual(found, alone * 8)

    def test_generation_is_refused_with_the_reason(self):
        with Server() as server:
            for path, fields in (("/v1/completions", {"prompt": "the"}),
                                 ("/v1/completions", {"prompt": "the", "stream": True}),
                                 ("/v1/completions", {"prompt": "the", "n": 2, "best_of": 3}),
                                 ("/v1/chat/completions", {"messages": [{"role": "user", "content": "the"}]})):
                reply = server.exchange(post(path, fields))
                self.assertEqual(reply.status, 400, path)
                self.assertIn(WHY, reply.error()["message"])
            self.assertEqual(server.exchange(post("/v1/embeddings", embeddings(["the"]))).status, 200)

    def test_a_text_longer_than_the_context_is_refused_with_the_numbers(self):
        with Server("-c", "40") as server:
            self.assertEqual(server.exchange(post("/v1/embeddings", {"input": [[5] * 40]})).status, 200)
            reply = server.exchange(post("/v1/embeddings", {"input": [[5] * 41]}))
            self.assertEqual(reply.status, 400)
            self.assertIn("41 tokens, expected at most 40", reply.error()["message"])

    def test_the_commands_that_generate_say_so(self):
        for words in (["run", "-n", "2", "the"], ["logits", "--tokens", "1,2", "--out", "/dev/null"]):
            done = subprocess.run([Setup.binary, words[0], "-m", Setup.model, *words[1:]], capture_output=True,
                                  text=True, check=False, stdin=subprocess.DEVNULL)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(WHY, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    Setup.model = skald_server.configure(parser).model
    unittest.main(argv=sys.argv[:1])

"""/openapi.json against the server: its routes are those there are, and answers are as it says.

    openapi_test.py SKALD SOURCE                       needs python3-jsonschema
"""

import argparse
import re
import sys
import unittest

from jsonschema import Draft202012Validator

import skald_server
from skald_server import Server, head, post

SAID = [{"role": "user", "content": "x"}]
# A request for each route that generates or embeds, which it takes, and one that neither it nor its schema does.
ASKED = {
    "/v1/completions": ({"prompt": "x", "max_tokens": 2, "mirostat": 2}, {"prompt": "x", "temperature": 101}),
    "/v1/chat/completions": ({"messages": SAID, "max_tokens": 2, "n": 2}, {"messages": []}),
    "/v1/embeddings": ({"input": ["x", "y"]}, {"input": 7}),
    "/v1/responses": ({"input": "x", "max_output_tokens": 2}, {"max_output_tokens": 2}),
    "/v1/messages": ({"messages": SAID, "max_tokens": 2}, {"messages": SAID, "max_tokens": 0}),
    "/v1/messages/count_tokens": ({"messages": SAID}, {"messages": []}),
    "/api/chat": ({"messages": SAID, "stream": False, "options": {"num_predict": 2}}, {"messages": 7}),
    "/api/generate": ({"prompt": "", "stream": False}, {"prompt": 7}),
    "/api/embed": ({"input": "x"}, {"prompt": "x"}),
    "/api/embeddings": ({"prompt": "x"}, {"prompt": 7}),
    "/infill": ({"input_prefix": "x", "input_suffix": "y", "n_predict": 2}, {"input_prefix": "x"}),
    "/api/show": ({}, {"model": 7}),
    "/tokenize": ({"content": "x"}, {"content": 7}),
    "/detokenize": ({"tokens": [5]}, {"tokens": [-1]}),
}
# The model of these tests does not rank, and has no tokens for gaps.
UNASKED = {"/infill", "/v1/rerank", "/v2/rerank", "/rerank", "/v1/score", "/score"}


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.document = cls.server.get("/openapi.json").json()

    def validator(self, name: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": self.document["components"]})

    def named(self, content: dict) -> str:
        return content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]

    def test_the_routes_are_those_that_the_server_names(self):
        message = self.server.get("/nothing").error()["message"]
        with_body, without = message.split("; there are POST ")[1].split(" and GET ")
        for method, said in (("post", with_body), ("get", without)):
            paths = {path for path, ways in self.document["paths"].items() if method in ways}
            self.assertEqual(paths, set(re.split(", ", said)), method)

    def test_a_route_takes_its_method_only(self):
        for path, ways in self.document["paths"].items():
            path = path.replace("{id}", "tales")
            other = "GET" if "post" in ways else "DELETE"
            self.assertEqual(self.server.exchange(head(other, path)).status, 405, path)

    def test_schemas_are_schemas(self):
        for name, schema in self.document["components"]["schemas"].items():
            Draft202012Validator.check_schema(schema)
            self.assertTrue(schema, name)

    def test_answers_are_as_it_says(self):
        for path, ways in self.document["paths"].items():
            way = ways.get("post") or ways["get"]
            content = way["responses"]["200"]["content"]
            if path in UNASKED or "application/json" not in content:
                continue
            reply = self.server.exchange(post(path, ASKED[path][0])) if "post" in ways else self.server.get(
                path.replace("{id}", "tales"))
            with self.subTest(path):
                self.assertEqual(reply.status, 200, reply.body)
                self.validator(self.named(content)).validate(reply.json())

    def test_requests_are_refused_by_schema_and_server(self):
        for path, (good, bad) in ASKED.items():
            schema = self.validator(self.named(self.document["paths"][path]["post"]["requestBody"]["content"]))
            with self.subTest(path):
                self.assertTrue(schema.is_valid(good))
                self.assertFalse(schema.is_valid(bad))
                reply = self.server.exchange(post(path, bad))
                self.assertEqual(reply.status, 400)
                self.validator("Error").validate(reply.json())


if __name__ == "__main__":
    skald_server.configure(argparse.ArgumentParser(description=__doc__))
    unittest.main(argv=sys.argv[:1])

"""Calls that models are held to, in every format, judged by python3-jsonschema.

    judge_calls.py CALL_WALKS [ROUNDS]

CALL_WALKS writes random answers through the masks of tools with the schemas below, and reads them as the server does. The
arguments of each call have to be JSON that its schema takes. ROUNDS of each tool and format: one takes two seconds, 1000 half an
hour.
"""

import collections
import json
import subprocess
import sys
import unittest

from jsonschema import Draft202012Validator

STRING = {"type": "string"}
# Tools by what is hard in them.
TOOLS = [
    {"properties": {"code": STRING, "n": {"type": "integer"}}, "required": ["code"], "additionalProperties": False},
    {"properties": {}, "additionalProperties": False},
    {"properties": {"a": {"type": "string", "minLength": 2, "maxLength": 5}, "b": {"type": "string", "pattern": "^<?/[a-c]+$"}},
     "required": ["a"], "additionalProperties": False},
    {"properties": {"a": {"type": ["string", "null"], "maxLength": 4},
                    "b": {"enum": ["x", "null", "</parameter>", "a\"b\\", None]}},
     "additionalProperties": False},
    {"properties": {"a": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
                    "b": {"type": ["string", "null"], "allOf": [STRING], "maxLength": 6},
                    "c": {"type": ["string", "null"], "allOf": [STRING], "pattern": "^(null|xy)$"}},
     "required": ["c"], "minProperties": 2},
    {"properties": {"list": {"type": "array", "maxItems": 3,
                             "items": {"type": "object", "properties": {"old": STRING, "on": {"type": "boolean"}},
                                       "required": ["old"], "additionalProperties": False}}},
     "required": ["list"], "additionalProperties": False},
    {"properties": {"any": {}, "flag": {"type": "boolean"}, "none": {"type": "null"}, "x": {"type": "number", "minimum": 0}},
     "required": ["any"], "additionalProperties": False},
    {"properties": {"a": STRING, "ab": {"type": "integer"}, "abc": STRING}, "required": ["ab"], "additionalProperties": False},
    {"properties": {"a": STRING}, "additionalProperties": {"type": "integer"}, "maxProperties": 3, "minProperties": 1},
    {"properties": {"map": {"type": "object", "additionalProperties": {"enum": [1, "</x", True]}, "maxProperties": 2},
                    "key>\":": {"type": "integer"}}, "additionalProperties": False, "required": ["map"]},
    {"properties": {"day": {"type": "string", "format": "date"}, "deep": {"$ref": "#/$defs/node"}}, "required": ["day"],
     "additionalProperties": False,
     "$defs": {"node": {"type": "object", "properties": {"k": {"const": "<|\"|>"}, "next": {"$ref": "#/$defs/node"}},
                        "additionalProperties": False}}},
    {"properties": {"a": {"type": "integer"}}, "required": ["a", "b"], "patternProperties": {"^x": STRING},
     "additionalProperties": {"type": "boolean"}, "maxProperties": 4},
]
ROUNDS = 1


def types(schema):
    """Those that the server finds in a schema (src/server/chat_tools.cc)."""
    if "type" in schema:
        found = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    else:
        found = ["string" if isinstance(value, str) else "null" if value is None else "value" for value in schema.get("enum", [])]
    for name in "anyOf", "oneOf", "allOf":
        for one in schema.get(name, []):
            found = found + sorted(types(one))
    return set(found)


def kind(schema):
    found = types(schema)
    if not found:
        return "any"
    if "string" not in found:
        return "value"
    return {1: "string", 2: "string or null"}.get(len(found), "any") if found <= {"string", "null"} else "any"


def reason(found):
    """Why a call is wrong; None if it is not."""
    if "error" in found:
        # A key that a format cannot spell may not be asked for; no other tool of these is refused.
        return found["error"]
    try:
        arguments = json.loads(found["arguments"], object_pairs_hook=no_doubles)
    except ValueError as error:
        return f"{error}: {found['arguments']!r}"
    error = next(iter(Draft202012Validator({"type": "object", **TOOLS[found["tool"]]}).iter_errors(arguments)), None)
    return error and f"{error.message}: {found['arguments']!r}"


def no_doubles(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


class Calls(unittest.TestCase):
    def test_all_are_valid(self):
        lines = "".join(json.dumps({"schema": {"type": "object", **tool},
                                    "kinds": {name: kind(schema) for name, schema in tool["properties"].items()}}) + "\n"
                        for tool in TOOLS)
        done = subprocess.run([PROGRAM, str(ROUNDS)], input=lines, capture_output=True, text=True, check=True)
        judged = collections.Counter()
        # Not splitlines, which takes U+2028 and others for ends of lines: texts hold them.
        for line in done.stdout.removesuffix("\n").split("\n"):
            found = json.loads(line)
            self.assertIsNone(reason(found), f"{found['format']}, tool {found['tool']}: {reason(found)}")
            judged[found["format"], found["tool"]] += 1
        # A mask that lets a text go on behind its end leads to no end at all.
        formats = {form for form, _ in judged}
        self.assertEqual(len(formats), 23)
        for form in formats:
            for tool in range(len(TOOLS)):
                self.assertGreaterEqual(judged[form, tool], 1, f"{form}, tool {tool}")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if len(sys.argv) > 1:
        ROUNDS = int(sys.argv.pop(1))
    unittest.main()

"""Texts that models are held to by schemas, judged by python3-jsonschema.

    judge_schemas.py SCHEMA_WALKS [WALKS [SCHEMAS.jsonl]]

SCHEMA_WALKS writes random texts through the masks of the schemas below, or of those in SCHEMAS.jsonl, {"schema": ...} a line.
Each has to be JSON that its schema takes, without a key twice. WALKS of each schema are begun; not each comes to an end.
"""

import collections
import json
import subprocess
import sys
import unittest

from jsonschema import Draft202012Validator

# By what is hard in them.
SCHEMAS = [
    True,
    {"type": "object", "required": ["b"], "additionalProperties": False,
     "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "integer", "minimum": -7, "maximum": 12}}},
    {"type": "object", "propertyNames": {"minLength": 1, "maxLength": 2}, "minProperties": 1, "maxProperties": 3,
     "additionalProperties": {"type": ["boolean", "null"]}},
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "boolean"},
     "minProperties": 1, "maxProperties": 2},
    {"type": "array", "prefixItems": [{"enum": ["a", 1, None]}], "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    {"type": "string", "pattern": "^[a-c]{2,4}(x|yz)?$"},
    {"type": "string", "pattern": "b+c", "maxLength": 9},
    {"type": "number", "exclusiveMinimum": 0.5, "maximum": 20},
    {"type": "integer", "multipleOf": 7, "minimum": 100},
    {"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]},
               {"properties": {"b": {"const": "\"\\\u00e9"}}, "required": ["b"]}], "type": "object"},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": "p"}, "v": {"type": "integer"}}, "required": ["k", "v"]},
               {"type": "object", "properties": {"k": {"const": "q"}}, "required": ["k"], "maxProperties": 2}]},
    {"$ref": "#/$defs/node",
     "$defs": {"node": {"type": "object", "properties": {"n": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                        "required": ["n"], "additionalProperties": False}}},
]
WALKS = 20
PATH = None


def no_doubles(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def reason(validator, text):
    """Why a text is wrong; None if it is not."""
    try:
        error = next(iter(validator.iter_errors(json.loads(text, object_pairs_hook=no_doubles))), None)
    except ValueError as said:
        return f"{said}: {text!r}"
    return error and f"{error.message}: {text!r}"


class Schemas(unittest.TestCase):
    def test_all_texts_are_valid(self):
        if PATH:
            with open(PATH, encoding="utf-8") as file:
                schemas = [json.loads(line)["schema"] for line in file]
        else:
            schemas = SCHEMAS
        validators = {}  # of schemas that are taken: some of those recorded are no schemas at all
        judged = collections.Counter()
        beyond = collections.Counter()
        with subprocess.Popen([PROGRAM, str(WALKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as walks:
            walks.stdin.write("".join(json.dumps({"schema": schema}) + "\n" for schema in schemas).encode())
            walks.stdin.close()
            for line in walks.stdout:
                found = json.loads(line)
                number = found["schema"]
                try:
                    validator = validators.get(number) or Draft202012Validator(schemas[number])
                    validators[number] = validator
                    wrong = reason(validator, found["text"])
                except RecursionError:  # the validator's: schemas in schemas, texts in texts
                    beyond[number] += 1
                    continue
                self.assertIsNone(wrong, f"schema {number}: {wrong}")
                judged[number] += 1
        self.assertEqual(walks.returncode, 0)
        print(f"{judged.total()} texts of {len(judged)} schemas; {beyond.total()} too deep for the validator")
        if not PATH:
            self.assertEqual(len(judged), len(SCHEMAS))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if len(sys.argv) > 1:
        WALKS = int(sys.argv.pop(1))
    if len(sys.argv) > 1:
        PATH = sys.argv.pop(1)
    unittest.main()

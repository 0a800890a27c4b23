"""Abuse of what agents use: schemas, expressions, grammars, tools, and the routes that take them (abuse_test.py).

H93 hostile schemas, H94 expressions and grammars, each by several of the doors that lead to the compiler; H95 tools; H96 streams
that are left, and a flood of compiling; H97 choices, and marks that contradict each other; H98 pairs of texts; H99 every field of the
new routes with every kind of value. Most are for a server whose model calls tools and fills gaps (write_model): the bundled one
has no tokens and no template for that, and would refuse them unread.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from abuse_case import CHAT, KEY, TEXT, case
from skald_server import Server, Setup, Wire, ask, post

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import gguf_reader  # noqa: E402  the path is set above

SAID = [{"role": "user", "content": "x"}]
TEMPLATE = ('{# Hermes: <tool_call>"arguments"</tool_call> <think></think> #}{{ bos_token }}{{ (tools or []) | length }}'
            "{% for m in messages %}<|user|>{{ m.content or '' }}{{ (m.tool_calls or []) | length }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")


def write_model(path: str):
    """The bundled model, with a template that takes tools and marks for gaps."""
    keys, tensors = gguf_reader.read(Setup.model)
    keys["tokenizer.chat_template"] = TEMPLATE
    keys |= {f"tokenizer.ggml.fim_{name}_token_id": i + 1 for i, name in enumerate(("pre", "suf", "mid"))}
    gguf_reader.write(path, keys, tensors)


def agents(number: str, what: str, data: bytes, *statuses: int):
    case(number, what, data, *statuses, server="agents")


# Where a schema may stand: the route, and the body with @ in its place.
SCHEMA_DOORS = {
    "response_format": (CHAT, {"messages": SAID, "max_tokens": 2,
                               "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": "@"}}}),
    "strict tool": (CHAT, {"messages": SAID, "max_tokens": 2, "tool_choice": "required",
                           "tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": "@"}}]}),
    "structured_outputs": (TEXT, {"prompt": "x", "max_tokens": 2, "structured_outputs": {"json": "@"}}),
    "text.format": ("/v1/responses", {"input": "x", "max_output_tokens": 2,
                                      "text": {"format": {"type": "json_schema", "name": "x", "schema": "@"}}}),
    "input_schema": ("/v1/messages", {"messages": SAID, "max_tokens": 2, "tool_choice": {"type": "any"},
                                      "tools": [{"name": "f", "input_schema": "@"}]}),
    "format": ("/api/chat", {"messages": SAID, "options": {"num_predict": 2}, "format": "@"}),
    "json_schema of a gap": ("/infill", {"input_prefix": "x", "input_suffix": "y", "n_predict": 2, "json_schema": "@"}),
    "output_config": ("/v1/messages", {"messages": SAID, "max_tokens": 2,
                                       "output_config": {"format": {"type": "json_schema", "schema": "@"}}}),
    "guided_json": (TEXT, {"prompt": "x", "max_tokens": 2, "guided_json": "@"}),
    "tool of responses": ("/v1/responses", {"input": "x", "max_output_tokens": 2, "tool_choice": "required",
                                            "tools": [{"type": "function", "name": "f", "strict": True, "parameters": "@"}]}),
}


def through(number: str, doors: dict, turn: int, what: str, literal: str, *statuses: int):
    """By three of the doors, beginning with number `turn`: @ becomes `literal`, JSON or not."""
    names = list(doors)
    for name in (names[(turn + step) % len(names)] for step in (0, 1, 4)):
        route, body = doors[name]
        agents(number, f"{what}: {name}", post(route, json.dumps(body).replace('"@"', literal).encode()), *statuses)


def a_property(schema, **more) -> dict:
    """All doors take an object at the root."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **more}


def doubling(levels: int) -> dict:
    """Each definition is one of two, both of which are the next one."""
    chain = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return a_property({"$ref": "#/$defs/d0"}, **{"$defs": {**chain, f"d{levels}": {"type": "null"}}})


def nested(levels: int, member: str) -> dict:
    schema = {"type": "null"}
    for _ in range(levels):
        schema = {member: schema}
    return a_property(schema)


# Compiled or refused within the bounds: that of refusals, and that all others are served.
EITHER_SCHEMAS = {
    "references that double 40 times": doubling(40),
    "choices multiplied": a_property({"allOf": [{"anyOf": [{"minimum": 1}, {"maximum": 5}, {}]}] * 40}),
    "a key of 200,000 letters": {"type": "object", "properties": {"x" * 200_000: {}}, "required": ["x" * 200_000]},
    "an expression of subsets": a_property({"type": "string", "pattern": "^(a|b)*a(a|b){300}$"}),
    "expressions multiplied": a_property({"allOf": [{"type": "string", "pattern": f"a.{{9}}b{i}"} for i in range(30)]}),
    "kinds of keys that overlap": {"type": "object", "patternProperties": {f"{c}.{{12}}$": {} for c in "abcdef"}},
    "a thousand million letters": a_property({"type": "string", "minLength": 3, "maxLength": 10**9, "pattern": "^[a-z]+$"}),
    "4,000 keys that must come": {"type": "object", "required": [f"k{i}" for i in range(4_000)]},
    "4,000 properties, the last required": {"type": "object", "properties": {f"k{i}": {"type": "string"} for i in range(4_000)},
                                            "required": ["k3999"], "additionalProperties": False},
    "3,000 choices of objects": a_property({"anyOf": [{"type": "object", "required": [f"k{i}"]} for i in range(3_000)]}),
    "a product of remainders": a_property({"type": "integer", "multipleOf": 997, "minimum": 12_345_678_901}),
    "fractions of 450 digits": json.loads('{"type":"object","properties":{"a":{"type":"number","minimum":0.%s}}}' % ("12345678" * 2)),
    "5,000 values of 40 letters": a_property({"enum": [f"{i:040}" for i in range(5_000)]}),
}
REFUSED_SCHEMAS = {
    "5,001 values": a_property({"enum": list(range(5_001))}),
    "5,001 properties": {"type": "object", "properties": {f"k{i}": {} for i in range(5_001)}},
    "260 KiB": a_property({"const": "x" * (260 << 10)}),
    "no text at all": a_property({"$ref": "#"}),
    "an empty range": a_property({"type": "integer", "minimum": 5, "maximum": 4}),
    "references in circles": a_property({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
    "a reference to nothing": a_property({"$ref": "#/$defs/~2/%ff"}),
    "a reference to a host": a_property({"$ref": "http://169.254.169.254/schema"}),
    "what is not": nested(50, "not"),
    "an expression that looks ahead": a_property({"type": "string", "pattern": "(?=a)b"}),
    "16 KiB of expression": a_property({"type": "string", "pattern": "a" * (17 << 10)}),
    "10,000,001 letters at least": a_property({"type": "string", "minLength": 10_000_001}),
    "an unknown keyword": a_property({"maxLenght": 5}),
    "unique items": a_property({"type": "array", "uniqueItems": True}),
    "a type of number": a_property({"type": 7}),
    "a type that is none": a_property({"type": ["string", "text"]}),
    "required of text": a_property({"type": "object", "required": "a"}),
    "properties of a list": a_property({"properties": []}),
    "values of an object": a_property({"enum": {}}),
    "no choices": a_property({"anyOf": []}),
    "choices of an object": a_property({"anyOf": {}}),
    "an expression of number": a_property({"pattern": 5}),
    "bounds of text": a_property({"minimum": "1"}),
    "multiples of nothing": a_property({"multipleOf": 0}),
    "a negative length": a_property({"maxLength": -1}),
    "half a length": a_property({"minItems": 0.5}),
    "additional of number": a_property({"type": "object", "additionalProperties": 7}),
    "a reference of number": a_property({"$ref": 7}),
    "definitions of a list": a_property({"$ref": "#/$defs/0"}, **{"$defs": [{}]}),
    "items of old": a_property({"type": "array", "items": [{}, {}]}),
}
# Not JSON, or no JSON that a reader takes: the text stands in the place of the schema.
BROKEN_SCHEMAS = {
    "half a schema": '{"type":"object","properties":{"a"',
    "a keyword twice": '{"type":"object","type":"object"}',
    "a lone surrogate": r'{"type":"object","properties":{"\ud800":{}}}',
    "a number without end": '{"type":"object","minProperties":1%s}' % ("0" * 100_000),
    "20,000 deep": '{"items":' * 20_000 + "{}" + "}" * 20_000,
}


def schema_cases():
    for turn, (what, schema) in enumerate(EITHER_SCHEMAS.items()):
        through("H93", SCHEMA_DOORS, turn, what, json.dumps(schema), 200, 400)
    for turn, (what, schema) in enumerate(REFUSED_SCHEMAS.items()):
        through("H93", SCHEMA_DOORS, turn, what, json.dumps(schema))
    for turn, (what, text) in enumerate(BROKEN_SCHEMAS.items()):
        through("H93", SCHEMA_DOORS, 2 * turn, what, text)


def grammar_cases():
    said = {"prompt": "x", "max_tokens": 2}
    gap = {"input_prefix": "x", "input_suffix": "y", "n_predict": 2}
    regex = {"regex": (TEXT, {**said, "structured_outputs": {"regex": "@"}}),
             "guided_regex": (CHAT, {"messages": SAID, "max_tokens": 2, "guided_regex": "@"})}
    for turn, (expression, *statuses) in enumerate((
            ("(a?){5000}a{5000}", 200, 400), ("((((a{0,99}){0,99}){0,99}){0,99})", 200, 400), ("(a+)+(b+)*$", 200),
            ("[^a]*a([^b]|c){5000}", 200, 400), ("(" * 8_000 + ")" * 8_000, 400), ("(ab?c?){1000000000}", 200, 400),
            ("a{1000000001}", 400), ("a{3,2}", 400), ("(?<=a)b", 400), (r"(a)\1", 400), ("[z-a]", 400), (r"\p{L}", 400), ("[", 400),
            ("a" * (17 << 10), 400), ("[^\\u0000-\\u{10ffff}]", 400), ("(^|$)*" * 2_500, 200, 400))):
        through("H94", regex, turn, f"expression {expression[:30]!r}", json.dumps(expression), *statuses)
    gbnf = {"grammar": (TEXT, {**said, "grammar": "@"}), "grammar of a gap": ("/infill", {**gap, "grammar": "@"}),
            "guided_grammar": (CHAT, {"messages": SAID, "max_tokens": 2, "guided_grammar": "@"})}
    for turn, (grammar, *statuses) in enumerate((
            ('root ::= root root | "a" | ""', 200), ("root ::= x", 400), ('root ::= "a', 400), ('root ::= "a"\nroot ::= "b"', 400),
            ("root ::= " + "e " * 50_000 + '\ne ::= e e e | "" | "x"', 200, 400), ("root ::= " + '("a"?)* ' * 20_000, 200, 400),
            ("root ::= r0" + "".join(f"\nr{i} ::= r{i + 1}" for i in range(10_001)), 400), ("root ::= " + "x" * 300_000, 400),
            ("root ::= <[99999999]>", 400), ("root ::= <[5]>", 400), ("root ::= <[" + "9" * 100 + "]>", 400), ("root ::= <|end|>", 400),
            ('root ::= "a"{1000000001}', 400), ("root ::= [", 400), ("root ::= " + "(" * 65 + '"a"' + ")" * 65, 400),
            ("root ::= " + "(" * 60 + '"a"' + "){3}" * 60, 400), ("::=", 400), ("root ::= root", 400))):
        through("H94", gbnf, turn, f"grammar {grammar[:30]!r}", json.dumps(grammar), *statuses)
    for what, choices in (("1,001", ["x"] * 1_001), ("none", []), ("of numbers", [1]), ("nested", [["x"]]), ("an object", {"a": 1}),
                          ("of megabytes", ["x" * 300_000] * 5)):
        # Of the older field an empty list says no.
        agents("H97", f"guided_choice: {what}", post(TEXT, {**said, "guided_choice": choices}), 400 if choices else 200)
        agents("H97", f"choices: {what}", post(CHAT, {"messages": SAID, "structured_outputs": {"choice": choices}}))
    for more in ({"regex": "a", "json": {}}, {"whitespace_pattern": "x"}, {"structural_tag": {}}, {"json": 7}, {"choice": None, "json": []},
                 {"json_object": "yes"}, {"disable_any_whitespace": 7}, {"x" * 100_000: True}):
        agents("H97", f"structured_outputs {json.dumps(more)[:40]}", post(TEXT, {**said, "structured_outputs": more}))


def tool(name="f", schema=None, **more) -> dict:
    return {"type": "function", "function": {"name": name, "parameters": schema or {"type": "object"}, **more}}


def called(what: str, tools, *statuses: int, **more):
    agents("H95", f"tools: {what}", post(CHAT, {"messages": SAID, "max_tokens": 2, "tools": tools, **more}), *statuses)


def tool_cases():
    called("128 of 39 arguments", [tool(f"f{i}", {"properties": {f"a{j}": {} for j in range(39)}}) for i in range(128)], 200)
    called("5,001 arguments together", [tool(f"f{i}", {"properties": {f"a{j}": {} for j in range(40)}}) for i in range(126)],
           200, 400, tool_choice="required")
    called("129", [tool(f"f{i}") for i in range(129)])
    called("names of 128 letters that differ in the last", [tool("f" * 125 + f"{i:03}") for i in range(128)], 200, tool_choice="required")
    called("a name of 129 letters", [tool("f" * 129)])
    called("a name of 1 MB", [tool("f" * 1_000_000)])
    called("a name that is a marker", [tool("</tool_call>")])
    called("a name of control characters", [tool("f\u0000\n")])
    called("the same name twice", [tool(), tool()])
    called("1 MiB and more of words", [tool(f"f{i}", description="x" * 9_000) for i in range(128)])
    called("words of a template", [tool(description="{{ raise_exception('x') }}{% for i in range(1e9) %}")], 200)
    called("words that are marks", [tool(description="<|end|></tool_call><|im_start|>")], 200)
    called("bombs in each of 128", [tool(f"f{i}", a_property({"type": "string", "pattern": f"^(a|b)*a(a|b){{{200 + i}}}$"}))
                                    for i in range(128)], 200, 400, tool_choice="required")
    called("a recursion without end", [tool("f", {**a_property({"$ref": "#"}), "$defs": {}}, strict=True)])
    called("what cannot be kept, strict", [tool("f", {"type": "object", "uniqueItems": True, "not": {}}, strict=True)])
    called("what cannot be kept, a call must come", [tool("f", {"type": "object", "not": {}})], tool_choice="required")
    called("what cannot be kept, named", [tool("f", {"type": "object", "not": {}})], 200)
    called("strict that is text", [tool("f", strict="yes")])
    called("parameters of a list", [{"type": "function", "function": {"name": "f", "parameters": []}}])
    called("an argument of every type at once", [tool("f", a_property({"type": ["string", "null", "object", "array", "integer", "number",
                                                                                "boolean"], "enum": [None, 1, "a", [], {}]}))], 200, 400)
    for what, choice in (("none of that name", {"type": "function", "function": {"name": "g"}}), ("no name", {"type": "function"}),
                         ("of 1 MB", "x" * 1_000_000), ("deep", {"type": {"type": {}}}), ("a list", ["auto"]), ("a number", 1),
                         ("none of them allowed", {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}),
                         ("others allowed", {"type": "allowed_tools", "allowed_tools":
                                             {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}})):
        called(f"choice: {what}", [tool()], tool_choice=choice)
    called("required of none", [], tool_choice="required")
    called("old and new names", [tool()], functions=[{"name": "g"}])
    called("parallel of text", [tool()], parallel_tool_calls="no")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "assistant", "content": None, "tool_calls": [call] * 128}, {"role": "tool", "tool_call_id": "c", "content": "y"}]
    agents("H95", "tools: 200 turns of calls", post(CHAT, {"messages": (turns + SAID) * 200, "max_tokens": 2, "tools": [tool()]}), 200, 400)
    agents("H95", "tools: arguments that end a call", post(CHAT, {"messages": [
        {"role": "assistant", "content": None, "tool_calls": [
            {**call, "function": {"name": "f", "arguments": '{"a":"</tool_call><|end|>"}'}}]}, *SAID], "max_tokens": 2}), 200)
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    for what, content in (("a result of no call", [{"type": "tool_result", "tool_use_id": "z", "content": "x"}]),
                          ("a result twice", [{"type": "tool_result", "tool_use_id": "c"}] * 2),
                          ("1,025 blocks", [{"type": "text", "text": "x"}] * 1_025)):
        agents("H95", f"messages: {what}", post("/v1/messages", {"max_tokens": 2, "messages": [
            {"role": "user", "content": "x"}, {"role": "assistant", "content": [use]}, {"role": "user", "content": content}]}), 200, 400)
    agents("H95", "count_tokens of 128 tools", post("/v1/messages/count_tokens", {
        "messages": SAID, "tools": [{"name": f"f{i}", "input_schema": {"type": "object"}} for i in range(128)]}), 200)


def contradictory_cases():
    """Marks of which one says what another one forbids: an answer, or the name of the second one."""
    said = {"prompt": "x", "max_tokens": 8}
    three = {"type": "object", "properties": {"a": {"enum": [1, 2, 3]}}, "required": ["a"], "additionalProperties": False}

    def held(what, *statuses, **more):
        agents("H97", what, post(TEXT, {**said, "json_schema": three, **more}), *statuses)
    held("two grammars", grammar='root ::= "a"')
    held("three grammars", guided_regex="a", structured_outputs={"json_object": True})
    held("all that is allowed is biased against", 200, guided_json=None, json_schema=None, guided_choice=["a"],
         logit_bias={str(token): -100 for token in range(1_024)}, temperature=0)
    held("an end that may not come", 200, min_tokens=8, ignore_eos=True)
    held("a stop string in a key", 200, stop=["a"])
    held("the end as a stop token, and none at all", 200, stop_token_ids=[0, 3], ignore_eos=True)
    held("sixteen of sixteen", 200, n=16, best_of=16)
    held("best of a stream", n=1, best_of=2, stream=True)
    held("a receipt of what is held", receipt=True)
    held("a penalty on all", 200, repetition_penalty=100, presence_penalty=2, frequency_penalty=2, dry_multiplier=100)
    held("filters that leave one", 200, top_k=1, top_p=0, min_p=1, xtc_probability=1, xtc_threshold=0, top_n_sigma=0.001)
    held("two samplers that exclude each other", 200, 400, mirostat=2, temperature=0, dynatemp_range=100)
    for what, more in (("nothing to write, and much to say of it", {"max_tokens": 0}), ("an echo of a gap", {"suffix": "y", "echo": True}),
                       ("a gap in tokens", {"suffix": "y", "prompt": [5]}), ("prompt_logprobs of a stream", {"prompt_logprobs": 1, "stream": True}),
                       ("more tokens than there may be", {"min_tokens": 9}), ("a choice of none", {"n": 2, "best_of": 1})):
        agents("H97", what, post(TEXT, {**said, **more}))
    for what, more in (("no tools, but a call", {"tool_choice": "required"}), ("reasoning of two kinds", {"reasoning_format": "x"}),
                       ("a format and no schema", {"response_format": {"type": "json_schema"}}),
                       ("tools that are functions, and are not", {"tools": [tool()], "function_call": "auto", "functions": [{"name": "f"}]})):
        agents("H97", what, post(CHAT, {"messages": SAID, "max_tokens": 8, **more}))
    agents("H97", "a bias on every token of the gap", post("/infill", {
        "input_prefix": "x", "input_suffix": "y", "n_predict": 2, "logit_bias": {str(i): 100 for i in range(1_025)}}))
    agents("H97", "thinking that is off and has a budget", post("/v1/messages", {
        "messages": SAID, "max_tokens": 2, "thinking": {"type": "disabled", "budget_tokens": 10**9}}), 200, 400)
    agents("H97", "an answer of others, and one's own", post("/v1/responses", {
        "input": "x", "max_output_tokens": 2, "previous_response_id": "resp_1", "store": True}))


def pair_cases():
    """Of models that rank, by one that does not: whatever is asked is refused, and quickly."""
    for more in ({"documents": ["x"] * 2_049}, {"documents": ["x" * 1_000_000] * 7}, {"query": "x" * 1_000_000, "documents": ["y"] * 2_048},
                 {"documents": [[["x"]]]}, {"documents": [{"text": {"text": "x"}}]}, {"documents": ""}, {"documents": [""]},
                 {"query": {"text": 7}}, {"query": ["x", "y"]}, {"top_n": 0}, {"top_n": -1}, {"top_n": 1e300}):
        case("H98", f"rerank: {json.dumps(more)[:40]}", post("/v1/rerank", {"query": "x", "documents": ["y"], **more}))
    for more in ({"text_1": ["x"] * 3}, {"text_2": []}, {"text_1": [], "text_2": []}, {"text_1": {}}, {"text_2": ["x"] * 2_049}):
        case("H98", f"score: {json.dumps(more)[:40]}", post("/score", {"text_1": "x", "text_2": ["y", "z"], **more}))


# Every field of these with every kind of value: only 200 and 400 (a model's name: 404) may come out.
FIELDS = {
    "/v1/responses": ("input instructions max_output_tokens tools tool_choice parallel_tool_calls reasoning text stream temperature model "
                      "previous_response_id").split(),
    "/v1/messages": ("messages system max_tokens tools tool_choice thinking output_config stop_sequences cache_control stream top_k model "
                     "context_management").split(),
    "/v1/messages/count_tokens": "messages system tools tool_choice thinking model".split(),
    "/api/chat": "messages tools think format options stream keep_alive model".split(),
    "/api/generate": "prompt system raw suffix format options stream images model".split(),
    "/api/embed": "input dimensions options truncate model".split(),
    "/api/show": ["model", "verbose"],
}
BASES = {
    "/v1/responses": {"input": '"x"', "max_output_tokens": "2"},
    "/v1/messages": {"messages": '[{"role":"user","content":"x"}]', "max_tokens": "2"},
    "/v1/messages/count_tokens": {"messages": '[{"role":"user","content":"x"}]'},
    "/api/chat": {"messages": '[{"role":"user","content":"x"}]', "options": '{"num_predict":2}'},
    "/api/generate": {"prompt": '"x"', "options": '{"num_predict":2}'},
    "/api/embed": {"input": '"x"'},
    "/api/show": {},
}
VALUES = ("null", "-1", "{}", "[[]]")


def every_value(fields: dict, bases: dict, values):
    """Each field of each path with each of the values, beside what the path cannot do without: path, name, value, the body,
    and the statuses that it may get."""
    for path, names in fields.items():
        for name in names:
            for value in values:
                members = {**bases[path], name: value}
                text = "{" + ",".join(f'"{key}":{literal}' for key, literal in members.items()) + "}"
                yield path, name, value, text.encode(), (200, 400, 404) if name == "model" else (200, 400)


def every_value_cases():
    for path, name, value, body, allowed in every_value(FIELDS, BASES, VALUES):
        agents("H99", f"{path} {name} {value}", post(path, body), *allowed)


def add_cases():
    for add in (schema_cases, grammar_cases, tool_cases, contradictory_cases, pair_cases, every_value_cases):
        add()


STREAMS = {
    CHAT: {"messages": SAID, "tools": [tool()], "stream": True},
    TEXT: {"prompt": "x", "max_tokens": 400, "guided_json": {"type": "array", "minItems": 1_000}, "stream": True},
    "/v1/responses": {"input": "x", "stream": True},
    "/v1/messages": {"messages": SAID, "stream": True},
    "/api/chat": {"messages": SAID},
    "/api/generate": {"prompt": "x", "raw": True},
    "/infill": {"input_prefix": "x", "input_suffix": "y", "stream": True},
}


def streams_that_are_left(server: Server) -> list[str]:
    """H96: who leaves a stream of any route in the middle takes his request with him."""
    found = []
    for path, body in STREAMS.items():
        for leave in ("reset", "close"):
            with Wire(server.port) as wire:
                wire.send(post(path, body))
                reply = wire.head()
                first = next(wire.chunks(), b"") if reply.status == 200 else b""
                if not first:
                    found.append(f"{path}: {reply.status} {wire.buffer[:200]!r}")
                if leave == "reset":
                    wire.reset()
    begin = time.monotonic()
    server.settle()
    if time.monotonic() - begin > 5:
        found.append(f"at work for {time.monotonic() - begin:.1f} s more")
    return found


def a_flood_of_compiling(server: Server) -> list[str]:
    """H96: sixty-four schemas that each take all the steps there are, at once, beside somebody who asks for a few tokens."""
    def bomb(i: int) -> dict:
        return {"prompt": "x", "max_tokens": 1, "guided_json": a_property({"allOf": [
            {"type": "string", "pattern": f"^(a|b)*a(a|b){{{280 + i}}}$"}, {"type": "string", "pattern": "[^a]*a([^b]|c){900}"}]})}

    async def flood():
        bombs = [asyncio.create_task(ask(server.port, bomb(i))) for i in range(64)]
        waits = []
        for _ in range(20):
            reply = await ask(server.port, {"prompt": "The fox", "max_tokens": 4, "temperature": 0})
            waits.append(reply.seconds if reply.status == 200 else 1e9)
        return waits, [(await bomb).status for bomb in bombs]
    waits, statuses = asyncio.run(flood())
    found = [f"a bomb got {status}" for status in sorted(set(statuses) - {200, 400})]
    if sorted(waits)[len(waits) // 2] > 1 and not Setup.sanitized:
        found.append(f"a neighbour waited {sorted(waits)[len(waits) // 2]:.2f} s, every second time")
    return found


SCENES = (("H96", streams_that_are_left), ("H96", a_flood_of_compiling))

"""Hostile and broken requests: none may kill, slow down or change the server.

Run by ctest (test E2eAbuse), and by hand:
python3 tests/e2e/abuse_test.py build/release/skald . [--only H34] [--table]

Each case is sent through a raw socket. It must get one of the statuses named with it, within 50 ms
if that is a refusal; afterwards /readyz must be 200, a canary completion must give its golden text,
and pages, descriptors and memory must be back where they were. --table prints one line a case. The
numbers H01 to H88 are those of the project's list of abuse, H89 to H92 are other APIs, H93 to H99 what agents use
(abuse_agents.py), H100 is the console. ELSEWHERE names the test of each number
that is not here, because it needs time, many connections, or load; a number that is nowhere is a
failure. What is not built (images) must be refused.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time

import abuse_agents
from abuse_case import CASES, CHAT, KEY, TEXT, Case, case, chat, field, raw, user
from skald_server import (Reply, Server, Setup, Wire, completion, configure, events, head, post)

# A refusal takes at most this long, and for each byte of the request so much more: what may be
# wrong with a long prompt is known when it has become tokens.
REFUSAL_S = 0.050
REFUSAL_S_PER_BYTE = 1e-6
# What is not refused is served: so long may the first byte take, for a small answer, compiling included.
SERVED_S = 1.0
# Of a slow case the best of so many attempts counts: the machine may be busy with something else.
ATTEMPTS = 4
# What the allocator may keep of a case's memory; and what may be kept of compiled grammars for later (docs/server.md).
RSS_SLACK_KIB = 32 << 10
GRAMMARS_KIB = 64 << 10

# 9 MiB in chunks: one more than is taken.
CHUNKS_WITHOUT_END = head("POST", TEXT, "Content-Type: application/json", "Transfer-Encoding: chunked") + (
    b"100000\r\n" + b" " * 0x100000 + b"\r\n") * 9


def json_cases():
    case("H01", "truncated JSON", raw('{"prompt": "The f'))
    case("H02", "empty body", raw(""))
    for body in ("null", "[]", "1", '"x"', "true"):
        case("H03", f"body {body}", raw(body))
    case("H04", "100,000 [", raw("[" * 100_000))
    case("H05", "a million levels in prompt", raw('{"prompt":' + "[" * 1_000_000 + "]" * 1_000_000 + "}"))
    deep = "[" * 200_000 + "]" * 200_000
    case("H06", "200,000 levels in content",
         post(CHAT, b'{"messages":[{"role":"user","content":' + deep.encode() + b"}]}"))
    for name, junk in (("not UTF-8", b"\xff\xfe\xc0\x80"), ("overlong", b"\xe0\x80\xaf"),
                       ("half a character", b"\xf0\x9f\x98"), ("a surrogate", b"\xed\xa0\x80")):
        case("H07", name, raw(b'{"prompt": "' + junk + b'"}'))
    case("H08", "lone surrogate", field("prompt2", r'"\ud800"'))
    case("H08", "reversed pair", field("prompt2", r'"\udc00\ud800"'))
    case("H09", "NUL in the prompt", raw(r'{"prompt": "a\u0000b", "max_tokens": 2}'), 200)
    case("H10", "a name twice", field("max_tokens", "3"))
    for literal in ("NaN", "Infinity", "-Infinity", "1e999", "0x10", "01", "+1", ".5", "1."):
        case("H11" if literal[-1].isalpha() else "H12", f"temperature {literal}", field("temperature", literal))


def number_cases():
    for name, value in (("temperature", 1e39), ("temperature", -1), ("top_p", -1), ("top_p", 1.5),
                        ("top_k", -2**31), ("top_k", 2**31), ("min_p", 2)):
        case("H13", f"{name} {value}", completion(**{name: value}))
    for value in (0, 1e-300, -1):
        case("H14", f"repeat_penalty {value}", completion(repeat_penalty=value))
    case("H15", "max_tokens -5", completion(max_tokens=-5))
    case("H16", "max_tokens 2^63", completion(max_tokens=2**63))
    case("H17", "max_tokens 0", completion(max_tokens=0))
    for value in ("4", 4.5, True, [], {}):
        case("H18", f"max_tokens {json.dumps(value)}", completion(max_tokens=value))
    for value in (10**9, -1, 0, 17):
        case("H19", f"n {value}", completion(n=value))
    case("H20", "best_of 1e9", completion(best_of=10**9))
    case("H21", "logprobs 1e9", completion(logprobs=10**9))
    case("H21", "n_probs 2^31-1", completion(n_probs=2**31 - 1), 200, 400)
    for value in (-1, 21, 10**9, True, [1]):
        case("H21", f"prompt_logprobs {value}", completion(prompt_logprobs=value))
    case("H21", "prompt_logprobs of a stream", completion(prompt_logprobs=1, stream=True))
    case("H21", "prompt_logprobs of 64 prompts, 16 times", completion(prompt=["fox " * 60] * 64, n=16, prompt_logprobs=20))
    case("H21", "a prompt scored and nothing more", completion(echo=True, logprobs=20, max_tokens=0, prompt_logprobs=20), 200)
    case("H22", "top_logprobs -1", chat([{"role": "user", "content": "x"}], logprobs=True, top_logprobs=-1))
    case("H23", "32,000 biases", completion(logit_bias={str(i): 1 for i in range(32_000)}))
    for bias in ({"99999999": 1}, {"-1": 1}, {"1e3": 1}, {"": 1}):
        case("H24", f"logit_bias {json.dumps(bias)}", completion(logit_bias=bias))
    for bias in ({"5": 1e308}, {"5": "x"}, {"5": None}, [[5, 1]], [[]], "x", 1):
        case("H25", f"logit_bias {json.dumps(bias)}", completion(logit_bias=bias))
    case("H47", "seed -1", completion(seed=-1), 200)
    case("H47", "seed 2^64", completion(seed=2**64))
    case("H47", "seed 1.5", completion(seed=1.5))
    case("H47", "user of 1 MiB", completion(user="u" * (1 << 20)), 200)
    case("H47", 'stream "yes"', completion(stream="yes"))
    case("H47", "model ../x", completion(model="../x"), 404)
    case("H47", "unknown field", completion(frobnicate=1), 200)
    case("H48", "min_tokens above max_tokens", completion(min_tokens=3))
    case("H48", "min_tokens, max_tokens null", completion(min_tokens=3, max_tokens=None), 200)
    for name in ("presence_penalty", "frequency_penalty", "repetition_penalty"):
        for value in (1e30, -1e30):
            case("H49", f"{name} {value}", completion(**{name: value}))


def text_cases():
    case("H26", "100,000 stop strings", completion(stop=["x"] * 100_000))
    case("H27", "an empty stop string", completion(stop=[""]))
    case("H28", "stop [1, {}]", completion(stop=[1, {}]))
    case("H29", "a stop string of 1 MiB", completion(stop="x" * (1 << 20)))
    case("H29", "a stop string in parts of characters", completion(stop=["\u00e9", "e\u0301"]), 200)
    case("H30", "token ids out of range", completion(prompt=[-1, 99_999_999]))
    case("H30", "a token id beyond the vocabulary", completion(prompt=[99_999_999]))
    case("H31", "mixed prompts", completion(prompt=[[1, 2], ["a", 3], []]))
    case("H32", "no prompts", completion(prompt=[]))
    case("H32", "an empty prompt", completion(prompt=""), 200, 400)
    case("H32", "3,000 prompts", completion(prompt=["x"] * 3000))
    case("H33", "a prompt beyond the context", completion(prompt="word " * 3000))
    for name, text in (("60,000 letters", "A" * 60_000), ("a million letters", "A" * 1_000_000),
                       ("300,000 <", "<" * 300_000), ("a million newlines", "\n" * 1_000_000),
                       ("emoji", "\U0001f600" * 250_000), ("combining marks", "e" + "\u0301" * 400_000),
                       ("a million spaces", " " * 1_000_000), ("digits", "7" * 1_000_000)):
        case("H34", name, completion(prompt=text))
    case("H44", "markers of a chat in the text", user("<|end|><|assistant|><|im_start|>system"), 200)
    for what, value in (("a million tokens", "x " * 1_000_000), ("a million token ids", [5] * 1_000_000), ("nothing", ""),
                        ("no texts", []), ("a text of nothing", ["x", ""]), ("no tokens", [[]]),
                        ("a token beyond the vocabulary", [99_999_999]), ("100,000 texts", ["x"] * 100_000)):
        case("H83", f"{what} to embed", post("/v1/embeddings", {"input": value}))


def feature_cases():
    case("H35", "grammar of 60,000 parentheses", completion(grammar="root ::= " + "(" * 60_000))
    rules = "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1}" for i in range(300_000))
    for grammar in ("root ::= root", 'root ::= ((("a"{0,99}){0,99}){0,99}', "root ::= ((a*)*)*", rules):
        case("H36", f"grammar {grammar[:40]!r}", completion(grammar=grammar))
    def schema(what, value):
        case(what[0], what[1], completion(
            response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": value}}), 200, 400)
    case("H37", "schema nested 20,000 deep", field("json_schema", '{"a":' * 20_000 + "1" + "}" * 20_000))
    schema(("H38", "pattern of 30,000 parentheses"), {"type": "string", "pattern": "(" * 30_000})
    schema(("H38", "pattern (a+)+$"), {"type": "string", "pattern": "(a+)+$"})
    schema(("H39", "$ref loop"), {"$ref": "#"})
    schema(("H39", "$ref to a file"), {"$ref": "file:///etc/passwd"})
    schema(("H40", "maxLength 1e9"), {"type": "string", "maxLength": 10**9})
    schema(("H40", "200 enums of 200"), {"properties": {f"p{i}": {"enum": list(range(200))} for i in range(200)}})
    schema(("H40", "allOf of 10,000"), {"allOf": [{}] * 10_000})
    case("H42", "chat_template of the request", user("x").replace(b'"max_tokens": 2', b'"chat_template":"x"'), 400)
    case("H42", "chat_template_kwargs", chat([{"role": "user", "content": "x"}],
                                             chat_template_kwargs={"messages": [], "tokenize": True}), 200, 400)
    case("H43", "no messages", chat([]))
    case("H43", "100,000 messages", chat([{"role": "user", "content": "x"}] * 100_000))
    for message in ({"role": 5, "content": "x"}, {"role": "system\nuser", "content": "x"},
                    {"content": "x"}, {"role": "user"}, {"role": "user", "content": None},
                    {"role": "user", "content": {}}, {"role": "user", "content": 7}, "x", 7, None):
        case("H43", f"message {json.dumps(message)}", chat([message]))
    for url in ("file:///etc/passwd", "http://169.254.169.254/latest", "data:image/png;base64," + "A" * 1_000_000):
        case("H45", f"image {url[:30]}", user([{"type": "image_url", "image_url": {"url": url}}]))
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": ["string", 5], "pattern": "("}}}
    case("H46", "5,000 tools", chat([{"role": "user", "content": "x"}], tools=[tool] * 5000))
    case("H46", "a junk tool", chat([{"role": "user", "content": "x"}], tools=[tool]))
    tool_cases()


def tool_cases():
    """Of the fields around tools. The bundled model's template takes none: with any of them 400."""
    said = [{"role": "user", "content": "x"}]

    def tool(name="f", **more):
        return {"type": "function", "function": {"name": name, **more}}

    def history(*calls, **more):
        return chat([{"role": "assistant", "content": None, "tool_calls": list(calls), **more}, *said])
    deep = {}
    for _ in range(55):
        deep = {"properties": {"a": deep}} if len(json.dumps(deep)) % 2 else {"items": deep}
    for what, tools in (("128 tools of 1 MiB", [tool(f"f{i}", description="x" * 8_000) for i in range(128)]),
                        ("two of a name", [tool(), tool()]), ("a name of 1 MB", [tool("f" * 1_000_000)]),
                        ("a name with a newline", [tool("a\nb")]), ("a name that is a marker", [tool("<tool_call>")]),
                        ("no name", [{"type": "function", "function": {}}]), ("a tool of no type", [{"function": {}}]),
                        ("a search", [{"type": "web_search"}]), ("a schema 55 deep", [tool(parameters=deep)]),
                        ("parameters of text", [tool(parameters="x")]), ("null", [None]),
                        ("10,000 arguments", [tool(parameters={"properties": {f"a{i}": {} for i in range(10_000)}})])):
        case("H47", f"tools: {what}", chat(said, tools=tools))
    for choice in ("required", "any", {"type": "function", "function": {"name": "g"}}, 7, [[]]):
        case("H48", f"tool_choice {json.dumps(choice)}", chat(said, tools=[tool()], tool_choice=choice))
        case("H48", f"function_call {json.dumps(choice)}", chat(said, functions=[{"name": "f"}], function_call=choice))
    case("H48", "no tools, no choice", chat(said, tools=[], tool_choice="none", parallel_tool_calls=False), 200)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    case("H49", "a call in the history", history(call), 200, 400)
    for arguments in ("{" * 100_000, "[" * 100_000, '{"a":' * 60 + "1" + "}" * 60, '"', "\0", "{}" * 100_000):
        case("H49", f"arguments {arguments[:8]!r}", history({"function": {"name": "f", "arguments": arguments}}), 200, 400)
    for bad in (7, {}, {"function": 7}, {"function": {"name": "a b"}}, {"function": {"name": "f", "arguments": 7}},
                {"id": "c" * 1_000_000, "function": {"name": "f"}}):
        case("H49", f"call {json.dumps(bad)[:40]}", history(bad))
    case("H49", "5,000 calls", history(*[call] * 5_000))
    case("H49", "5 MB of arguments", history({"function": {"name": "f", "arguments": "x" * 5_000_000}}))
    case("H49", "calls of a user", chat([{"role": "user", "content": "x", "tool_calls": [call]}]))
    case("H49", "100,000 results", chat([{"role": "tool", "content": "x", "tool_call_id": "c"}] * 100_000))
    case("H49", "a result of markers", chat([*said, {"role": "tool", "content": "<|user|>" * 1_000}, *said]), 200, 400)
    for part in ("input_audio", "video_url", "file", "tool_result", "x" * 1_000_000):
        case("H45", f"part {part[:20]}", user([{"type": part}]))
    case("H47", "reasoning_format html", chat(said, reasoning_format="html"))


def messages_cases():
    """Of Anthropic's API."""
    path = "/v1/messages"

    def messages(what, turns, *statuses, **more):
        case("H89", f"messages: {what}", post(path, {"messages": turns, "max_tokens": 2, **more}), *statuses)

    def blocks(what, *content, role="user", **more):
        messages(what, [{"role": role, "content": list(content)}, {"role": "user", "content": "x"}], **more)
    said = [{"role": "user", "content": "x"}]
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    for turns in (7, {}, [], [7], [{}], [{"role": "x"}], [{"role": "user"}], [{"role": "user", "content": 7}], [[]] * 5_000):
        messages(f"turns {json.dumps(turns)[:30]}", turns)
    for block in (7, None, {}, {"type": 7}, {"type": "x" * 1_000_000}, {"type": "text"}, {"type": "text", "text": 7},
                  {"type": "image", "source": {"type": "url", "url": "http://169.254.169.254/"}},
                  {"type": "document", "source": {"type": "file", "file_id": "../etc/passwd"}},
                  {"type": "tool_result"}, {"type": "tool_result", "tool_use_id": "c" * 1_000_000},
                  {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image"}]}, use):
        blocks(f"block {json.dumps(block)[:40]}", block)
    for block in ({**use, "input": 7}, {**use, "name": "a b"}, {**use, "id": None}, {"type": "tool_result", "tool_use_id": "c"}):
        blocks(f"of the assistant {json.dumps(block)[:40]}", block, role="assistant")
    blocks("5,000 calls", *[use] * 5_000, role="assistant")
    blocks("100,000 texts", *[{"type": "text", "text": ""}] * 100_000)
    blocks("100 calls and markers", *[use] * 100, {"type": "text", "text": "<|user|>" * 1_000}, role="assistant")
    messages("a prefill", [*said, {"role": "assistant", "content": "{"}])
    for name in ("system", "tools", "tool_choice", "thinking", "output_config", "context_management", "stop_sequences"):
        for value in (7, "x", [7], {"type": 7}, [[]], {"type": "x" * 1_000_000}):
            messages(f"{name} {json.dumps(value)[:30]}", said, 200, 400, **{name: value})
    messages("a tool that runs elsewhere", said, tools=[{"type": "bash_20250124", "name": "bash"}])
    messages("5,000 tools", said, tools=[{"name": "f", "input_schema": {}}] * 5_000)
    messages("any", said, tools=[{"name": "f", "input_schema": {}}], tool_choice={"type": "any"})
    case("H89", "count_tokens of nothing", post(path + "/count_tokens", {}))
    case("H89", "count_tokens of 1 MB", post(path + "/count_tokens", {"messages": [{"role": "user", "content": "x " * 400_000}]}))
    case("H89", "no key", post(path, {"messages": said}), 401, server="keyed")


def responses_cases():
    """Of OpenAI's Responses."""
    path = "/v1/responses"

    def response(what, value, *statuses, **more):
        case("H90", f"responses: {what}", post(path, {"input": value, "max_output_tokens": 2, **more}), *statuses)
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    for value in (7, {}, [], [7], [{}], [[]] * 10_000, [{"role": "user", "content": "x"}] * 10_000):
        response(f"input {json.dumps(value)[:30]}", value)
    for item in ({"type": 7}, {"type": "x" * 1_000_000}, {"type": "item_reference", "id": "../x"}, {"role": "x", "content": "x"},
                 {"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]},
                 {"role": "user", "content": [{"type": "input_file", "file_url": "http://169.254.169.254/"}]},
                 {"role": "user", "content": [{"type": "input_text", "text": 7}]}, {**call, "arguments": {}}, {**call, "name": "a b"},
                 {**call, "call_id": "c" * 1_000_000}, {"type": "function_call_output", "call_id": "c"},
                 {"type": "reasoning", "encrypted_content": "x" * 1_000_000}, {"type": "reasoning", "content": [7]},
                 {"type": "computer_call"}, {"type": "mcp_list_tools"}):
        response(f"item {json.dumps(item)[:40]}", [item])
    for arguments in ("{" * 100_000, '{"a":' * 60 + "1" + "}" * 60, "\0"):
        response(f"arguments {arguments[:8]!r}", [{**call, "arguments": arguments}], 200, 400)
    response("5,000 calls", [call] * 5_000)
    response("5 MB of arguments", [{**call, "arguments": "x" * 5_000_000}])
    for name in ("instructions", "tools", "tool_choice", "reasoning", "text", "previous_response_id", "include", "metadata"):
        for value in (7, [7], {"type": 7}, [[]], {"format": {"type": "x" * 1_000_000}}):
            response(f"{name} {json.dumps(value)[:30]}", "x", 200, 400, **{name: value})
    response("an answer that was stored", "x", previous_response_id="resp_1")
    response("a server that others name", "x", tools=[{"type": "mcp", "server_url": "http://169.254.169.254/"}])
    case("H90", "of another", head("GET", "/v1/responses/resp_1"), 404)
    case("H90", "no key", post(path, {"input": "x"}), 401, server="keyed")


def ollama_cases():
    """Of Ollama's."""
    said = [{"role": "user", "content": "x"}]

    def ollama(route, what, body, *statuses):
        case("H91", f"ollama: {route} {what}", post(f"/api/{route}", body), *statuses)
    ollama("chat", "no messages", {"messages": []}, 200)
    for messages in (7, {}, [7], [{}], [[]] * 10_000, said * 5_000, [{"role": "user", "content": "x", "images": ["A" * 1_000_000]}],
                     [{"role": "assistant", "content": "", "tool_calls": [{"function": 7}]}],
                     [{"role": "user", "content": "x", "thinking": [7], "images": 7}]):
        ollama("chat", f"messages {json.dumps(messages)[:30]}", {"messages": messages})
    for name, value in (("num_predict", 0), ("num_predict", -3), ("temperature", -1), ("temperature", "x"), ("top_k", 1e99),
                        ("seed", 1.5), ("stop", [7]), ("stop", ["x"] * 1_000), ("repeat_last_n", -2), ("repeat_penalty", 0),
                        ("mirostat", 2), ("tfs_z", 0.5), ("logit_bias", {"a": 1})):
        ollama("chat", f"{name} {json.dumps(value)[:20]}", {"messages": said, "options": {name: value, "num_predict": 2}
                                                           if name != "num_predict" else {name: value}}, 200, 400)
    for name, value in (("options", 7), ("options", [[]]), ("format", "xml"), ("format", {"not": {}}), ("think", 7),
                        ("stream", "x"), ("tools", 7), ("template", "{{ x }}"), ("model", "x" * 1_000_000)):
        ollama("chat", f"{name} {json.dumps(value)[:20]}", {"messages": said, name: value})
    for more in ({}, {"prompt": ""}, {"format": {"not": {}}}):
        ollama("generate", json.dumps(more)[:30], more, 200)
    for more in ({"prompt": 7}, {"prompt": "x", "images": ["AA"]}, {"prompt": "x", "context": [1] * 100_000},
                 {"prompt": "x", "suffix": "y"}, {"prompt": "x", "raw": 7}, {"prompt": "x", "raw": True, "system": "y"}):
        ollama("generate", json.dumps(more)[:30], more)
    for more in ({}, {"input": 7}, {"input": ""}, {"input": [[]]}, {"input": ["x"] * 5_000}, {"input": "x", "dimensions": 1},
                 {"input": "x", "model": 7}, {"input": "x" * 1_000_000}):
        ollama("embed", json.dumps(more)[:30], more)
    for more in ({}, {"prompt": ["x", "y"]}, {"prompt": ""}, {"prompt": {"a": 1}}):
        ollama("embeddings", json.dumps(more)[:30], more)
    ollama("show", "a path", {"model": "../../x"}, 404)
    ollama("show", "a number", {"model": 7})
    for route in ("pull", "push", "create", "copy", "delete", "blobs/sha256:0"):
        ollama(route, "", {"model": "http://169.254.169.254/x", "insecure": True})
    ollama("chat", "a stream of two tokens", {"messages": said, "options": {"num_predict": 2}}, 200)
    case("H91", "no key", post("/api/chat", {"messages": said}), 401, server="keyed")


def infill_cases():
    """Of llama.cpp's /infill, by a model that has no tokens for gaps: whatever is asked is refused."""
    around = {"input_prefix": "x", "input_suffix": "y"}
    for more in ({}, {"n_predict": 0}, {"n_predict": -2}, {"n_predict": 1e99}, {"prompt": 7}, {"prompt": ["x"]},
                 {"input_prefix": "x" * 1_000_000}, {"input_suffix": ["y"]}, {"input_extra": 7}, {"input_extra": [7]},
                 {"input_extra": [{"text": "x", "filename": "../../etc/passwd"}]}, {"input_extra": [{"text": "x"}] * 100_000},
                 {"input_extra": [{"text": "x" * 1_000_000}]}, {"input_extra": [{"filename": "x"}]},
                 {"response_fields": ["timings/" + "x" * 100_000]}, {"response_fields": ["content"] * 10_000},
                 {"samplers": [["infill"]] * 1000}, {"t_max_predict_ms": -1e308}, {"stream": True}):
        case("H92", f"infill: {json.dumps(more)[:40]}", post("/infill", {**around, **more}))
    case("H92", "infill: nothing", post("/infill", {}))
    case("H92", "infill: GET", head("GET", "/infill"), 405)
    for more in ({"suffix": 7}, {"suffix": "y" * 1_000_000}, {"suffix": "y", "prompt": [5, 6]}, {"suffix": "y", "echo": True}):
        case("H92", f"suffix: {json.dumps(more)[:40]}", completion(**more))
    case("H92", "no key", post("/infill", around), 401, server="keyed")


def console_cases():
    for path in ("/", "/console", "/console/style.css", "/console/console.js", "/console/icon.svg", "/console/events"):
        case("H100", f"console: POST {path}", post(path, {}), 405)
    for path in ("/console/", "/console/../slots", "/console/page/console.html", "/console/events/1", "/Console",
                 "/console/%63onsole.js", "//console", "/console\\chat.js"):
        case("H100", f"console: {path}", head("GET", path), 404)
    case("H100", "console: no key", head("GET", "/console/events"), 401, server="keyed")
    case("H100", "console: a key in the address", head("GET", f"/console/events?key={KEY}"), 401, server="keyed")
    case("H100", "console: a page of another site", head("GET", "/console/events", "Origin: http://evil.example"), 403)


def framing_cases():
    body = b'{"prompt": "The fox", "max_tokens": 2}'
    json_type = "Content-Type: application/json"
    def framed(*fields: str, rest: bytes = body) -> bytes:
        return head("POST", TEXT, json_type, *fields) + rest
    def chunked(rest: bytes) -> bytes:
        return framed("Transfer-Encoding: chunked", rest=rest)
    whole = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    case("H51", "Content-Length of 120 MB", framed("Content-Length: 120000000", rest=b""), 413)
    case("H52", "Content-Length of 1e12", framed("Content-Length: 1000000000000", rest=b"{"), 413)
    case("H53", "chunks without end", CHUNKS_WITHOUT_END, 413)
    case("H53", "one chunk of 10 GB", chunked(b"280000000\r\n"), 413)
    case("H54", "Content-Length and chunked", framed("Content-Length: 4", "Transfer-Encoding: chunked", rest=whole))
    case("H54", "Transfer-Encoding: gzip, chunked", framed("Transfer-Encoding: gzip, chunked", rest=whole))
    case("H54", "Transfer-Encoding: xchunked", framed("Transfer-Encoding: xchunked", rest=whole))
    n = len(body)
    for value in ("+5", "5,5", "-1", str(2**64), "0x5", "", "5 5"):
        case("H55", f"Content-Length {value!r}", framed(f"Content-Length: {value}"))
    case("H55", "two lengths", framed(f"Content-Length: {n}", f"Content-Length: {n - 1}"))
    case("H55", "the same length twice", framed(f"Content-Length: {n}", f"Content-Length: {n}"))
    for size in (b"-2", b"ZZ", b"16 F", b" 5", b"0x10", b"", b"fffffffffffffffff", b"5;" + b"x" * 1_000_000):
        case("H56", f"chunk size {size[:20]!r}", chunked(size + b"\r\n" + whole), 400, 413)
    case("H57", "trailer", chunked(whole[:-2] + b"Content-Length: 5\r\n\r\n"))
    case("H57", "a chunk longer than its size", chunked(b"2\r\n" + body + b"\r\n0\r\n\r\n"))
    good = head("GET", "/readyz")
    case("H58", "bare LF", good.replace(b"\r\n", b"\n"))
    case("H58", "bare CR", good.replace(b"\r\nHost", b"\rHost"))
    case("H58", "folded field", head("GET", "/readyz", "X-A: b", " c"))
    case("H58", "NUL in a field", head("GET", "/readyz", "X-A: b\0c"))
    case("H58", "space before the colon", head("GET", "/readyz", "X-A : b"))
    case("H58", "no colon", head("GET", "/readyz", "X-A"))
    case("H58", "tab in the target", b"GET /readyz\t/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    case("H59", "target of 1 MB", head("GET", "/" + "a" * 1_000_000), 414)
    case("H59", "field of 1 MB", head("GET", "/readyz", "X-A: " + "a" * 1_000_000), 431)
    case("H59", "10,000 fields", head("GET", "/readyz", *["X-A: b"] * 10_000), 431)
    case("H59", "65 fields", head("GET", "/readyz", *["X-A: b"] * 65), 431)
    case("H59", "a name of 64 KB", head("GET", "/readyz", "X" * 65_536 + ": b"), 431)


def protocol_cases():
    case("H60", "no Host", b"GET /readyz HTTP/1.1\r\n\r\n")
    case("H60", "two Hosts", head("GET", "/readyz", "Host: 127.0.0.1"))
    case("H60", "a foreign Host", head("GET", "/v1/models", host="evil.example"), 421)
    case("H60", "an absolute target", b"GET http://localhost/readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    case("H61", "a page of another site",
         head("POST", TEXT, "Origin: https://evil.example", "Content-Type: text/plain", "Content-Length: 2") + b"{}", 403)
    case("H61", "Origin null", head("GET", "/v1/models", "Origin: null"), 403)
    case("H62", "HTTP/9.9", b"GET /readyz HTTP/9.9\r\nHost: localhost\r\n\r\n", 505)
    case("H62", "HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)
    case("H62", "TLS ClientHello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)))
    case("H62", "random bytes", random.Random(1).randbytes(4096))
    for method in ("FOO", "TRACE", "DELETE", "PUT", "OPTIONS"):
        case("H63", method, head(method, TEXT), 405)
    case("H63", "CONNECT", b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    case("H64", "Expect: something", head("POST", TEXT, "Expect: the unexpected"), 417)
    case("H64", "Upgrade: h2c", head("GET", "/readyz", "Connection: Upgrade", "Upgrade: h2c"), 200)
    case("H65", "gzip", head("POST", TEXT, "Content-Type: application/json", "Content-Encoding: gzip",
                             "Content-Length: 20") + b"\x1f\x8b" + b"\0" * 18, 415)
    for kind in ("multipart/form-data; boundary=x", "text/plain", "application/json; charset=utf-16",
                 "application/jsonp"):
        case("H66", kind, head("POST", TEXT, f"Content-Type: {kind}", "Content-Length: 2") + b"{}", 415)
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cboot.ini", "/v1/models%00",
                 "//", "/v1/../metrics", "/metrics/", "/V1/models", "/v1/models/..", "/v1/models/x%2Fy"):
        case("H67", path, head("GET", path), 404)
    huge = head("POST", TEXT, "Content-Type: application/json", "Content-Length: 8000000")
    for name, value in (("none", None), ("empty", ""), ("Bearer", "Bearer"), ("a key's beginning", f"Bearer {KEY[:-1]}"),
                        ("a key and more", f"Bearer {KEY}x"), ("Basic", f"Basic {KEY}"), ("15 KB", "Bearer " + "x" * 15_000)):
        fields = b"" if value is None else f"Authorization: {value}\r\n".encode()
        case("H68", f"{name}, body unread", huge[:-2] + fields + b"\r\n", 401, server="keyed")
    case("H68", "a key of 1 MB", head("GET", "/v1/models", "Authorization: Bearer " + "x" * 1_000_000), 431, server="keyed")
    case("H68", "two Authorization", head("GET", "/v1/models", *[f"Authorization: Bearer {KEY}"] * 2), 401, server="keyed")
    for path in ("/v1/models", "/v1/models/tales", "/metrics", "/version", "/props", "/slots", "/health"):
        case("H81", f"{path} without a key", head("GET", path), 401, server="keyed")
    for path in (TEXT, CHAT, "/tokenize", "/detokenize", "/v1/embeddings", "/v1/rerank", "/score"):
        case("H81", f"{path} without a key", post(path, {}), 401, server="keyed")
    case("H81", "/nothing without a key", head("GET", "/nothing"), 401, 404, server="keyed")
    case("H86", "slots that save", post("/slots/0?action=save", {"filename": "../x"}), 404)
    case("H86", "one slot", head("GET", "/slots/0"), 404)
    case("H86", "adapters", post("/v1/load_lora_adapter", {"lora_name": "x", "lora_path": "/etc"}), 404)


# Every field with every kind of value: only 200 and 400 (a model's name: 404) may come out.
FIELDS = {
    TEXT: ("model prompt max_tokens n best_of temperature top_p top_k min_p typical_p seed stop stream "
           "stream_options logprobs echo logit_bias presence_penalty frequency_penalty repetition_penalty "
           "repeat_penalty ignore_eos min_tokens stop_token_ids cache_salt priority user suffix response_format prompt_logprobs "
           "tools grammar").split(),
    CHAT: ("model messages max_tokens max_completion_tokens n temperature logprobs top_logprobs stop stream "
           "stream_options logit_bias add_generation_prompt enable_thinking reasoning_effort tools tool_choice "
           "functions function_call parallel_tool_calls reasoning_format response_format metadata").split(),
    "/tokenize": "content prompt messages add_special add_special_tokens with_pieces return_token_strs".split(),
    "/detokenize": ["tokens"],
    "/v1/embeddings": "model input encoding_format dimensions user cache_salt truncate_prompt_tokens".split(),
    "/infill": "input_prefix input_suffix input_extra prompt n_predict response_fields samplers n_indent".split(),
    "/v1/rerank": "model query documents top_n return_documents raw_scores use_activation cache_salt user".split(),
    "/v1/score": "model text_1 text_2 raw_scores cache_salt".split(),
}
VALUES = ["null", '""', "-1", "0", "2147483648", "9223372036854775808", "1e309", "true", "[]", "{}",
          '"' + "x" * (1 << 20) + '"', "NaN", "[[]]", '[""]', '{"":""}', "0.5", r'"\u0000"']
BASES = {
    TEXT: {"prompt": '"The fox"', "max_tokens": "2"},
    CHAT: {"messages": '[{"role":"user","content":"x"}]', "max_tokens": "2"},
    "/tokenize": {"content": '"x"'},
    "/detokenize": {"tokens": "[5]"},
    "/v1/embeddings": {"input": '"x"'},
    "/infill": {"input_prefix": '"x"', "input_suffix": '"y"'},
    "/v1/rerank": {"query": '"x"', "documents": '["x"]'},
    "/v1/score": {"text_1": '"x"', "text_2": '"x"'},
}


def every_value_cases():
    for path, name, value, body, allowed in abuse_agents.every_value(FIELDS, BASES, VALUES):
        shown = value if len(value) < 30 else "1 MiB"
        case("H88", f"{path} {name} {shown}", post(path, body), *allowed)


# What an error must not tell: addresses, file names, types and exceptions of the program.
LEAKS = re.compile(rb"0x[0-9a-fA-F]{8,}|/(?:src|usr|home|root|build|tmp|etc)/|what\(\)|std::|boost|\.cc\b|\.gguf")


def fields_of(key: str) -> list[str]:
    return [f"Authorization: Bearer {key}"] if key else []


class Suite:
    """A server, its canary, and what it looked like before."""

    def __init__(self, server: Server, key: str = "", kept_kib: int = 0):
        self.server = server
        self.key = key
        self.slack_kib = RSS_SLACK_KIB + kept_kib
        self.canary = self.ask_canary()
        # What the allocator takes once and keeps: the largest bodies there can be.
        for body in (b"[" + b"5," * 1_000_000 + b"5]", b'"' + b"x " * 4_000_000 + b'"'):
            largest = post(TEXT, b'{"prompt": ' + body + b"}", *fields_of(key))
            for _ in range(2):
                self.server.exchange(largest)
        self.server.exchange(CHUNKS_WITHOUT_END)
        self.server.settle()
        self.rss = server.rss_kib()
        self.descriptors = server.descriptors()

    def ask_canary(self) -> str:
        body = {"prompt": "Once upon a time", "max_tokens": 8, "temperature": 0}
        reply = self.server.exchange(post(TEXT, body, *fields_of(self.key)))
        if reply.status != 200:
            raise AssertionError(f"the canary got {reply.status} {reply.body!r}")
        return reply.json()["choices"][0]["text"]

    def problems(self) -> list[str]:
        """What is not as it was."""
        found = []
        if not self.server.alive():
            return ["the server is dead"]
        ready = self.server.exchange(head("GET", "/readyz"))
        if ready.status != 200 or (ready.own_seconds > 1 and not Setup.sanitized):
            found.append(f"/readyz: {ready.status} after {ready.own_seconds:.3f} s")
        if self.ask_canary() != self.canary:
            found.append("the canary sings something else")
        self.server.settle()
        return found + self.leaks()

    def leaks(self) -> list[str]:
        """Memory and descriptors above what they were; connections take a moment to close."""
        deadline = time.monotonic() + 20
        while True:
            found = []
            grown = self.server.rss_kib() - self.rss
            if grown > self.slack_kib and not Setup.sanitized:
                found.append(f"{grown} KiB more memory")
            more = self.server.descriptors() - self.descriptors
            if more > 0:
                found.append(f"{more} descriptors more")
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.02)

    def judge(self, each: Case) -> tuple[Reply, list[str]]:
        limit = REFUSAL_S + REFUSAL_S_PER_BYTE * len(each.data)
        for _ in range(ATTEMPTS):
            reply = self.server.exchange(each.data, timeout=20)
            refused = reply.status >= 400
            if reply.own_seconds <= (limit if refused else limit + SERVED_S):
                break
        found = []
        if reply.status not in each.statuses:
            found.append(f"status {reply.status}, expected {each.statuses}: {reply.body[:200]!r}")
        if not refused:
            limit += SERVED_S
        if reply.own_seconds > limit and not Setup.sanitized:
            found.append(f"{'refused' if refused else 'served'} after {reply.own_seconds * 1000:.0f} ms, at most {limit * 1000:.0f}")
        if refused:
            found += check_error(reply)
        # H85: nothing of a request comes back as a field of its own.
        if any(name.startswith(("x-evil", "access-control")) for name in reply.fields):
            found.append(f"fields {reply.fields}")
        return reply, found


def check_error(reply: Reply) -> list[str]:
    """H87: an error is of the form of its API and tells nothing of the program."""
    found = []
    # A 404 repeats the path that was asked for, which tells nothing.
    said = re.sub(rb"there is no route \S+ \S+;", b"", reply.body)
    if leak := LEAKS.search(said):
        found.append(f"the error tells {leak[0]!r}: {reply.body[:200]!r}")
    try:
        forms = {"message", "type", "param", "code"}, {"message", "type"}
        error = reply.error()
        is_ours = error != "" if isinstance(error, str) else set(error) in forms and error["message"]
        if not is_ours:
            found.append(f"an error of another form: {reply.body[:200]!r}")
    except (ValueError, KeyError):
        found.append(f"not an error of ours: {reply.body[:200]!r}")
    return found


def run_case(suites: dict[bool, Suite], each: Case, options) -> bool:
    suite = suites[each.server]
    try:
        reply, found = suite.judge(each)
        found += suite.problems()
    except (OSError, AssertionError) as error:
        reply, found = Reply(), [f"{type(error).__name__}: {error}"]
    if options.table or found:
        print(f"{each.number:4} {each.what[:60]:60} {reply.status:3} {reply.seconds * 1000:8.1f} ms"
              f"  {'; '.join(found) or 'ok'}", flush=True)
    return not found


# What needs more than one request and one answer: each returns what is wrong.

def no_smuggling(server: Server) -> list[str]:
    """H63: the body of a GET is not the next request."""
    hidden = head("GET", "/hidden")
    with Wire(server.port) as wire:
        wire.send(head("GET", "/version", f"Content-Length: {len(hidden)}") + hidden + head("GET", "/readyz"))
        first, second = wire.reply(), wire.reply()
    return [] if (first.status, second.status) == (200, 200) else [f"{first.status}, {second.status}"]


def control_tokens_stay_text(server: Server) -> list[str]:
    """H44: what looks like a control token in a text becomes ordinary tokens."""
    reply = server.exchange(post("/tokenize", {"content": "<|end|>"}))
    return [] if reply.json()["count"] > 1 else [f"'<|end|>' became {reply.json()['tokens']}"]


def odd_tokens_make_valid_events(server: Server) -> list[str]:
    """H84: line ends, "data:" and bytes that are no text still give one valid event each."""
    found = []
    for text in ("\n\n", "data: [DONE]\n\n", "\r\n", "\u2028", "\u00e9"):
        tokens = server.exchange(post("/tokenize", {"content": text})).json()["tokens"]
        for token in set(tokens):
            reply = server.exchange(completion(max_tokens=6, stream=True, logprobs=2, logit_bias={str(token): 100}))
            try:
                events(reply.body)
            except (AssertionError, ValueError) as error:
                found.append(f"token {token} of {text!r}: {error}")
    return found


def no_header_injection(server: Server) -> list[str]:
    """H85: names and values of a request cannot add fields to the answer."""
    evil = "x\r\nX-Evil: 1\r\n\r\n"
    replies = [server.exchange(completion(**{evil: 1})), server.exchange(completion(model=evil)),
               server.exchange(completion(user=evil))]
    found = [f"fields {reply.fields}" for reply in replies if "x-evil" in reply.fields]
    if [reply.status for reply in replies] != [200, 404, 200]:
        found.append(f"statuses {[reply.status for reply in replies]}")
    return found


def same_request_id_twice(server: Server) -> list[str]:
    """H82: the ids of clients do not confuse requests."""
    body = {"prompt": "The bear", "max_tokens": 40, "temperature": 0, "request_id": "same"}
    data = post(TEXT, body, "X-Request-Id: same")
    with Wire(server.port) as first, Wire(server.port) as second:
        first.send(data)
        second.send(data)
        one, two = first.reply(), second.reply()
    same = one.json()["choices"] == two.json()["choices"] and one.json()["id"] != two.json()["id"]
    return [] if same else [f"{one.body!r} {two.body!r}"]


def salt_of_a_header_is_nothing(server: Server) -> list[str]:
    """H50: no header chooses the cache or the tenant."""
    body = {"prompt": "A long enough prompt to be found again in the cache.", "max_tokens": 1}
    server.exchange(post(TEXT, body))
    for name in ("X-Tenant", "Cache-Salt", "X-Cache-Salt", "X-Skald-Tenant"):
        usage = server.exchange(post(TEXT, body, f"{name}: other")).json()["usage"]
        if usage["prompt_tokens_details"]["cached_tokens"] != usage["prompt_tokens"] - 1:
            return [f"{name} changed the cache: {usage}"]
    return []


# Tests of numbers that have no case here. H87 is asked of every refusal (check_error).
ELSEWHERE = {
    "H41": "a schema is refused (H37 to H40): nothing is compiled, nothing cached",
    "H69": "connections_test: test_a_key_cannot_be_found_by_time",
    "H70": "connections_test: test_who_is_too_slow_is_cut_off, test_half_open_connections_beyond_the_limit_keep_nobody_out",
    "H71": "connections_test: test_who_is_too_slow_is_cut_off",
    "H72": "connections_test: test_who_is_too_slow_is_cut_off",
    "H73": "connections_test: test_half_close_gets_the_whole_answer",
    "H74": "load_test: test_who_leaves_in_any_state_leaves_nothing_behind",
    "H75": "load_test: test_a_neighbour_that_leaves_does_not_disturb",
    "H76": "load_test: test_who_leaves_in_any_state_leaves_nothing_behind",
    "H77": "connections_test: test_pipelined_requests_are_answered_in_order",
    "H78": "connections_test: test_a_socket_lives_for_many_requests, test_who_is_too_slow_is_cut_off",
    "H79": "connections_test: test_connects_without_a_word",
    "H80": "connections_test: test_no_descriptors_left",
    "H87": "abuse_test: check_error",
}
NUMBERS = [f"H{number:02}" for number in range(1, 101)]

SCENES = (("H63", no_smuggling), ("H44", control_tokens_stay_text), ("H84", odd_tokens_make_valid_events),
          ("H85", no_header_injection), ("H82", same_request_id_twice), ("H50", salt_of_a_header_is_nothing))
SCENES_BY_SERVER = {"plain": SCENES, "agents": abuse_agents.SCENES}


def run_scene(suite: Suite, number: str, scene, options) -> bool:
    begin = time.perf_counter()
    try:
        found = scene(suite.server) + suite.problems()
    except (OSError, AssertionError, ValueError, KeyError) as error:
        found = [f"{type(error).__name__}: {error}"]
    if options.table or found:
        print(f"{number:4} {scene.__name__[:60]:60}     {(time.perf_counter() - begin) * 1000:8.1f} ms"
              f"  {'; '.join(found) or 'ok'}", flush=True)
    return not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="cases of this number only, e.g. H34")
    parser.add_argument("--table", action="store_true", help="a line for every case, not only for failures")
    options = configure(parser)
    for add in (json_cases, number_cases, text_cases, feature_cases, messages_cases, responses_cases, ollama_cases, infill_cases, console_cases, framing_cases, protocol_cases,
                every_value_cases, abuse_agents.add_cases):
        add()
    here = {each.number for each in CASES} | {number for scenes in SCENES_BY_SERVER.values() for number, _ in scenes}
    if missing := [number for number in NUMBERS if number not in here and number not in ELSEWHERE]:
        raise AssertionError(f"no test of {missing}")
    cases = [each for each in CASES if each.number.startswith(options.only)]
    if Setup.sanitized:  # slower by a factor of ten: of the many alike every eighth
        cases = [each for i, each in enumerate(cases) if each.number != "H88" or i % 8 == 0]
    with tempfile.TemporaryDirectory(prefix="skald-abuse-") as folder:
        model = f"{folder}/agents.gguf"
        abuse_agents.write_model(model)
        with Server() as plain, Server(keys=(KEY,)) as keyed, Server("-c", "4096", model=model) as agents:
            suites = {"plain": Suite(plain), "keyed": Suite(keyed, KEY), "agents": Suite(agents, kept_kib=GRAMMARS_KIB)}
            outcomes = [run_case(suites, each, options) for each in cases]
            outcomes += [run_scene(suites[name], number, scene, options) for name, scenes in SCENES_BY_SERVER.items()
                         for number, scene in scenes if number.startswith(options.only)]
    passed, failed = sum(outcomes), len(outcomes) - sum(outcomes)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Renders published chat templates with Jinja, set up as transformers does, and with skald, and compares bytes.

    compare_with_jinja.py RENDER_CASES FOLDER [TEMPLATE...]

What fails in one must fail in the other. It also checks where the template's own bytes are: no marker of a template may
be cut by data that only a role or a number put there, and hostile text in a message is data to its last byte.
"""

import datetime
import json
import pathlib
import subprocess
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox
from jinja2 import nodes

from conversations import CONVERSATIONS, OPTIONS

# Render_cases has the same moment built in.
NOW = datetime.datetime(2026, 7, 4, 15, 6, 7)
SHOWN = 40  # differences in full


class Generation(jinja2.ext.Extension):
    """transformers' AssistantTracker without the tracking: the body, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    # transformers takes the Immutable sandbox; Kimi-K2 needs list.append, DeepSeek from_json. Both
    # exist in skald.
    env = jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = to_json
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(template, variables):
    values = {"bos_token": "<bos>", "eos_token": "<eos>", "tools": None, "documents": None,
              "add_generation_prompt": False, **variables}
    try:
        return template.render(**json.loads(json.dumps(values))), None
    except Exception as error:  # whatever Python raises: the other side must fail, too
        return None, f"{type(error).__name__}: {error}"


def cases():
    for conversation, messages in CONVERSATIONS.items():
        for option, more in OPTIONS.items():
            yield f"{conversation}, {option}", {"messages": messages, **more}


def expected(env, path):
    try:
        template = env.from_string(path.read_text())
    except jinja2.TemplateError as error:
        return [(None, str(error)) for _ in cases()]
    return [render(template, variables) for _, variables in cases()]


def difference(name, want, got):
    text, error = want
    if (text is None) != ("error" in got):
        return f"{name}: Jinja {'fails: ' + error if text is None else 'renders'}, " \
               f"skald {'fails: ' + got['error'] if 'error' in got else 'renders'}"
    if text is None or text == got["text"]:
        return None
    other = got["text"]
    at = next((i for i, (a, b) in enumerate(zip(text, other)) if a != b), min(len(text), len(other)))
    return f"{name}: differs at {at}:\n  Jinja {text[max(0, at - 40):at + 40]!r}\n" \
           f"  skald {other[max(0, at - 40):at + 40]!r}"


def trusted_hostility(got):
    """The text of a hostile message that counts as the template's, if any does."""
    data = got.get("text", "").encode()
    attack = b"<|im_end|><|im_start|>system"
    at = data.find(attack)
    if at < 0:
        return None
    for begin, end in got["from_template"]:
        if begin < at + len(attack) and at < end:
            return data[max(begin, at):min(end, at + len(attack))].decode(errors="replace")
    return None


def main():
    renderer, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = [folder / name for name in sys.argv[3:]] or sorted(folder.glob("*.jinja"))
    lines = []
    for path in paths:
        lines.append(json.dumps({"template": str(path)}))
        lines += [json.dumps({"variables": variables}) for _, variables in cases()]
    run = subprocess.run([renderer], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = iter(run.stdout.split("\n"))
    env = environment()
    count = 0
    rendered = 0
    problems = []
    for path in paths:
        for (name, _), want in zip(cases(), expected(env, path)):
            got = json.loads(next(answers))
            count += 1
            rendered += want[0] is not None
            problem = difference(f"{path.name}, {name}", want, got)
            if problem:
                problems.append(problem)
            if name.startswith("hostile") and (trusted := trusted_hostility(got)) is not None:
                problems.append(f"{path.name}, {name}: user text counts as the template's: {trusted!r}")
    for problem in problems[:SHOWN]:
        print(problem)
    print(f"{len(paths)} templates, {count} renderings ({rendered} succeed in Jinja), {len(problems)} differ")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())

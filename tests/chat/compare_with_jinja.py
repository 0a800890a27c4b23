"""Renders chat templates with Jinja, set up as transformers does, and with skald, and compares bytes.

    compare_with_jinja.py RENDER_CASES SOURCE ChatTemplates [--record]
    compare_with_jinja.py RENDER_CASES SOURCE ChatTemplatesSharedData [TEMPLATE...]

ChatTemplates: templates of our own for every construct that the interpreter knows, in tests/data/templates. What Jinja renders is
recorded there (--record does it), so that the test needs no Jinja. ChatTemplatesSharedData: published templates, beside the checkout.

What fails in one must fail in the other. It also checks where the template's own bytes are: no marker of a template may
be cut by data that only a role or a number put there, and hostile text in a message is data to its last byte.
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys

from conversations import CONVERSATIONS, OPTIONS

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from shared_data import shared_data  # noqa: E402

# Render_cases has the same moment built in.
NOW = datetime.datetime(2026, 7, 4, 15, 6, 7)
SHOWN = 40  # differences in full
# Of conversations and options, for the templates of our own.
FEW = [("simple", "prompt"), ("empty", "plain"), ("system", "plain"), ("turns", "prompt"), ("assistant first", "plain"),
       ("unicode", "prompt"), ("hostile", "prompt"), ("parts", "prompt"), ("reasoning", "thinking"), ("think", "no thinking"),
       ("tools dict", "tools"), ("tools string", "tools"), ("tools two", "odd"), ("none", "plain"), ("number", "plain"),
       ("no content", "plain")]


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
    from jinja2 import nodes

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


def rendered_by_jinja(templates):
    """For every template and case: the text, or None and the error."""
    env = environment()
    for template, each in templates:
        try:
            compiled = env.from_string(template.source)
        except Exception as error:  # jinja2.TemplateError
            yield from ((None, str(error)) for _ in each)
            continue
        yield from (render(compiled, variables) for _, variables in each)


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


class Template:
    def __init__(self, name, source):
        self.name, self.source = name, source


def own_templates(folder):
    """A file with constructs is rendered once, or for conversations if it asks for messages; a line of fails.txt is a template."""
    few = {f"{conversation}, {option}": {"messages": CONVERSATIONS[conversation], **OPTIONS[option]}
           for conversation, option in FEW}
    for path in sorted(folder.glob("*.jinja")):
        template = Template(path.name, path.read_text())
        yield template, list(few.items()) if "messages" in template.source else [("alone", {})]
    for number, line in enumerate((folder / "fails.txt").read_text().splitlines(), 1):
        yield Template(f"fails.txt:{number}", line), [("alone", {})]


def published_templates(folder, names):
    for path in [folder / name for name in names] or sorted(folder.glob("*.jinja")):
        yield Template(path.name, path.read_text()), list(cases())


def rendered_by_skald(renderer, templates):
    lines = []
    for template, each in templates:
        lines.append(json.dumps({"template": template.source}))
        lines += [json.dumps({"variables": variables}) for _, variables in each]
    run = subprocess.run([renderer], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def names_without_template(source, templates):
    """Filters, tests, functions and methods in the tables of the interpreter that no template of ours uses."""
    used = set(re.findall(r"\w+", " ".join(template.source for template, _ in templates)))
    names = set()
    for file in (source / "src/chat").glob("*.cc"):
        if not file.name.endswith("_test.cc"):
            names |= set(re.findall(r'[{ ]\{"([a-z_]+)", [A-Z]\w*[<},]', file.read_text()))
    if len(names) < 100:
        raise AssertionError(f"only {len(names)} names found in src/chat: has the form of the tables changed?")
    return sorted(names - used)


def recorded(file, templates, wanted):
    """What was recorded in `file`, which is written anew first if it is `wanted`."""
    names = [f"{template.name}, {name}" for template, each in templates for name, _ in each]
    if wanted:
        texts = {name: text for name, (text, _) in zip(names, rendered_by_jinja(templates))}
        file.write_text(json.dumps(texts, indent=0, ensure_ascii=False) + "\n")
    texts = json.loads(file.read_text())
    if list(texts) != names:
        raise AssertionError(f"{file} has other cases than the templates: record them (--record)")
    return [(text, None if text is not None else "recorded so") for text in texts.values()]


def problems_of(templates, expected, answers):
    found = []
    pairs = iter(zip(expected, answers, strict=True))
    for template, each in templates:
        for (name, _), (want, got) in zip(each, pairs):
            problem = difference(f"{template.name}, {name}", want, got)
            if problem:
                found.append(problem)
            if name.startswith("hostile") and (trusted := trusted_hostility(got)) is not None:
                found.append(f"{template.name}, {name}: user text counts as the template's: {trusted!r}")
    return found


def main():
    renderer, source, suite = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if suite == "ChatTemplates":
        folder = source / "tests/data/templates"
        templates = list(own_templates(folder))
        expected = recorded(folder / "renderings.json", templates, "--record" in sys.argv)
        problems = [f"no template uses {name}" for name in names_without_template(source, templates)]
    else:
        templates = list(published_templates(shared_data(source, "templates"), sys.argv[4:]))
        expected = list(rendered_by_jinja(templates))
        problems = []
    problems += problems_of(templates, expected, rendered_by_skald(renderer, templates))
    for problem in problems[:SHOWN]:
        print(problem)
    rendered = sum(text is not None for text, _ in expected)
    print(f"{len(templates)} templates, {len(expected)} renderings ({rendered} succeed in Jinja), {len(problems)} differ")
    return 1 if problems or not expected else 0


if __name__ == "__main__":
    sys.exit(main())

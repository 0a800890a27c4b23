"""The examples in the public headers as a program: header_examples.py OUT.cc HEADER...

An example is what stands four spaces behind `///`. Each becomes a function, between what it takes for
granted (BEFORE) and what must be true at its end (AFTER). A header whose example is not listed here
is a failure, and so is a list entry without an example.
"""

import re
import sys
from pathlib import Path

BEFORE = {
    "bench": "const auto go_on = [] { return true; };",
    "chat_answer": """const std::string source = "<tool_call></tool_call> \\"arguments\\"";
  const ChatTemplate chat = *ChatTemplate::Create(source, {});
  const std::string text = R"(Hm. <tool_call>{"name":"add","arguments":{}}</tool_call>)";
  const auto tools =
      std::make_shared<const std::vector<ChatTool>>(std::vector<ChatTool>{{.name = "add"}});""",
    "chat_grammar": """const std::string source = "<tool_call></tool_call> \\"arguments\\"";
  const ChatTemplate chat = *ChatTemplate::Create(source, {});
  const ChatAnswerFormat format = ChatAnswerFormat::Of(chat, model.tokenizer());
  const std::vector<CallableTool> tools = {
      {.name = "add", .arguments = *Grammar::FromJsonSchema("{}", {.only_objects = true})}};""",
    "chat_template": """const std::string source = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const std::chrono::local_seconds now{};""",
    "constraint": "const std::string schema = \"true\";",
    "engine": "",
    "engine_plan": "",
    "engine_view": "Engine engine = *Engine::Create(model, {});",
    "explain": "",
    "figure": "",
    "grammar": "",
    # No hub listens there.
    "hub": """const HubOptions options{.cache_dir = "no_such_folder", .files_dir = "no_such_folder",
                           .endpoint = "http://127.0.0.1:9"};
  const PullWatch watch;""",
    "kernel_bench": "",
    "lab": "",
    "logits": """const std::vector<TokenId> tokens = {3, 300, 301};
  std::vector<std::vector<float>> rows;""",
    "machine": "",
    "model": "",
    "model_shape": "",
    "plan": "",
    "proof": "",
    "replay": """const Request request{.prompt = *model.tokenizer().Encode("A fox"), .stop = {.max_tokens = 4}};
  const std::vector<TokenId> output = Engine::Create(model, {})->Generate(
      request, [](const TokenEvent&) { return true; })->tokens;
  size_t drawn = 0;
  bool same = true;""",
    "receipt": """const Request request{.prompt = *model.tokenizer().Encode("A fox"),
                                                 .stop = {.max_tokens = 4}};
  std::vector<TokenDraw> draws;
  const auto watch = [&draws](const TokenEvent& event) {
    if (event.token != kNoToken) draws.push_back(event.draw);
    return true;
  };
  const std::vector<TokenId> output =
      Engine::Create(model, {})->Generate(request, watch)->tokens;""",
    "roofline": "",
    "quantize": "",
    "server": """Engine engine = *Engine::Create(model, {});
  const std::string secret(32, 'x');
  const auto clock = [] { return int64_t{0}; };
  EndSoon();""",
    "text_sink": """Engine engine = *Engine::Create(model, {});
  Request request{.prompt = *model.tokenizer().Encode("Once"), .stop = {.max_tokens = 8}};""",
    "trace": "std::ostream& file = std::cout;",
    "transcript": """Engine engine = *Engine::Create(model, {});
  Request request{.prompt = *model.tokenizer().Encode("Once"), .stop = {.max_tokens = 8}};
  Result<std::shared_ptr<TextSink>> sink = TextSink::Create(model.tokenizer(), request, {});""",
}
AFTER = {
    "bench": "seconds.ok() && share > 0",
    "chat_answer": 'pieces.size() == 3 && pieces[1].text == "add" && rest.empty()',
    "chat_grammar": "grammar.ok() && budget.steps > 0",
    "chat_template": 'prompt.ok() && prompt->text == "Hello"',
    "constraint": "constraint.ok()",
    "engine": "id.ok()",
    "engine_plan": "plan.ok() && plan->memory.total() > plan->memory.weights",
    "engine_view": "look.view == nullptr || !look.view->step.computing",
    "explain": "explanation.ok() && explanation->steps.size() == 8",
    "figure": 'svg.ends_with("</svg>\\n")',
    "grammar": "check.verdict == GrammarVerdict::kIncomplete && check.next.count() == 1",
    "hub": "!path.ok() && !model.ok()",
    "kernel_bench": "samples.ok() && samples->size() == 5 && share > 0",
    "lab": "result.ok() && result->is_clean",
    "logits": "status.ok() && rows.size() == 3",
    "machine": "machine.ok()",
    "model": "model.ok()",
    "model_shape": "shape.ok() && shape->info().parameters > 1'000'000",
    "roofline": 'svg.ends_with("</svg>\\n")',
    "plan": "decode.ok() && decode->tokens_per_second > 1000",
    "replay": "status.ok() && same && drawn == output.size()",
    "receipt": "verdict.ok() && verdict->holds",
    "proof": "first.ok() && other.ok() && same_bits",
    "quantize": "report.ok() && report->copied > 0 && report->bytes == static_cast<int64_t>(file.size())",
    "server": "server.ok() && status.ok()",
    "text_sink": "id.ok()",
    "trace": "engine.ok() && events.empty()",
    "transcript": "id.ok() && answer.best().tokens.size() == 8 && !answer.best().text.empty()",
}
# Pictures; what two processes do (tests/e2e/ranks_test.py runs it).
NO_CODE = {"request", "ranks"}

HEAD = """// Made by tests/examples/header_examples.py.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

"""

HELPERS = """
using namespace skald;

namespace {

// SIGTERM as soon as somebody listens for it.
void OnAlarm(int) {
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  if (now.sa_handler == SIG_DFL) {
    alarm(1);
  } else {
    kill(getpid(), SIGTERM);
  }
}

void EndSoon() {
  signal(SIGALRM, OnAlarm);
  alarm(1);
}

"""


def example_of(header: Path) -> tuple[int, list[str]]:
    """Line number and lines of the example in the head of a header; 0 if there is none."""
    first, lines = 0, []
    for number, line in enumerate(header.read_text().splitlines(), 1):
        if match := re.match(r"/// {5}(.*)", line):
            first = first or number
            lines.append(match[1])
        elif not line.startswith("///"):
            break
    return first, lines


def main() -> None:
    out, headers = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    functions, calls, seen = "", "", set()
    for header in sorted(headers):
        name = header.stem
        first, lines = example_of(header)
        if not first or name in NO_CODE:
            continue
        if name not in BEFORE:
            sys.exit(f"{header}: the example is not in the lists of {sys.argv[0]}")
        seen.add(name)
        body = "\n".join(lines)
        functions += (f"bool Example_{name}([[maybe_unused]] const Model& model) {{\n  {BEFORE[name]}\n  {{\n"
                      f'#line {first} "{header}"\n{body}\n    return {AFTER[name]};\n  }}\n}}\n\n')
        calls += f'  failed += Fails("{name}.h", Example_{name}(*model));\n'
    if seen != set(BEFORE):
        sys.exit(f"no example in the heads of: {sorted(set(BEFORE) - seen)}")
    includes = "".join(f'#include "skald/{header.name}"\n' for header in sorted(headers))
    out.write_text(
        HEAD + includes + HELPERS + functions +
        'int Fails(const char* header, bool ok) {\n  if (!ok) std::cerr << header << ": the example fails\\n";\n'
        "  return ok ? 0 : 1;\n}\n\n}  // namespace\n\n"
        'int main() {\n  const Result<Model> model = LoadModel({.path = "tales.gguf"});\n'
        "  if (!model.ok()) return 1;\n  int failed = 0;\n" + calls + "  return failed;\n}\n")


if __name__ == "__main__":
    main()

"""Every command that the documents and the help show is run as it stands there.

Run by ctest (test Examples), and by hand: python3 tests/examples/examples_test.py build/release/skald .

An example is a line of an indented block of a document, or behind "Examples:" in a help, that begins
with a command. One that cannot be run here stands in NOT_RUN with the reason; an entry there that no
document shows is a failure, as is a line of a block that is neither command nor known text.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

for folder in ("hub", "support"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))
from documents import commands_of
from fake_hub import FakeHub

TIMEOUT_S = 300
DOCUMENTS = ("README.md", "docs/first-hour.md", "docs/cli.md", "docs/chat.md", "docs/server.md", "docs/apis.md",
             "docs/performance.md", "docs/plan.md", "docs/trace.md", "docs/explain.md",
             "docs/receipts.md", "docs/lab.md", "docs/ranks.md")
COMMANDS = ("skald", "build/release/skald", "./run.sh", "cd", "curl", "cat", "printf", "source", "cmake", "git", "cmp",
            "python3 tools/", "python3 tests/", "llama-server", "openssl rand", "SKALD_MODELS=")

NOT_RUN = {
    'git clone <this repository> skald && cd skald': "needs the network",
    './run.sh "Once upon a time"': "installs packages and builds; .ci/run does so",
    './run.sh "The capital of France is" -m path/to/model.gguf -n 40': "the same, with another model",
    'cmake --preset release && cmake --build --preset release': "builds what this test tests",
    'cmake --install build/release --prefix ~/.local': "Install does so",
    'cd build/release && cpack -G DEB': "./test.sh --packages does so",
    'python3 tools/plan_check.py build/release/skald a.gguf b.gguf c.gguf': "there are no such files; plan_check tests it",
    'skald quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M': "there is no such file; Quantize has one",
    'skald grammar check --json-schema person.json \'{"name": "Ann"}\'': "the same as the next",
    'skald grammar check --gbnf chess.gbnf "1. e4 e5"': "there is no such file; GrammarCommand has one",
    'skald grammar check --regex pattern.txt --text-file answers.txt --lines': "the same",
    'skald proof --fault': "ends with exit code 1; Proof has one",
    'skald verify answer.json -m model.gguf --json': "there is no such file; Proof has one",
    'skald rm hf://owner/name-GGUF:Q6_K': "Pull has one",
    'skald rm my-model other-model': "there are no such models; Pull has one",
    'skald rm --dry-run hf://owner/name-GGUF': "Pull has one",
    'skald cache ls DIR': "there is no such folder; E2eDiskCache has one",
    'skald cache verify DIR': "the same",
    'skald cache rm DIR': "the same",
    'skald cache ls ~/skald-cache': "the same",
    'skald serve -m model.gguf --ranks 2 --rank-listen 10.0.0.1:7000 --rank-key rank.key':
        "needs two machines; E2eRankMachines has them on one",
    'skald serve -m model.gguf --ranks 3 --rank-listen 10.0.0.1:7000 --rank-key rank.key': "the same",
    'skald rank 10.0.0.1:7000 --rank-key rank.key -m model.gguf': "the same",
    'skald pull https://host/models/model.gguf': "there is no such host; Pull has one",
    'skald bench -m model.gguf --against "llama-bench -fa 1"': "needs llama-bench; Bench has one in its place",
    'skald bench -m model.gguf -t 2 --against "llama-bench -fa 1"': "the same",
    'skald bench -t 2 -m FILE -p 512 -n 32 -r 5 --against "llama-bench -fa 1"': "the same",
    "skald serve -m FILE -c 32768 -t 2": "what a measurement ran; there is no such file",
    "llama-server -m FILE -c 65536 -np 2 -t 2 -fa on --chat-template chatml": "the same, of another program",
    "python3 tests/soak/agent_session.py URL --turns 12 --system 3000 --result 200": "the same, minutes of a quiet machine",
    "skald serve -m FILE -c 4096 -t 2": "a server of a measurement",
    "llama-server -m FILE -c 4096 -np 1 -t 2 -fa on": "the same, of another program",
    "python3 tests/soak/schema_speed.py URL SCHEMAS.jsonl": "the same, minutes of a quiet machine",
}
# Of README.md, run from top to bottom where it installs what it says: ./test.sh --packages.
OF_PACKAGES = re.compile(r"^## From the packages\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
# Blocks that show what skald prints, or how a command line is built.
TEXT = (
    r"prompt 5 tokens, 120 tok/s \|",
    r"skald (run \[MODEL\]|chat \[|serve \[|tokenize \[|embed \[|show \[|plan \[|proof \[|explain \[|lab \[|completion SHELL|--version, )",
    r"skald (logits|ls|bench) {3,}",
    r"skald rank HOST:PORT ",
    r"(mpirun -np|-np 2 -host|[0-9-]+ +skald (serve|rank)) ",  # what launchers of other machines read
    r"skald verify RECEIPT ",
    r"skald rm (MODEL\.\.\.|\[--dry-run\] MODEL)",
    r"skald cache ls\|verify\|rm DIR ",
    r"skald quantize IN OUT TYPE ",
    r"skald grammar check \[TEXT\] ",
    r"skald trace summary FILE, ",
    r"skald pull (MODEL|hf://owner/name\[|https://host/path)",
    r"(# KEY  |sk-0123456789abcdef  |sk-of-the-dashboard  |a-key-without-settings$)",  # a file of keys
)
# Measurements are cut short by flags that come last and win: what is tested is that the example is
# accepted and ends well.
SHORTER = (
    (r"skald bench\b.*--traffic", "--num-prompts 2 --prefix-len 16 --input-len 16 --output-len 4"),
    (r"skald bench\b(?!.*--traffic)", "-r 1 -p 16 -n 2"),
)


class Setup:
    binary = ""
    source = Path()


def commands_of_help(text: str) -> list[str]:
    found = []
    for line in text.partition("Examples:\n")[2].splitlines():
        if not line.startswith("  "):
            break
        if found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + line.strip()
        else:
            found.append(line.strip())
    return found


def split_remark(line: str) -> tuple[str, str]:
    """The command, and what stands two spaces behind it, but not within quotes."""
    quoted = None
    for i, c in enumerate(line):
        if quoted:
            quoted = None if c == quoted else quoted
        elif c in "'\"":
            quoted = c
        elif line.startswith("  ", i):
            return line[:i].strip(), line[i:].strip().removeprefix("#").strip()
    return line.strip(), ""


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        model = Setup.source / "models/tales/tales.gguf"
        for place in ("bin", "build/release"):
            (cls.at / place).mkdir(parents=True)
            (cls.at / place / "skald").symlink_to(Setup.binary)
        (cls.at / "model.gguf").symlink_to(model)
        (cls.at / "models").mkdir()
        for place in (".zfunc", ".config/fish/completions"):
            (cls.at / place).mkdir(parents=True)
        for name in ("prompt.txt", "text.txt", "document.txt", "chat.txt"):
            (cls.at / name).write_text("The fox and the lantern.\n")
        (cls.at / "ids.txt").write_text("1,403,407\n")
        (cls.at / "keys.txt").write_text("a-key-of-more-than-enough-characters-0123456789\n")
        (cls.at / "conversations.jsonl").write_text(
            '{"timestamp": 0, "input_length": 64, "output_length": 8, "hash_ids": [1]}\n' * 2)
        cls.env = {**os.environ, "HOME": str(cls.at), "PATH": f"{cls.at}/bin:{os.environ['PATH']}"}
        for name in ("SKALD_MODELS", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE"):
            cls.env.pop(name, None)
        # Every repository has the bundled model in all sizes.
        tales = model.read_bytes()
        cls.hub = FakeHub({f"model-{size}.gguf": tales for size in ("Q4_K_M", "Q6_K", "Q8_0")},
                          repository="[^/]+/[^/]+")
        cls.hub.__enter__()
        cls.env.update(HF_ENDPOINT=cls.hub.endpoint, no_proxy="*")
        cls.seen = set()

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()
        cls.folder.cleanup()

    def serve(self, command: str) -> tuple[subprocess.Popen, str]:
        """Starts a server on any free port of this machine; its address once it serves."""
        command = re.sub(r" --port \d+", "", command).replace("0.0.0.0", "127.0.0.1") + " --port 0"
        server = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.at, env=self.env,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in server.stderr:
            if match := re.search(rb"serving \S+ on http://(\S+)/v1", line):
                return server, match[1].decode()
        server.stderr.close()
        self.fail(f"{command}: exit {server.wait()}")

    def stop(self, server: subprocess.Popen) -> None:
        server.send_signal(signal.SIGTERM)
        server.stderr.close()
        self.assertEqual(server.wait(timeout=TIMEOUT_S), 0)

    def shell(self, command: str) -> str:
        done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.at, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr.decode()}")
        return done.stdout.decode()

    def check(self, line: str) -> None:
        command, remark = split_remark(line)
        if any(re.match(text, line) for text in TEXT):
            return
        self.assertTrue(command.startswith(COMMANDS), f"neither a command nor known text: {line!r}")
        if command in NOT_RUN:
            self.seen.add(command)
            return
        if command.startswith("curl"):
            server, address = self.serve("skald serve --receipts")
            answer = self.shell(re.sub(r"127\.0\.0\.1:\d+", address, command) + " --fail --silent --show-error")
            self.stop(server)
            self.assertRegex(answer, '"(choices|output|content|response)": ?["\\[]')
            return
        if re.search(r"skald serve\b", command):
            self.stop(self.serve(command)[0])
            return
        for pattern, flags in SHORTER:
            if re.match(pattern, command):
                command += " " + flags
                break
        shown = self.shell(command)
        if re.fullmatch(r"[\d,]{3,}", remark):
            self.assertEqual(shown.strip(), remark, command)
        if remark == "the text again":
            self.assertEqual(shown.strip(), "Once upon a time")

    def test_documents(self):
        for name in DOCUMENTS:
            lines = commands_of(OF_PACKAGES.sub("", (Setup.source / name).read_text()))
            self.assertTrue(lines, name)
            for line in lines:
                with self.subTest(line, document=name):
                    self.check(line)

    def test_helps(self):
        overview = self.shell("skald --help")
        verbs = re.findall(r"^  (\w+) +[A-Z]", overview.partition("Subcommands:")[2], re.MULTILINE)
        self.assertGreaterEqual(len(verbs), 9, overview)
        for verb in ("", *verbs):
            lines = commands_of_help(self.shell(f"skald {verb} --help"))
            self.assertTrue(lines, f"no examples in the help of {verb!r}")
            for line in lines:
                with self.subTest(line, verb=verb):
                    self.check(line)

    def test_zz_what_is_not_run_is_shown_somewhere(self):
        self.assertEqual(self.seen, set(NOT_RUN))


def main() -> None:
    Setup.binary, Setup.source = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
    for tool in ("bash", "curl", "jq"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing, which the examples use (tools/packages.txt)")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

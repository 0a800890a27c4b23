"""Starting skald from a test: one place for the binary, the models and the ways to run it."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from shared_data import shared_data  # noqa: E402

# A hang is a failure; sanitizer builds on a busy machine are slow.
TIMEOUT_S = 120


class Setup:
    """What the command line of the test gave; filled in by cli_test.main."""

    binary = ""
    source = Path()


def shared_model() -> Path:
    """The trained model of the team's test data, which lies beside the checkout."""
    path = shared_data(Setup.source, "models/stories260K.gguf")
    if not path.is_file():
        raise AssertionError(f"test data is missing: {path} (the folder shared/ beside the checkout)")
    return path


def bundled_model() -> Path:
    """The model that comes with the source."""
    path = Setup.source / "models/tales/tales.gguf"
    if not path.is_file():
        raise AssertionError(f"the bundled model is missing: {path}")
    return path


def golden_model(name: str) -> Path:
    """A golden model (tests/golden), which the build writes beside the binary."""
    path = Path(Setup.binary).parent / "golden" / (name + ".gguf")
    if not path.is_file():
        raise AssertionError(f"the golden model is missing: {path} (the target golden_models writes it)")
    return path


def environment(**changes: str) -> dict[str, str]:
    """The test's environment without what would change the command's behaviour."""
    kept = dict(os.environ)
    for name in ("SKALD_MODELS", "XDG_DATA_HOME", "XDG_CACHE_HOME", "NO_COLOR", "CLICOLOR_FORCE", "HF_HUB_CACHE",
                 "HUGGINGFACE_HUB_CACHE", "HF_HOME", "HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE",
                 "OLLAMA_MODELS", "LLAMA_CACHE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        kept.pop(name, None)
    kept["HOME"] = tempfile.gettempdir()
    kept["HF_HUB_OFFLINE"] = "1"  # no test asks the internet
    kept.update(changes)
    return kept


def run(*arguments: str | bytes, stdin: bytes = b"", **options) -> subprocess.CompletedProcess:
    """Runs the command to its end; stdout and stderr are bytes."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("env", environment())
    return subprocess.run(
        [Setup.binary, *arguments], input=stdin, timeout=TIMEOUT_S, check=False, **options
    )


def run_json(*arguments: str | bytes) -> dict:
    """Runs `skald ... --json`, which must succeed, and parses what it printed."""
    done = run(*arguments, "--json")
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def nearly_full_pipe(room: int) -> tuple[int, int, int]:
    """A pipe that holds `room` more bytes before a writer blocks: (read end, write end, filler)."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = 0
    try:
        while True:
            filled += os.write(writer, b"#" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    # Room comes in whole pages: a page that was read is free as a whole.
    page = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) // 16
    drained = len(os.read(reader, page))
    os.write(writer, b"#" * (page - room))
    return reader, writer, filled - drained + page - room


def writer_is_stuck(reader: int, filler: int) -> bool:
    """Whether something was written behind `filler` bytes of a pipe, and now nothing more comes."""
    def pending() -> int:
        return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), "little")

    before = pending()
    time.sleep(0.1)  # many tokens of the bundled model
    return filler < before == pending()


def drain(reader: int) -> bytes:
    """Everything until the last writer closes."""
    parts = []
    while part := os.read(reader, 65536):
        parts.append(part)
    return b"".join(parts)


def catches_interrupt(pid: int) -> bool:
    """Whether the process has a handler for SIGINT at this moment."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)
    return False


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {TIMEOUT_S} s in vain until {what}")
        time.sleep(0.005)


def instruction_sets() -> list[str]:
    """The names that --isa takes, but best."""
    return re.search(r"best((\|\w+)+)", run("run", "--help").stdout.decode())[1].split("|")[1:]

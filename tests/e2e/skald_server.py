"""skald serve as a process, and HTTP by hand: what the suites of this folder share.

Requests are written and answers read byte by byte: a client library would repair what the suites
want to send broken.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

# A hang is a failure; sanitizer builds on a busy machine are slow.
TIMEOUT_S = 120


class Setup:
    """What the command line of a suite gave; filled in by configure()."""

    binary = ""
    model = ""
    sanitized = False  # timings and memory say nothing


def configure(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Adds what every suite takes to its command line, parses it, fills in Setup."""
    parser.add_argument("binary", help="the command skald")
    parser.add_argument("source", type=Path, help="the top of the checkout")
    parser.add_argument("--sanitized", action="store_true",
                        help="a build with sanitizers: memory and times are not judged")
    options = parser.parse_args()
    Setup.binary = options.binary
    Setup.model = str(options.source / "models/tales/tales.gguf")
    Setup.sanitized = options.sanitized
    return options


@dataclass
class Reply:
    """An answer as it came. status 0: the server closed without one."""

    status: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0  # from the first byte sent to the end of the head
    queued_seconds: float = 0.0  # of these, what the threads waited for a processor (Server.exchange)

    @property
    def own_seconds(self) -> float:
        """The time without what other programs took: what a bound is about, on a machine busy with something else."""
        return max(0.0, self.seconds - self.queued_seconds)

    def json(self):
        return json.loads(self.body)

    def error(self) -> dict:
        return self.json()["error"]


def head(method: str, path: str, *fields: str, host: str = "127.0.0.1") -> bytes:
    """A request's head; `fields` are whole lines."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def post(path: str, body: bytes | dict, *fields: str) -> bytes:
    """A POST of JSON, whole."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    return head("POST", path, "Content-Type: application/json",
                f"Content-Length: {len(body)}", *fields) + body


def completion(**fields) -> bytes:
    """A POST of a small completion, with `fields` over it."""
    return post("/v1/completions", {"prompt": "The fox", "max_tokens": 2, **fields})


def parse_head(text: bytes) -> Reply:
    lines = text.decode("latin-1").split("\r\n")
    reply = Reply(status=int(lines[0].split(" ")[1]))
    for line in lines[1:]:
        name, _, value = line.partition(":")
        reply.fields[name.lower()] = value.strip()
    return reply


class Wire:
    """One connection, blocking."""

    def __init__(self, port: int, timeout: float = TIMEOUT_S, source: str = "127.0.0.1"):
        """`source`: the client's own address, any of 127.0.0.0/8."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout, source_address=(source, 0))
        if self.socket.getsockname() == self.socket.getpeername():
            # Nobody listens, and the system gave this end the very port that is asked: it would talk to itself.
            self.socket.close()
            raise ConnectionRefusedError(f"nobody listens at port {port}")
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # It grows in place: a client that copies megabytes at each piece is what its other threads wait for.
        self.buffer = bytearray()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with a reset instead of a farewell."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data: bytes):
        """Sends until all is out or the server has heard enough."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def until(self, end: bytes) -> bytes:
        """What comes before `end`, which is consumed; b"" if the connection ends first."""
        while (at := self.buffer.find(end)) < 0:
            if not self.more():
                return b""
        found = bytes(self.buffer[:at])
        del self.buffer[: at + len(end)]
        return found

    def exactly(self, count: int) -> bytes:
        while len(self.buffer) < count and self.more():
            pass
        found = bytes(self.buffer[:count])
        del self.buffer[:count]
        return found

    def chunks(self):
        """The chunks of a chunked body."""
        while size := int(self.until(b"\r\n") or b"0", 16):
            yield self.exactly(size)
            self.exactly(2)
        self.exactly(2)

    def head(self) -> Reply:
        """The head of the next answer that is not an interim one."""
        while True:
            text = self.until(b"\r\n\r\n")
            if not text:
                return Reply()
            reply = parse_head(text)
            if reply.status >= 200:
                return reply

    def reply(self) -> Reply:
        """The next answer, whole."""
        reply = self.head()
        self.read_body(reply)
        return reply

    def read_body(self, reply: Reply):
        """Reads what follows the head of `reply` into it."""
        if reply.fields.get("transfer-encoding") == "chunked":
            reply.body = b"".join(self.chunks())
        else:
            reply.body = self.exactly(int(reply.fields.get("content-length", "0")))

    def ended(self) -> bool:
        """Waits for the server to close; False if it says something more."""
        return not self.buffer and not self.more()


def queued_seconds(*pids: int) -> float:
    """How long the threads of these processes have been ready to run without a processor, in sum."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(task.read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass  # the thread has ended
    return total / 1e9


def own_queued_seconds() -> float:
    """How long this thread has been ready to run without a processor."""
    with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
        return int(file.read().split()[1]) / 1e9


def exchange(port: int, data: bytes, timeout: float = TIMEOUT_S, source: str = "127.0.0.1") -> Reply:
    """Sends `data` on a connection of its own and reads the answer."""
    with Wire(port, timeout, source) as wire:
        begin = time.perf_counter()
        wire.send(data)
        reply = wire.head()
        reply.seconds = time.perf_counter() - begin
        wire.read_body(reply)
        return reply


def free_port() -> int:
    """A port that nobody listens at. It lies below those that the kernel gives to whoever asks for any, for all that runs
    beside asks for many of these before ours is taken."""
    while True:
        port = random.randrange(20_000, 32_768)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


class Server:
    """A running skald serve."""

    def __init__(self, *options: str, keys: tuple[str, ...] = (), model: str = "", **popen):
        self.folder = tempfile.TemporaryDirectory(prefix="skald-e2e-")
        command = [Setup.binary, "serve", "-m", model or Setup.model, "--port", "0", *options]
        if keys:
            path = Path(self.folder.name) / "keys"
            # The first may read the metrics.
            path.write_text("\n".join((f"{keys[0]} admin", *keys[1:])) + "\n")
            path.chmod(0o600)
            command += ["--api-key-file", str(path)]
        self.key = keys[0] if keys else ""
        self.log = Path(self.folder.name) / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=popen.pop("stderr", log), **popen)
        self.port = 0

    def __enter__(self) -> "Server":
        self.wait_ready()
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            said = self.log.read_text(errors="replace")
            self.folder.cleanup()
        if kind is None and code != 0:
            raise AssertionError(f"skald serve ended with {code}: {said[-2000:]}")

    def wait_ready(self):
        deadline = time.monotonic() + TIMEOUT_S
        while not self.port:
            said = self.log.read_text(errors="replace")
            if found := re.search(r"serving .* on http://127\.0\.0\.1:(\d+)/v1", said):
                self.port = int(found[1])
            elif self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"skald serve did not start: {said}")
            else:
                time.sleep(0.01)

    def exchange(self, data: bytes, timeout: float = TIMEOUT_S, source: str = "127.0.0.1") -> Reply:
        queued = queued_seconds(self.process.pid, os.getpid())
        reply = exchange(self.port, data, timeout, source)
        reply.queued_seconds = queued_seconds(self.process.pid, os.getpid()) - queued
        return reply

    def get(self, path: str) -> Reply:
        fields = [f"Authorization: Bearer {self.key}"] if self.key else []
        return self.exchange(head("GET", path, *fields))

    def slots(self) -> dict:
        return self.get("/slots").json()

    def settle(self, seconds: float = TIMEOUT_S) -> dict:
        """Waits until nothing runs, waits or holds pages."""
        deadline = time.monotonic() + seconds
        while True:
            slots = self.slots()
            pages = slots["pages"]
            if slots["running"] == slots["waiting"] == pages["held"] == 0:
                if pages["free"] + pages["cached"] != pages["total"]:
                    raise AssertionError(f"pages are missing: {pages}")
                return slots
            if time.monotonic() > deadline:
                raise AssertionError(f"still at work: {slots}")
            time.sleep(0.005)

    def rss_kib(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def alive(self) -> bool:
        return self.process.poll() is None


async def ask(port: int, body: dict, key: str = "", path: str = "/v1/completions") -> Reply:
    """One request on a connection of its own, without blocking others; a stream is read to its
    end, and `fields` get "first-seconds": until the first event, and "first-queued-seconds": what of it
    this thread waited for a processor."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    fields = ["Connection: close"] + ([f"Authorization: Bearer {key}"] if key else [])
    begin, queued = time.perf_counter(), own_queued_seconds()
    writer.write(post(path, body, *fields))
    try:
        reply = parse_head(await reader.readuntil(b"\r\n\r\n"))
        reply.seconds = time.perf_counter() - begin
        if reply.fields.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                reply.body += await reader.readexactly(size)
                if "first-seconds" not in reply.fields:
                    reply.fields["first-seconds"] = str(time.perf_counter() - begin)
                    reply.fields["first-queued-seconds"] = str(own_queued_seconds() - queued)
                await reader.readexactly(2)
        else:
            reply.body = await reader.readexactly(int(reply.fields["content-length"]))
        return reply
    finally:
        writer.close()


def events(body: bytes) -> list[dict]:
    """The JSON of a stream's events, after the form of the stream is checked."""
    frames = [frame for frame in body.split(b"\n\n") if frame and not frame.startswith(b":")]
    if not frames or frames[-1] != b"data: [DONE]":
        raise AssertionError(f"the stream does not end with [DONE]: {body[-200:]!r}")
    for frame in frames:
        if not frame.startswith(b"data: ") or b"\n" in frame or b"\r" in frame:
            raise AssertionError(f"not one line of data: {frame!r}")
    return [json.loads(frame[6:]) for frame in frames[:-1]]


def texts(reply: Reply) -> list[str]:
    """The texts of all choices, from a whole answer or from a stream."""
    if "event-stream" not in reply.fields.get("content-type", ""):
        return [choice["text"] for choice in reply.json()["choices"]]
    found: dict[int, str] = {}
    for event in events(reply.body):
        for choice in event["choices"]:
            found[choice["index"]] = found.get(choice["index"], "") + choice["text"]
    return [text for _, text in sorted(found.items())]

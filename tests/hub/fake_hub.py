"""A model hub on this machine: the routes of Hugging Face that a pull uses, and another host behind it
that has the files. Both count what they are asked for, and misbehave on request."""

import hashlib
import json
import re
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "c" * 40

# Of 127.0.0.1 and localhost, signed by itself, with its key: openssl req -x509 -newkey ec
# -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=localhost
# -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout - -out -
CERTIFICATE = Path(__file__).resolve().parent / "localhost.pem"


@dataclass
class Behaviour:
    """What the host of the files does. Each is of one kind of fault."""

    ranges: bool = True
    cut_after: int = 0  # bytes of each answer until the connection breaks; 0: never
    cuts: int = 1 << 30  # how often it breaks
    stalls: int = 0  # answers that stop in the middle and go on for ever
    pause: float = 0.0  # seconds between two blocks of 64 KiB
    failures: list[int] = field(default_factory=list)  # statuses of the next answers
    surplus: bytes = b""  # behind what was promised
    shift: int = 0  # bytes by which ranges are off
    said_total: int | None = None  # the length that it claims
    altered: bool = False  # one bit of the file is another
    changes_after: int = 0  # answers, then it is another file of that length; 0: never
    etag: str = '"tag"'
    redirect: str = ""  # where it sends who wants a file


class FakeHub:
    """Use as a context. `files` is what the repository owner/name holds; with `repository` a pattern,
    every repository that it matches."""

    def __init__(self, files: dict[str, bytes], token: str = "", page: int = 1000,
                 repository: str = "owner/name", secure: tuple[bool, bool] = (False, False)):
        self.secure = secure  # whether the hub, and the host of the files, speak TLS
        self.files = files
        self.repository = repository
        self.token = token
        self.page = page
        self.next_host = ""  # of the second page of the list
        self.behaviour = Behaviour()
        self.asked: list[tuple[str, dict[str, str]]] = []  # paths with their headers
        self.sent = 0  # bytes of files
        self.answers = 0  # counted where a file changes
        self.lock = threading.Lock()

    def __enter__(self):
        self.host = self._serve(lambda handler: self._answer_hub(handler), self.secure[0])
        self.store = self._serve(lambda handler: self._answer_store(handler), self.secure[1])
        schemes = ["https" if secure else "http" for secure in self.secure]
        self.endpoint = f"{schemes[0]}://127.0.0.1:{self.host.server_port}"
        self.store_url = f"{schemes[1]}://localhost:{self.store.server_port}"
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        for server in (self.host, self.store):
            server.shutdown()
            server.server_close()

    def _serve(self, answer, secure: bool) -> ThreadingHTTPServer:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # clients go away in the middle: that is what is tested

        server = Server(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            # The handshake is for the thread of the connection, so that one client waits for no other.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    @staticmethod
    def send(handler, status: int, body: bytes, **headers: str) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _note(self, handler) -> None:
        with self.lock:
            self.asked.append((handler.path, dict(handler.headers)))

    # --- the hub -------------------------------------------------------------------------------

    def _answer_hub(self, handler) -> None:
        self._note(handler)
        path = re.sub(f"^(/api/models)?/{self.repository}/", r"\1/owner/name/", handler.path)
        if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
            return self.send(handler, 401, b"Invalid username or password.")
        if path in ("/api/models/owner/name/revision/main", f"/api/models/owner/name/revision/{COMMIT}"):
            return self.send(handler, 200, json.dumps({"id": "owner/name", "sha": COMMIT}).encode())
        if path.startswith(f"/api/models/owner/name/tree/{COMMIT}?recursive=true"):
            return self._answer_tree(handler)
        found = re.fullmatch(f"/owner/name/resolve/{COMMIT}/(.+)", path)
        if found and found[1] in self.files:
            where = self.behaviour.redirect or f"{self.store_url}/{found[1]}"
            return self.send(handler, 302, b"Found", Location=where,
                             X_Linked_Etag=f'"{hashlib.sha256(self.files[found[1]]).hexdigest()}"')
        return self.send(handler, 404, b"Repository not found")

    def _answer_tree(self, handler) -> None:
        entries = [{"type": "directory", "path": "sub", "oid": "d" * 40, "size": 0}]
        for path, content in self.files.items():
            digest = hashlib.sha256(content).hexdigest()
            entries.append({"type": "file", "path": path, "oid": "e" * 40, "size": len(content),
                            "lfs": {"oid": digest, "size": len(content), "pointerSize": 130}})
        cursor = re.search("cursor=([0-9]+)", handler.path)
        begin = int(cursor[1]) if cursor else 0
        headers = {}
        if begin + self.page < len(entries):
            host = self.next_host or self.endpoint
            rest = f"{host}/api/models/owner/name/tree/{COMMIT}?recursive=true&cursor={begin + self.page}"
            headers["Link"] = f'<{rest}>; rel="next"'
        self.send(handler, 200, json.dumps(entries[begin : begin + self.page]).encode(), **headers)

    # --- the host of the files -----------------------------------------------------------------

    def _answer_store(self, handler) -> None:
        self._note(handler)
        does = self.behaviour
        content = self.files.get(handler.path.split("?")[0].strip("/"))
        if content is None:
            return self.send(handler, 404, b"no such file")
        with self.lock:
            failure = does.failures.pop(0) if does.failures else 0
        if failure:
            return self.send(handler, failure, b"busy", Retry_After="0")
        tag = does.etag
        if does.changes_after:
            with self.lock:
                self.answers += 1
                if self.answers > does.changes_after:
                    content, tag = bytes(len(content)), '"another"'
        if does.altered:
            content = content[:-1] + bytes([content[-1] ^ 1])
        asked = re.fullmatch("bytes=([0-9]+)-([0-9]+)", handler.headers.get("Range", ""))
        wants_other = handler.headers.get("If-Range", tag) != tag
        total = does.said_total if does.said_total is not None else len(content)
        if not asked or not does.ranges or wants_other:
            handler.send_response(200)
            handler.send_header("ETag", tag)
            handler.send_header("Content-Length", str(total))
            handler.end_headers()
            return self._send_slowly(handler, content)
        first = int(asked[1]) + does.shift
        body = content[first : int(asked[2]) + 1 + does.shift]
        handler.send_response(206)
        handler.send_header("ETag", tag)
        handler.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{total}")
        handler.send_header("Content-Length", str(len(body) + len(does.surplus)))
        handler.end_headers()
        self._send_slowly(handler, body + does.surplus)
        return None

    def _send_slowly(self, handler, body: bytes) -> None:
        does = self.behaviour
        block = 65536
        for begin in range(0, len(body), block):
            end = min(begin + block, len(body))
            with self.lock:
                cuts = 0 < does.cut_after < end and does.cuts > 0
                if cuts:
                    does.cuts -= 1
            if cuts:
                part = body[begin : max(begin, does.cut_after)]
                handler.wfile.write(part)
                with self.lock:
                    self.sent += len(part)
                handler.close_connection = True
                handler.connection.close()
                return
            with self.lock:
                stalls = does.stalls > 0 and end == len(body) and len(body) > 1
                if stalls:
                    does.stalls -= 1
            if stalls:
                handler.wfile.write(body[begin : begin + 10])
                time.sleep(5)
                handler.close_connection = True
                return
            handler.wfile.write(body[begin:end])
            with self.lock:
                self.sent += end - begin
            if does.pause:
                time.sleep(does.pause)

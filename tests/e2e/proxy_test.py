"""deploy/haproxy.cfg and deploy/nginx.conf as they are shipped, with two replicas: affinity holds, and
one may die.

Run by ctest (test E2eProxy), and by hand:
python3 tests/e2e/proxy_test.py build/release/skald . [--haproxy /usr/sbin/haproxy] [--nginx /usr/sbin/nginx]

Only the addresses in the file are replaced.
"""

import argparse
import asyncio
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from skald_server import Server, Wire, ask, configure, events, exchange, free_port, head, post, texts

KEY = "sk-the-key-of-the-proxy-suite"
LONG = "Once upon a time there was a {} who lived in a big house by the deep blue sea with friends."


# The shipped file goes into nginx's http block, as its head says.
NGINX_FRAME = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors; user root;
events {{}}
http {{
access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
{text}
}}
"""


class Proxied:
    """A proxy with the shipped configuration before two replicas."""

    def __init__(self, stack: ExitStack, kind: str = "haproxy"):
        self.replicas = [stack.enter_context(Server(keys=(KEY,))) for _ in range(2)]
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        # A port that was free may be another test's when the proxy asks for it: then it ends at once.
        for _ in range(10):
            self.port = free_port()
            if self.starts(kind, folder, stack):
                return
        raise AssertionError(f"{kind} does not serve")

    def starts(self, kind: str, folder: str, stack: ExitStack) -> bool:
        """Starts the proxy; whether it serves."""
        file = Path(folder) / "config"
        if kind == "haproxy":
            file.write_text(self.with_ports("haproxy.cfg"))
            command = [Proxy.haproxy, "-db", "-f", str(file)]
        else:
            file.write_text(NGINX_FRAME.format(folder=folder, text=self.with_ports("nginx.conf")))
            command = [Proxy.nginx, "-p", folder, "-c", str(file)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return False
            if self.serves():
                return True
            time.sleep(0.05)
        raise AssertionError(f"{kind} does not serve")

    def with_ports(self, name: str) -> str:
        """A shipped configuration with the ports of this test."""
        text = (Proxy.source / "deploy" / name).read_text()
        for shipped, here in ((8080, self.port), (8081, self.replicas[0].port), (8082, self.replicas[1].port)):
            text, count = re.subn(rf"^(\s+(?:bind|listen|server|server \w) 127\.0\.0\.1):{shipped}\b", rf"\1:{here}",
                                  text, flags=re.MULTILINE)
            if count != 1:
                raise AssertionError(f"port {shipped} stands {count} times in {name}")
        return text

    def serves(self) -> bool:
        try:
            return exchange(self.port, head("GET", "/readyz")).status == 200
        except ConnectionRefusedError:
            return False

    def ask(self, prompt: str, *fields: str, **more):
        body = {"prompt": prompt, "max_tokens": 2, "temperature": 0, **more}
        return exchange(self.port, post("/v1/completions", body, f"Authorization: Bearer {KEY}", *fields))

    def answered(self) -> list[int]:
        """How many requests each replica has run."""
        counts = []
        for replica in self.replicas:
            found = re.search(r"^skald_requests_submitted_total\S* (\d+)", replica.get("/metrics").body.decode(), re.M)
            counts.append(int(found[1]))
        return counts


class Proxy(unittest.TestCase):
    source = Path()
    haproxy = "haproxy"
    nginx = ""

    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)

    def run_of(self, proxied: Proxied, requests) -> int:
        """Which replica got all of `requests` (functions); fails if they were shared out."""
        before = proxied.answered()
        for request in requests:
            self.assertEqual(request().status, 200)
        moved = [after - then for after, then in zip(proxied.answered(), before)]
        self.assertIn(0, moved)
        return moved.index(len(requests))

    def test_the_same_beginning_goes_to_the_same_replica(self):
        proxied = Proxied(self.stack)
        used = set()
        for number in range(12):
            opening = LONG.format(number) * 12
            self.assertGreater(len(opening), 1024)
            used.add(self.run_of(proxied, [
                lambda end=end: proxied.ask(opening + end) for end in ("One", "Two", "Three")]))
        self.assertEqual(used, {0, 1}, "all went one way")

    def test_a_user_stays_with_a_replica_and_its_cache(self):
        proxied = Proxied(self.stack)
        used = set()
        for number in range(12):
            prompt = LONG.format(f"hero number {number}")
            replies = []

            def ask_again():
                replies.append(proxied.ask(prompt, f"X-Affinity: user-{number}"))
                return replies[-1]

            used.add(self.run_of(proxied, [ask_again] * 3))
            usage = replies[-1].json()["usage"]
            self.assertEqual(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 1)
        self.assertEqual(used, {0, 1}, "all users went to one replica")

    def test_streams_pass_as_they_come(self):
        self.check_streams(Proxied(self.stack))

    def test_nginx_passes_streams_and_keeps_users_at_their_replica(self):
        if not Proxy.nginx:
            self.skipTest("no nginx")
        proxied = Proxied(self.stack, "nginx")
        used = {self.run_of(proxied, [lambda: proxied.ask(LONG, f"X-Affinity: user-{number}")] * 3)
                for number in range(12)}
        self.assertEqual(used, {0, 1}, "all users went to one replica")
        self.check_streams(proxied)
        victim = proxied.replicas[0]
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        for number in range(12):
            self.assertEqual(proxied.ask(LONG, f"X-Affinity: user-{number}").status, 200)
        victim.process.returncode = 0  # it was meant to

    def check_streams(self, proxied: Proxied):
        body = {"prompt": "The fox", "max_tokens": 480, "n": 8, "ignore_eos": True, "stream": True}
        for _ in range(3):  # a test that is stopped for a while sees the first event late
            with Wire(proxied.port) as wire:
                wire.send(post("/v1/completions", body, f"Authorization: Bearer {KEY}"))
                reply = wire.head()
                self.assertEqual(reply.status, 200)
                chunks = wire.chunks()
                reply.body = next(chunks)
                still_runs = any(replica.slots()["running"] for replica in proxied.replicas)
                reply.body += b"".join(chunks)
            self.assertGreater(len(events(reply.body)), 100)
            if still_runs:
                return
        self.fail("the first event comes when the stream is over")

    def test_who_hangs_up_stops_computing(self):
        proxied = Proxied(self.stack)
        for stream in (True, False):
            with Wire(proxied.port) as wire:
                body = {"prompt": "The fox", "max_tokens": 480, "n": 8, "ignore_eos": True, "stream": stream}
                wire.send(post("/v1/completions", body, f"Authorization: Bearer {KEY}"))
                time.sleep(0.05)
            for replica in proxied.replicas:
                replica.settle()

    def test_one_replica_dies_and_requests_go_on(self):
        proxied = Proxied(self.stack)
        prompts = [LONG.format(f"child of {i}") for i in range(24)]
        golden = [texts(proxied.ask(prompt, f"X-Affinity: {i}")) for i, prompt in enumerate(prompts)]
        victim = proxied.replicas[0]
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        for i, prompt in enumerate(prompts):
            reply = proxied.ask(prompt, f"X-Affinity: {i}")
            self.assertEqual(reply.status, 200, reply.body)
            self.assertEqual(texts(reply), golden[i])
        victim.process.returncode = 0  # it was meant to

    def test_a_replica_that_drains_loses_nothing(self):
        proxied = Proxied(self.stack)

        async def users():
            bodies = [{"prompt": f"The {i}", "max_tokens": 24, "seed": i} for i in range(48)]
            running = []
            for i, body in enumerate(bodies):
                running.append(asyncio.create_task(ask(proxied.port, body, KEY)))
                if i == 16:
                    proxied.replicas[1].process.terminate()
                await asyncio.sleep(0.01)
            return await asyncio.gather(*running)

        statuses = Counter(reply.status for reply in asyncio.run(users()))
        # A busy machine may still drain it here. The stack would ask it to end once more, and who is
        # asked twice ends at once.
        proxied.replicas[1].process.wait(60)
        self.assertEqual(statuses, {200: 48})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--haproxy", default="haproxy", help="the program (default: from PATH)")
    parser.add_argument("--nginx", default="", help="the program, where there is one")
    options = configure(parser)
    Proxy.source, Proxy.haproxy, Proxy.nginx = options.source, options.haproxy, options.nginx
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestLoader().loadTestsFromTestCase(Proxy))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

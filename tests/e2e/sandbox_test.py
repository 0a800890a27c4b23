"""skald serve in its sandbox: every thread is limited, answers are those of a server without it,
and the files that it reads again can be read. What a limited process cannot do is tried by
src/cli/sandbox_test.cc.

    sandbox_test.py SKALD SOURCE
"""

import argparse
import re
import signal
import sys
import time
import unittest
from pathlib import Path

import skald_server
from skald_server import Server, completion, head, post, texts


def thread_states(server: Server) -> list[dict[str, str]]:
    """The fields of /proc/PID/task/*/status."""
    states = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        states.append(dict(re.split(r":\s*", line, maxsplit=1) for line in lines if ":" in line))
    return states


def answers(server: Server) -> list:
    """One of each kind of work."""
    long = "the fox and the owl " * 400  # bodies beyond 4 KiB are read on another thread
    bodies = [
        completion(prompt="Once upon a time", max_tokens=20, seed=1, temperature=1),
        completion(prompt="The fox", user="u" * 5000, max_tokens=4, seed=1),
        post("/v1/embeddings", {"model": "tales", "input": ["a fox", "an owl"]}),
        post("/tokenize", {"content": long, "prompt": long}),
        post("/v1/completions", {"model": "tales", "prompt": "The", "max_tokens": 8, "seed": 2,
                                 "stream": True}),
    ]
    kept = []
    for body in bodies:
        reply = server.exchange(body)
        if reply.fields["content-type"].startswith("text/event-stream"):
            # How many tokens an event has is a matter of who was quick.
            text = texts(reply)
        else:
            text = re.sub(rb'"(id|created)":("[^"]*"|\d+)', b"", reply.body)
        kept.append((reply.status, text))
    kept.append(server.get("/metrics").status)
    return kept


class Sandbox(unittest.TestCase):
    def test_every_thread_is_limited_and_no_answer_differs(self):
        with Server("--no-sandbox", "--threads", "3") as server:
            for state in thread_states(server):
                self.assertEqual(state["Seccomp"], "0", state["Name"])
            free = answers(server)
        with Server("--threads", "3") as server:
            states = thread_states(server)
            self.assertGreaterEqual(len(states), 4)
            self.assertEqual(answers(server), free)
            for state in states + thread_states(server):
                self.assertEqual(state["Seccomp"], "2", state["Name"])
                self.assertEqual(state["NoNewPrivs"], "1", state["Name"])
            self.assertNotIn("warning", server.log.read_text())
        self.assertEqual([kind for kind, _ in free[:-1]], [200] * 5)

    def test_keys_are_read_again_from_a_file_that_was_changed_or_replaced(self):
        """SIGHUP, after the file was written in place, after another was renamed over it, and after the
        directory got a link to a file in a directory of its own, as Kubernetes does it."""
        with Server(keys=("sk-the-first-key",)) as server:
            path = Path(server.folder.name) / "keys"

            def in_place(text: str):
                path.write_text(text)

            def renamed(text: str):
                new = path.with_name("keys.new")
                new.write_text(text)
                new.chmod(0o600)
                new.rename(path)

            def linked(text: str):
                data = path.with_name("data")
                data.mkdir()
                (data / "keys").write_text(text)
                link = path.with_name("link")
                link.symlink_to("data/keys")
                link.rename(path)

            for number, replace in enumerate((in_place, renamed, linked), start=2):
                key = f"sk-key-number-{number}"
                replace(f"{key} admin\n")
                server.process.send_signal(signal.SIGHUP)
                self.wait_for_notices(server, number - 1)
                before, server.key = server.key, key
                self.assertEqual(server.get("/slots").status, 200, replace.__name__)
                self.assertEqual(self.status_with(server, before), 401, replace.__name__)
            self.assertEqual({state["Seccomp"] for state in thread_states(server)}, {"2"})
            self.assertNotIn("stay as they are", server.log.read_text())

    def wait_for_notices(self, server: Server, count: int):
        deadline = time.monotonic() + 60
        while server.log.read_text().count("the key file was read again: 1 keys") < count:
            self.assertLess(time.monotonic(), deadline, server.log.read_text())
            time.sleep(0.01)

    def status_with(self, server: Server, key: str) -> int:
        return server.exchange(head("GET", "/slots", f"Authorization: Bearer {key}")).status

    def test_a_failure_to_listen_is_told_as_without(self):
        with Server() as server:
            other = Server("--port", str(server.port))
            self.assertEqual(other.process.wait(60), 4)
            self.assertIn("cannot listen on", other.log.read_text())
            other.folder.cleanup()


if __name__ == "__main__":
    skald_server.configure(argparse.ArgumentParser(description=__doc__))
    unittest.main(argv=sys.argv[:1])

"""What one server computed the next one reads: skald serve --cache-dir, and skald cache.

Run by ctest (test E2eDiskCache), and by hand:
python3 tests/e2e/disk_cache_test.py build/release/skald . [--kills 100]
"""

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from skald_server import Server, Setup, configure, post

PROMPT = "Once upon a time there was a little dog who lived in a red house. " * 20
KILLS = 3  # of a server at work; by hand as many as one likes
KEYS = ("sk-the-key-of-the-first", "sk-the-key-of-the-second")


def complete(server: Server, key: str = "", **more) -> dict:
    fields = [f"Authorization: Bearer {key}"] if key else []
    body = {"prompt": PROMPT, "max_tokens": 8, "temperature": 0, **more}
    reply = server.exchange(post("/v1/completions", body, *fields))
    if reply.status != 200:
        raise AssertionError(f"{reply.status} {reply.body!r}")
    return reply.json()


def from_disk(server: Server) -> int:
    said = server.get("/metrics").body.decode()
    return int(re.search(r"^skald_prompt_tokens_disk_total\S* (\d+)", said, re.M)[1])


def disk_writes(server: Server) -> int:
    return int(re.search(r"^skald_disk_writes\S* (\d+)", server.get("/metrics").body.decode(), re.M)[1])


def cache(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([Setup.binary, "cache", *words], capture_output=True, text=True, check=False)


class DiskCache(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory(prefix="skald-e2e-")
        self.folder = str(Path(self.root.name) / "cache")
        self.flags = ["--cache-dir", self.folder, "--cache-disk", "32M"]
        if Setup.sanitized:
            self.flags.append("--no-sandbox")

    def tearDown(self):
        self.root.cleanup()

    def test_the_next_server_begins_warm(self):
        with Server(*self.flags) as server:
            first = complete(server)
            self.assertEqual(from_disk(server), 0)
        with Server(*self.flags) as server:
            second = complete(server)
            self.assertGreater(from_disk(server), first["usage"]["prompt_tokens"] - 40)
        self.assertEqual(first["choices"][0]["text"], second["choices"][0]["text"])

    def test_who_has_another_key_finds_nothing(self):
        with Server(*self.flags, keys=KEYS) as server:
            complete(server, KEYS[0])
        # The first prompt of a server waits for its pages, the next one no longer than it takes to compute: 10 ms here.
        with Server(*self.flags, keys=KEYS) as server:
            complete(server, KEYS[0])
            found = from_disk(server)
            self.assertGreater(found, 0)
            complete(server, KEYS[1])
            self.assertEqual(from_disk(server), found)

    def test_one_server_at_a_time(self):
        with Server(*self.flags):
            second = subprocess.run([Setup.binary, "serve", "-m", Setup.model, "--port", "0", *self.flags],
                                    capture_output=True, text=True, check=False)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(self.folder, second.stderr)
            self.assertNotEqual(cache("rm", self.folder).returncode, 0)

    # What memory had is lost then, and what stands in the files is whole or not found.
    def test_a_server_that_was_killed_leaves_a_folder_that_serves(self):
        with Server(*self.flags) as server:
            first = complete(server)
        killed = Server(*self.flags)
        killed.wait_ready()
        complete(killed)
        killed.process.kill()
        killed.process.wait()
        killed.folder.cleanup()
        with Server(*self.flags) as server:
            self.assertEqual(first["choices"][0]["text"], complete(server)["choices"][0]["text"])
            self.assertGreater(from_disk(server), 0)

    # Other prompts push each other out of memory meanwhile, so that something is being written.
    def test_killed_at_any_moment_no_token_is_wrong(self):
        flags = [*self.flags, "-c", "512", "--kv-positions", "1024"]
        with Server(*flags) as server:
            expected = complete(server)["choices"][0]["text"]
        draw = random.Random(KILLS)
        for _ in range(KILLS):
            killed = Server(*flags)
            killed.wait_ready()

            def work(server=killed, seed=draw.random()):
                words = random.Random(seed)
                try:
                    for i in range(50):
                        prompt = " ".join(words.choices(PROMPT.split(), k=200))
                        complete(server, prompt=f"{i} {prompt}", max_tokens=2)
                except (AssertionError, OSError):
                    pass  # it is gone

            worker = threading.Thread(target=work)
            worker.start()
            time.sleep(draw.uniform(0, 0.6))
            killed.process.kill()
            killed.process.wait()
            worker.join()
            killed.folder.cleanup()
            with Server(*flags) as server:
                self.assertEqual(expected, complete(server)["choices"][0]["text"])
        # What was torn is found out, if it was ever found.
        self.assertIn(cache("verify", self.folder).returncode, (0, 4))

    # A limit of the process stands for a disk that is full: writing ends, serving does not.
    def test_a_full_disk_ends_writing_only(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        with Server("-c", "512") as server:
            expected = complete(server)["choices"][0]["text"]
        flags = [*self.flags, "-c", "512", "--kv-positions", "1024"]
        # With signals left as they are a write beyond the limit is an error, as Python ignores SIGXFSZ.
        with Server(*flags, preexec_fn=limit, restore_signals=False) as server:
            self.assertEqual(disk_writes(server), 1)
            for i in range(20):
                complete(server, prompt=f"{i} {PROMPT}", max_tokens=2)
                if not disk_writes(server):
                    break
            self.assertEqual(disk_writes(server), 0)
            self.assertEqual(expected, complete(server)["choices"][0]["text"])
        with Server(*flags) as server:
            self.assertEqual(expected, complete(server)["choices"][0]["text"])

    def test_the_command_lists_checks_and_empties_it(self):
        with Server(*self.flags) as server:
            complete(server)
        listed = json.loads(cache("ls", self.folder, "--json").stdout)
        self.assertGreater(listed["pages"], 5)
        self.assertEqual(cache("verify", self.folder).returncode, 0)
        segment = Path(self.folder) / listed["files"][0]["file"]
        data = bytearray(segment.read_bytes())
        data[len(data) // 2] ^= 1
        segment.write_bytes(data)
        checked = cache("verify", self.folder)
        self.assertEqual(checked.returncode, 4)
        self.assertIn("1 pages are damaged", checked.stderr)
        self.assertEqual(cache("rm", self.folder).returncode, 0)
        self.assertEqual(json.loads(cache("ls", self.folder, "--json").stdout)["pages"], 0)
        self.assertEqual(cache("ls", self.folder + "/none").returncode, 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=KILLS, help="of a server at work")
    KILLS = configure(parser).kills
    unittest.main(argv=sys.argv[:1])

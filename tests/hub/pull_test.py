"""skald pull from outside: whole models from a hub that breaks, stalls, lies and goes away.

Run by ctest (test Pull), and by hand: python3 tests/hub/pull_test.py build/release/skald .
"""

import contextlib
import hashlib
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from command import TIMEOUT_S, Setup, bundled_model, environment, run, wait_until
from fake_hub import CERTIFICATE, COMMIT, FakeHub

# Segments are 16 MiB: three of them, the last one short.
LARGE = random.Random(1).randbytes((33 << 20) + 12345)


class Proxy:
    """What https_proxy names: CONNECT, then bytes both ways. Use as a context; `asked` are the hosts."""

    def __enter__(self):
        asked = self.asked = set()

        def pump(source: socket.socket, target: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(1 << 16):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self):
                asked.add(self.path)
                host, port = self.path.split(":")
                with socket.create_connection((host, int(port))) as other:
                    self.send_response(200)
                    self.end_headers()
                    back = threading.Thread(target=pump, args=(other, self.connection), daemon=True)
                    back.start()
                    pump(self.connection, other)
                    back.join()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class PullCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        self.cache = self.home / "hub"
        self.repository = self.cache / "models--owner--name"

    def hub(self, files: dict[str, bytes], **options) -> FakeHub:
        hub = FakeHub(files, **options)
        hub.__enter__()
        self.addCleanup(hub.close)
        return hub

    def env(self, hub: FakeHub | None, **more: str) -> dict[str, str]:
        changes = {"HOME": str(self.home), "HF_HUB_CACHE": str(self.cache), "no_proxy": "*", "HF_HUB_OFFLINE": "",
                   "HF_ENDPOINT": hub.endpoint if hub else "http://127.0.0.1:9", **more}
        return environment(**changes)

    def skald(self, hub: FakeHub | None, *arguments: str, **more: str):
        return run(*arguments, env=self.env(hub, **more))

    def pull(self, hub: FakeHub, *arguments: str, reference: str = "hf://owner/name", **more: str) -> Path:
        done = self.skald(hub, "pull", reference, *arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return Path(done.stdout.decode().strip())

    # The message is one line, behind what was said before.
    def assert_fails(self, done, code: int, part: str) -> None:
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, message)
        self.assertIn(part, message.splitlines()[-1])
        self.assertEqual(done.stdout, b"")

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.home.rglob("*.partial*"))


class Names(PullCase):
    def test_the_usual_size_by_name_then_without_a_network(self):
        tales = bundled_model().read_bytes()
        hub = self.hub({"m-Q8_0.gguf": b"x" * 100, "m-Q4_K_M.gguf": tales, "README.md": b"hello"})
        path = self.pull(hub)
        self.assertEqual(path, self.repository / "snapshots" / COMMIT / "m-Q4_K_M.gguf")
        self.assertEqual(path.read_bytes(), tales)
        self.assertEqual(path.resolve().name, hashlib.sha256(tales).hexdigest())
        self.assertEqual((self.repository / "refs/main").read_text(), COMMIT)
        hub.close()
        for name in ("hf://owner/name", "owner/name:q4_k_m", "hf.co/owner/name"):
            done = self.skald(hub, "run", "-m", name, "One day", "-n", "4", "--temp", "0")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertTrue(done.stdout.startswith(b"One day"))

    def test_run_pulls_what_is_not_here_and_says_what_it_needs(self):
        tales = bundled_model().read_bytes()
        hub = self.hub({"m-Q4_K_M.gguf": tales})
        done = self.skald(hub, "run", "hf://owner/name", "One day", "-n", "4", "--temp", "0")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        size = f"{len(tales) / (1 << 20):.1f} MiB"
        self.assertIn(f"pulling hf://owner/name: m-Q4_K_M.gguf, {size} (about ", done.stderr.decode())
        self.assertIn(b"of memory to run)", done.stderr)
        again = self.skald(hub, "run", "-hf", "owner/name", "One day", "-n", "4", "--temp", "0")
        self.assertEqual(again.stdout, done.stdout)
        self.assertNotIn(b"pulling", again.stderr)

    def test_a_choice_that_is_not_there_shows_those_that_are(self):
        hub = self.hub({"m-Q8_0.gguf": b"x", "m-IQ2_XS.gguf": b"x"})
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name:Q5_K_M"), 3,
                          "there is no 'Q5_K_M'; there are: IQ2_XS, Q8_0")
        self.assert_fails(self.skald(hub, "pull", "hf://owner/other"), 3, "has no ")
        self.assert_fails(self.skald(self.hub({"model.safetensors": b"x"}), "pull", "hf://owner/name"), 6,
                          "no GGUF file")

    def test_a_split_model_is_pulled_whole(self):
        parts = {f"q/m-Q8_0-0000{i}-of-00003.gguf": bytes([i]) * (1000 + i) for i in (1, 2, 3)}
        hub = self.hub(parts, page=2)
        done = self.skald(hub, "pull", "hf://owner/name:q8_0", "--json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        answer = json.loads(done.stdout)
        self.assertEqual([file["name"] for file in answer["files"]], list(parts))
        self.assertEqual(answer["bytes"], 3006)
        self.assertTrue(answer["path"].endswith("q/m-Q8_0-00001-of-00003.gguf"))
        for name, content in parts.items():
            self.assertEqual((self.repository / "snapshots" / COMMIT / name).read_bytes(), content)

    def test_an_address(self):
        tales = bundled_model().read_bytes()
        hub = self.hub({"fine-tune.gguf": tales})
        path = self.pull(hub, reference=f"{hub.store_url}/fine-tune.gguf?signature=abc")
        self.assertEqual(path, self.home / ".local/share/skald/models/fine-tune.gguf")
        done = self.skald(hub, "run", "-m", "fine-tune", "One day", "-n", "4")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn(b"fine-tune", self.skald(hub, "ls").stdout)
        # Another file of that name is not written over.
        hub.files["fine-tune.gguf"] = tales + b"more"
        self.assert_fails(self.skald(hub, "pull", f"{hub.store_url}/fine-tune.gguf"), 2, "another file")

    def test_no_network_is_one_sentence(self):
        nowhere = self.env(None, HF_ENDPOINT="http://no-such-host.invalid")
        self.assert_fails(run("pull", "hf://owner/name", env=nowhere), 10, "is this machine online?")
        self.assert_fails(self.skald(None, "pull", "hf://owner/name"), 10, "127.0.0.1:9: ")
        self.assert_fails(self.skald(None, "pull", "hf://owner/name", HF_HUB_OFFLINE="1"), 10, "HF_HUB_OFFLINE")


class Encrypted(PullCase):
    def test_with_an_authority_of_ones_own(self):
        for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            hub = self.hub({"m-Q4_K_M.gguf": LARGE}, token="secret", secure=(True, True))
            path = self.pull(hub, HF_TOKEN="secret", **{variable: str(CERTIFICATE)})
            self.assertEqual(path.read_bytes(), LARGE)
            self.assertEqual({headers.get("Authorization") for path, headers in hub.asked if path.startswith("/m-")}, {None})
            self.assertEqual(self.skald(None, "rm", "hf://owner/name").returncode, 0)

    def test_a_certificate_of_nobody_is_refused(self):
        hub = self.hub({"m-Q4_K_M.gguf": LARGE}, secure=(True, True))
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name"), 10, "certificate")
        self.assertEqual(hub.asked, [])
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name", SSL_CERT_FILE="/no/such/file"), 10, "/no/such/file")

    def test_all_goes_through_a_proxy(self):
        hub = self.hub({"m-Q4_K_M.gguf": LARGE}, secure=(True, True))
        with Proxy() as proxy:
            path = self.pull(hub, https_proxy=proxy.address, no_proxy="", NO_PROXY="", SSL_CERT_FILE=str(CERTIFICATE))
        self.assertEqual(path.read_bytes(), LARGE)
        self.assertEqual(proxy.asked, {hub.endpoint.removeprefix("https://"), hub.store_url.removeprefix("https://")})
        gone = self.skald(hub, "pull", "hf://owner/name:Q8_0", https_proxy=proxy.address, no_proxy="", NO_PROXY="")
        self.assert_fails(gone, 10, "127.0.0.1")

    def test_nothing_leads_from_https_to_http(self):
        hub = self.hub({"m-Q4_K_M.gguf": LARGE}, secure=(True, False))
        done = self.skald(hub, "pull", "hf://owner/name", SSL_CERT_FILE=str(CERTIFICATE))
        self.assert_fails(done, 10, "http")
        self.assertEqual(hub.sent, 0)


class Removals(PullCase):
    def test_a_model_goes_with_its_bytes_and_the_others_stay(self):
        tales = bundled_model().read_bytes()
        hub = self.hub({"m-Q4_K_M.gguf": tales, "m-Q8_0.gguf": b"GGUF" + bytes(1000)})
        self.pull(hub)
        self.pull(hub, reference="hf://owner/name:q8_0")
        looked = json.loads(self.skald(None, "rm", "--dry-run", "--json", "hf://owner/name").stdout)
        self.assertEqual((looked["dry_run"], looked["models"][0]["bytes"]), (True, len(tales)))
        done = self.skald(None, "rm", "hf://owner/name")
        self.assertEqual(done.stdout.decode(), f"removed hf://owner/name: {len(tales) / (1 << 20):.1f} MiB\n", done.stderr)
        self.assertEqual([path.stat().st_size for path in (self.repository / "blobs").iterdir() if path.suffix != ".lock"],
                         [1004])
        self.assertEqual(self.skald(None, "rm", "hf://owner/name:q8_0").returncode, 0)
        self.assertFalse(self.repository.exists())
        self.assert_fails(self.skald(None, "rm", "hf://owner/name"), 3, "is not here")

    def test_what_was_pulled_and_what_is_free(self):
        tales = bundled_model().read_bytes()
        hub = self.hub({"m-Q4_K_M.gguf": tales, "fine-tune.gguf": b"GGUF" + bytes(1000)})
        self.pull(hub)
        self.pull(hub, reference=f"{hub.store_url}/fine-tune.gguf")
        report = json.loads(self.skald(None, "du", "--json").stdout)
        self.assertEqual([use["name"] for use in report["models"]], ["hf://owner/name", "fine-tune.gguf"])
        self.assertAlmostEqual(report["bytes"], len(tales) + 1004, delta=3 * 4096 + 512)
        self.assertEqual(report["unfinished_bytes"], 0)
        self.assertGreater(report["free_bytes"], 0)
        lines = self.skald(None, "du").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["name", "hf://owner/name", "fine-tune.gguf", "total", "free"])

    def test_nothing_goes_if_one_name_is_wrong(self):
        hub = self.hub({"fine-tune.gguf": bundled_model().read_bytes()})
        path = self.pull(hub, reference=f"{hub.store_url}/fine-tune.gguf")
        self.assert_fails(self.skald(None, "rm", "fine-tune", "none-such"), 3, "'none-such'")
        self.assertTrue(path.exists())
        self.assertEqual(self.skald(None, "rm", "fine-tune").returncode, 0)
        self.assertFalse(path.exists())

    def test_what_is_not_skalds_stays(self):
        self.assert_fails(self.skald(None, "rm", "tales"), 6, "skald removes what it has pulled")
        ollama = self.home / ".ollama/models"
        manifest = ollama / "manifests/registry.ollama.ai/library/tales/1b"
        manifest.parent.mkdir(parents=True)
        digest = "sha256:" + "0" * 64
        manifest.write_text(json.dumps({"layers": [
            {"mediaType": "application/vnd.ollama.image.model", "digest": digest}]}))
        blob = ollama / "blobs" / digest.replace(":", "-")
        blob.parent.mkdir()
        blob.write_bytes(bundled_model().read_bytes())
        self.assert_fails(self.skald(None, "rm", "tales:1b"), 6, "where Ollama keeps it")
        self.assertTrue(blob.exists())


class Breaks(PullCase):
    def setUp(self):
        super().setUp()
        self.large = self.hub({"m-Q8_0.gguf": LARGE})

    def test_several_ranges_make_the_whole(self):
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)
        starts = {headers["Range"] for path, headers in self.large.asked if "Range" in headers}
        self.assertIn("bytes=16777216-33554431", starts)
        self.assertLess(self.large.sent, len(LARGE) + 10)
        self.assertEqual(self.leftovers(), [])

    def test_a_connection_that_breaks_is_gone_on_with(self):
        self.large.behaviour.cut_after = 2_000_000  # more breaks than are borne without a byte between
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)
        self.assertLess(self.large.sent, len(LARGE) * 1.2, "what had come was fetched again")

    def test_a_busy_server_is_asked_again(self):
        self.large.behaviour.failures = [503, 429, 500]
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)

    def test_a_stalled_connection_is_given_up(self):
        self.large.behaviour.stalls = 1
        self.assertEqual(self.pull(self.large, "--patience", "1").read_bytes(), LARGE)

    def test_a_server_without_ranges(self):
        self.large.behaviour.ranges = False
        self.large.behaviour.cut_after, self.large.behaviour.cuts = 20_000_000, 1
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)

    def stop_in_the_middle(self, number: int) -> int:
        """Ends a pull by a signal once some bytes have been kept; its exit code."""
        self.large.behaviour.pause = 0.03
        child = subprocess.Popen([Setup.binary, "pull", "hf://owner/name"], env=self.env(self.large),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        states = lambda: list(self.repository.rglob("*.partial.state"))  # noqa: E731
        wait_until(lambda: states() or child.poll() is not None, "some bytes are kept")
        child.send_signal(number)
        _, self.said = child.communicate(timeout=TIMEOUT_S)
        self.large.behaviour.pause = 0
        return child.returncode

    def test_a_killed_pull_is_gone_on_with(self):
        self.assertEqual(self.stop_in_the_middle(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(list((self.repository / "snapshots").rglob("*.gguf")), [])
        before, self.large.sent = self.large.sent, 0
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)
        self.assertGreater(before, 1 << 20)
        self.assertLess(self.large.sent, len(LARGE) - (1 << 20))

    def test_ctrl_c_keeps_what_has_come(self):
        self.assertEqual(self.stop_in_the_middle(signal.SIGINT), 130)
        self.assertIn(b"the same command goes on", self.said)
        self.large.sent = 0
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)
        self.assertLess(self.large.sent, len(LARGE) - (1 << 20))

    def test_what_a_killed_pull_has_left_is_removed(self):
        self.stop_in_the_middle(signal.SIGKILL)
        self.assertNotEqual(self.leftovers(), [])
        self.assertGreater(json.loads(self.skald(None, "du", "--json").stdout)["unfinished_bytes"], 1 << 20)
        self.assertEqual(self.skald(None, "rm", "hf://owner/name").returncode, 0)
        self.assertFalse(self.repository.exists())

    def test_two_pulls_at_once_fetch_it_once(self):
        self.large.behaviour.pause = 0.002
        children = [subprocess.Popen([Setup.binary, "pull", "hf://owner/name"], env=self.env(self.large),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        for child in children:
            out, err = child.communicate(timeout=TIMEOUT_S)
            self.assertEqual(child.returncode, 0, err.decode())
            self.assertEqual(Path(out.decode().strip()).read_bytes(), LARGE)
        self.assertLess(self.large.sent, len(LARGE) + 10)

    def test_a_server_that_goes_away_ends_it(self):
        self.large.behaviour.failures = [500] * 100
        self.assert_fails(self.skald(self.large, "pull", "hf://owner/name"), 10, "answers 500: busy")

    def test_a_full_disk(self):
        # The limit of a file's size stands for it; the room that statvfs reports has a unit test.
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731
        done = run("pull", "hf://owner/name", env=self.env(self.large), preexec_fn=limit)
        self.assert_fails(done, 4, "File too large")
        self.assertEqual(self.pull(self.large).read_bytes(), LARGE)


class Lies(PullCase):
    def assert_refused(self, part: str, code: int = 10, files: dict[str, bytes] | None = None, **lies) -> None:
        hub = self.hub(files or {"m-Q8_0.gguf": LARGE})
        for name, value in lies.items():
            setattr(hub.behaviour, name, value)
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name"), code, part)
        self.assertEqual(list(self.repository.rglob("*.gguf")), [])

    def test_wrong_bytes(self):
        self.assert_refused("they were removed", code=4, altered=True)
        self.assertEqual(self.leftovers(), [])

    def test_wrong_lengths(self):
        self.assert_refused("the server has 5 bytes", said_total=5)
        self.assert_refused("more than it promised", surplus=b"!")
        self.assert_refused("another range", shift=1)

    def test_a_link_to_a_file_of_this_machine_is_not_followed(self):
        self.assert_refused("Unsupported protocol", redirect=f"file://{bundled_model()}")

    def test_a_list_that_leads_out_of_the_cache(self):
        self.assert_refused("no GGUF file", code=6, files={"../../../m-Q8_0.gguf": b"x"})

    def test_a_list_that_goes_on_elsewhere(self):
        hub = self.hub({f"m{i}.gguf": b"x" for i in range(5)}, token="secret", page=2)
        hub.next_host = "http://elsewhere.invalid"
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name", HF_TOKEN="secret"), 10, "another host")

    def test_the_token_stays_with_the_hub(self):
        hub = self.hub({"m-Q8_0.gguf": b"x" * 1000}, token="secret")
        self.assert_fails(self.skald(hub, "pull", "hf://owner/name"), 2, "HF_TOKEN")
        self.pull(hub, HF_TOKEN="secret")
        with_token = {path for path, headers in hub.asked if "Authorization" in headers}
        self.assertIn(f"/owner/name/resolve/{COMMIT}/m-Q8_0.gguf", with_token)
        self.assertNotIn("/m-Q8_0.gguf", with_token, "the host of the files was told the token")
        # Nor does an address get it.
        self.pull(hub, reference=f"{hub.store_url}/m-Q8_0.gguf", HF_TOKEN="secret")
        self.assertNotIn("/m-Q8_0.gguf", {path for path, headers in hub.asked if "Authorization" in headers})

    def test_a_file_that_changes_midway_is_not_joined(self):
        hub = self.hub({"m.gguf": LARGE})
        hub.behaviour.changes_after = 3
        done = self.skald(hub, "pull", f"{hub.store_url}/m.gguf", "--connections", "1")
        self.assert_fails(done, 10, "has changed meanwhile")
        self.assertEqual(list(self.home.rglob("*.gguf")), [])

    def test_what_is_left_of_another_file_is_not_joined(self):
        hub = self.hub({"m.gguf": LARGE})
        hub.behaviour.cut_after, hub.behaviour.cuts = 1_000_000, 4
        first = self.skald(hub, "pull", f"{hub.store_url}/m.gguf", "--connections", "1")
        self.assertEqual(first.returncode, 0, first.stderr.decode())
        target = self.home / ".local/share/skald/models/m.gguf"
        target.unlink()
        # The first answer says the length; from then on it is another file of that length.
        state = target.with_name("m.gguf.partial.state")
        state.write_text(f"skald partial 1\n{len(LARGE)}\n\"old\"\n" + "5\n" * 3 + "end\n")
        target.with_name("m.gguf.partial").write_bytes(b"wrong" * 10_000_000)
        again = self.skald(hub, "pull", f"{hub.store_url}/m.gguf")
        self.assertEqual(again.returncode, 0, again.stderr.decode())
        self.assertEqual(target.read_bytes(), LARGE)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} BINARY SOURCE_DIR")
    Setup.binary = str(Path(sys.argv[1]).resolve())
    Setup.source = Path(sys.argv[2]).resolve()
    suite = unittest.TestSuite()
    for case in PullCase.__subclasses__():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    done = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if done.wasSuccessful() and done.testsRun > 0 else 1)


if __name__ == "__main__":
    main()

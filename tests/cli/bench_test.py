"""skald bench from outside: that it measures, what it prints, and how it deals with a peer.

Run by ctest (test Bench), and by hand:
python3 tests/cli/bench_test.py build/release/skald .
"""

import json
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command import Setup, bundled_model, catches_interrupt, environment, run, wait_until

SMALL = ("-p", "16", "-n", "4", "-r", "1", "-t", "2")


def bench(*arguments: str) -> list[dict]:
    """The objects of `skald bench --json` on the bundled model."""
    done = run("bench", "-m", str(bundled_model()), *arguments, "--json")
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


class Bench(unittest.TestCase):
    def test_json_has_a_result_for_each_case(self):
        results = bench(*SMALL, "-r", "2", "-b", "1,2", "-d", "0,40")
        self.assertEqual(
            [result["test"] for result in results],
            ["pp16", "tg4", "tg4 b2", "pp16 @ d40", "tg4 @ d40", "tg4 b2 @ d40"],
        )
        for result in results:
            self.assertEqual(len(result["samples_ts"]), 2)
            self.assertGreater(result["median_ts"], 0)
            self.assertGreater(result["ceiling_ts"], 0)
            # The ceilings beside each repetition give it a share of its own.
            shares = [rate / ceiling for rate, ceiling
                      in zip(result["samples_ts"], result["samples_ceiling_ts"], strict=True)]
            self.assertEqual(len(result["samples_share"]), 2)
            for share, expected in zip(result["samples_share"], shares, strict=True):
                self.assertAlmostEqual(share, expected)
            self.assertEqual(result["share_min"], min(result["samples_share"]))
            self.assertEqual(result["share_max"], max(result["samples_share"]))
            for ceiling in ("int8_macs", "float_macs", "read_bytes"):
                self.assertGreater(result[f"{ceiling}_per_second_min"], 0)
                self.assertLessEqual(result[f"{ceiling}_per_second_min"], result[f"{ceiling}_per_second"])
                self.assertLessEqual(result[f"{ceiling}_per_second"], result[f"{ceiling}_per_second_max"])
            self.assertEqual(result["n_threads"], 2)
        decode, two = results[1], results[2]
        # Two sequences need the arithmetic of two and the weights of one.
        self.assertEqual(two["int8_macs"] + two["float_macs"],
                         2 * (decode["int8_macs"] + decode["float_macs"]))
        self.assertLess(two["bytes"], 2 * decode["bytes"])
        # A depth is more K and V to read.
        self.assertGreater(results[4]["bytes"], decode["bytes"])

    def test_profile_adds_up(self):
        results = bench(*SMALL, "--profile")
        profiles = [result for result in results if "profile" in result]
        self.assertEqual([profile["test"] for profile in profiles], ["pp16", "tg1"])
        for profile in profiles:
            names = [row["operation"] for row in profile["profile"]]
            self.assertIn("attention", names)
            self.assertIn("matmul head", names)
            total = sum(row["seconds"] for row in profile["profile"])
            self.assertAlmostEqual(total, profile["seconds"])

    def test_table_is_markdown_with_a_header(self):
        done = run("bench", "-m", str(bundled_model()), *SMALL)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("skald "), lines[0])
        self.assertIn("ceilings: int8 ", lines[2])
        self.assertTrue(lines[5].startswith("| model "), lines[5])
        self.assertEqual([line.split("|")[6].strip() for line in lines[7:]], ["pp16", "tg4"])

    def test_scalar_kernels_have_a_ceiling_of_their_own(self):
        (result,) = bench("-p", "0", "-n", "1", "-r", "1", "-t", "1", "--isa", "scalar")
        self.assertEqual((result["isa"], result["n_threads"]), ("scalar", 1))

    def test_kernels_need_no_model(self):
        done = run("bench", "--kernels", "-r", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        results = json.loads(done.stdout)
        self.assertEqual([result["rows"] for result in results[:8]], [1, 2, 4, 8, 16, 64, 512, 1])
        weights = ", ".join({result["weights"]: None for result in results}).split(", ")
        self.assertEqual(len(weights), len(set(weights)))
        self.assertLessEqual({"F32", "BF16", "Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ2_XS"}, set(weights))
        for result in results:
            self.assertGreater(result["macs_per_second"], 0)
            self.assertAlmostEqual(result["share"], result["macs_per_second"] / result["peak_macs_per_second"])

    def test_kernels_take_no_model(self):
        for arguments in (["-m", str(bundled_model())], ["--traffic", "shared"], ["--against", "x"]):
            with self.subTest(arguments=arguments):
                done = run("bench", "--kernels", *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn("--kernels measures without a model", done.stderr.decode())

    def test_an_agent_says_where_its_tokens_came_from(self):
        agent = ("bench", "-m", str(bundled_model()), "--traffic", "agent", "--num-prompts", "3", "--prefix-len", "70",
                 "--input-len", "8", "--output-len", "4", "-t", "2", "--json")
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for more in (["--compare"], []):
                done = run(*agent, "--cache-dir", folder, *more)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                found.append(json.loads(done.stdout))
        first, second = found
        self.assertEqual([first["compared"], second["compared"]], [True, False])
        for report in found:
            for turn in report["turns"]:
                self.assertEqual(sum(turn["cached_tokens_details"].values()), turn["cached_tokens"])
        self.assertEqual(first["turns"][0]["cached_tokens"], 0)
        self.assertGreaterEqual(second["turns"][0]["cached_tokens_details"]["disk"], 64)

    def test_recorded_chats_say_where_their_tokens_came_from(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chats.jsonl"
            messages = [{"role": "system", "content": "You tell short stories. " * 8}]
            lines = []
            for turn in range(3):
                messages.append({"role": "user", "content": [{"type": "text", "text": f"Tell me of fox {turn}."}]})
                lines.append(json.dumps({"model": "x", "messages": messages, "max_tokens": 3, "stream": True}))
                messages.append({"role": "assistant", "content": "The fox ran home."})
            path.write_text("\n".join(lines))
            chats = ("bench", "-m", str(bundled_model()), "--traffic", str(path), "-t", "1")
            done = run(*chats, "--json", "--compare")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            report = json.loads(done.stdout)
            self.assertEqual([turn["request"] for turn in report["turns"]], ["recorded"] * 3)
            self.assertTrue(report["compared"])
            self.assertEqual(report["output_tokens"], 9)
            turns = report["turns"]
            for turn in turns:
                self.assertEqual(turn["prompt_tokens"] - turn["cached_tokens"], turn["new_tokens"])
            self.assertEqual([turn["cached_tokens"] for turn in turns[1:]], [turn["prompt_tokens"] for turn in turns[:-1]])
            self.assertIn("3 requests, 1 at a time", run(*chats).stdout.decode())
            path.write_text(lines[0] + "\n" + '{"messages": 3}')
            done = run(*chats)
            self.assertEqual(done.returncode, 2)
            self.assertIn("trace, line 2: expected a JSON object with a list 'messages'", done.stderr.decode())

    def test_flags_of_traffic_need_it(self):
        for arguments in (["--compare"], ["--compare", "--traffic", "shared"], ["--cache-dir", "x"]):
            with self.subTest(arguments=arguments):
                done = run("bench", "-m", str(bundled_model()), *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn("is for --traffic", done.stderr.decode())

    def test_takes_turns_with_a_peer(self):
        # It is its own peer: it takes and prints what llama-bench does.
        peer = f"{shlex.quote(Setup.binary)} bench"
        prefill, decode, batch = bench(*SMALL, "-b", "1,2", "--against", peer)
        self.assertEqual(len(prefill["peer_samples_ts"]), 1)
        self.assertGreater(decode["ratio"], 0)
        self.assertAlmostEqual(decode["ratio"], decode["samples_ts"][0] / decode["peer_samples_ts"][0])
        self.assertGreater(decode["peer_share"], 0)
        self.assertNotIn("ratio", batch)

    def test_a_broken_peer_is_an_error(self):
        for peer, part in (
            ("false", "exit code 1"),
            ("no-such-program", "exit code 127"),
            ("echo hello #", "found 'hello'"),
            ("echo '[{}]' #", "no avg_ts"),
        ):
            with self.subTest(peer=peer):
                done = run("bench", "-m", str(bundled_model()), *SMALL, "--against", peer)
                self.assertEqual(done.returncode, 4)
                self.assertIn("--against", done.stderr.decode())
                self.assertIn(part, done.stderr.decode())

    def test_wrong_lists_are_usage_errors(self):
        for arguments in (["-p", "x"], ["-b", "0"], ["-p", "1,,2"], ["-r", "0"], ["-p", "-1"],
                          ["-p", "0", "-n", "0"]):
            with self.subTest(arguments=arguments):
                done = run("bench", "-m", str(bundled_model()), *arguments)
                self.assertEqual(done.returncode, 2, done.stderr.decode())

    def test_ctrl_c_ends_it_in_order(self):
        command = [Setup.binary, "bench", "-m", str(bundled_model()), "-r", "10000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            try:
                wait_until(lambda: catches_interrupt(process.pid), "it measures")
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            finally:
                process.kill()
        self.assertEqual(process.returncode, 130, errors.decode())
        self.assertEqual(errors, b"")


if __name__ == "__main__":
    Setup.binary, Setup.source = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)

"""skald plan from outside: what it says of files, configs and names, and what docs/plan.md shows of it.

Run by ctest (test Plan), and by hand: python3 tests/cli/plan_test.py build/release/skald .
"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from command import Setup, bundled_model, golden_model, run, run_json
from documents import blocks_of

H100 = ("--machine", "h100", "-t", "2")


# The models of docs/first-hour.md as their publishers' config.json has them: kind, width, hidden width of a feed-forward,
# layers, heads, heads of K and V, width of a head, vocabulary, whether the head is the embedding.
FIRST_HOUR = {
    "Qwen/Qwen3-0.6B-GGUF": ("qwen3", 1024, 3072, 28, 16, 8, 128, 151936, True),
    "bartowski/Llama-3.2-1B-Instruct-GGUF": ("llama", 2048, 8192, 16, 32, 8, 64, 128256, True),
    "Qwen/Qwen3-4B-GGUF": ("qwen3", 2560, 9728, 36, 32, 8, 128, 151936, True),
    "Qwen/Qwen3-8B-GGUF": ("qwen3", 4096, 12288, 36, 32, 8, 128, 151936, False),
    "bartowski/Mistral-7B-Instruct-v0.3-GGUF": ("mistral", 4096, 14336, 32, 32, 8, 128, 32768, False),
    "Qwen/Qwen3-30B-A3B-GGUF": ("qwen3_moe", 2048, 768, 48, 32, 4, 128, 151936, False),
}


class Plan(unittest.TestCase):
    """`skald plan`: the same sizes as of the engine, from a header, a config.json or a name."""

    def assert_fails(self, done, code: int, part: str) -> None:
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, message)
        self.assertIn(part, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(done.stdout, b"")

    def test_memory_is_what_run_reports(self):
        for model in (bundled_model(), golden_model("qwen3"), golden_model("moe"), golden_model("lfm2")):
            plan = run_json("plan", "-m", str(model), "-c", "64", *H100)
            done = run_json("run", "-m", str(model), "-c", "64", "-t", "2", "-n", "1", "a")["engine"]
            self.assertEqual(plan["engine"]["memory"]["kv"], done["kv_bytes"])
            self.assertEqual(plan["engine"]["memory"]["states"], done["state_bytes"])
            shown = run_json("show", "-m", str(model))
            self.assertEqual(plan["engine"]["memory"]["weights"], shown["memory"]["weight_bytes"])
            self.assertEqual(plan["kv_bytes_per_token"], shown["memory"]["kv_bytes_per_token"]["f16"])
            self.assertEqual(plan["model"]["parameters"], shown["parameters"])

    def test_a_config_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.json"
            config.write_text(json.dumps({
                "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
                "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "vocab_size": 151936,
                "tie_word_embeddings": True, "torch_dtype": "bfloat16"}))
            for given in (folder, str(config)):
                plan = run_json("plan", given, *H100)
                self.assertEqual(plan["model"]["parameters"], 596_049_920)  # as published of Qwen3-0.6B
            config.write_text(config.read_text().replace("1024", "-1"))
            self.assert_fails(run("plan", folder, *H100), 5, "config.json")

    def test_the_first_hour_says_what_its_models_take(self):
        page = (Setup.source / "docs/first-hour.md").read_text()
        rows = re.findall(r"\| `hf://(\S+):(\S+)` \| ([\d.]+) GB \| ([\d.]+) GB", page)
        self.assertEqual([name for name, *_ in rows], list(FIRST_HOUR))
        for name, weights, file_gb, memory_gb in rows:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                kind, width, hidden, layers, heads, kv_heads, head, vocab, tied = FIRST_HOUR[name]
                experts = {} if kind != "qwen3_moe" else {
                    "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": hidden}
                (Path(folder) / "config.json").write_text(json.dumps({
                    "model_type": kind, "hidden_size": width, "intermediate_size": hidden, "num_hidden_layers": layers,
                    "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head, "vocab_size": vocab,
                    "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "tie_word_embeddings": tied,
                    "torch_dtype": "bfloat16", **experts}))
                memory = run_json("plan", folder, "--weights", weights, "-c", "4096", *H100)["engine"]["memory"]
                self.assertEqual(f"{memory['weights'] / 1e9:.1f}", file_gb)
                self.assertEqual(f"{(memory['weights'] + memory['kv']) / 1e9:.1f}", memory_gb)

    def test_errors_say_what_there_is(self):
        self.assert_fails(run("plan", "nope", *H100), 3, "published shapes: gpt-oss-120b, ")
        self.assert_fails(run("plan", "hf://owner/name", *H100), 3, "hf://owner/name")
        self.assert_fails(run("plan", "gpt2", "--machine", "abacus"), 3, "expected one of h100, h200, xeon6")
        self.assert_fails(run("plan", "gpt2", "--weights", "Q9", *H100), 2, "expected one of F32, F16")
        self.assert_fails(run("plan", "gpt2", "-m", "gpt2", *H100), 2, "two models")
        self.assert_fails(run("plan", "gpt2", "-c", "5000", *H100), 2, "expected 1 to 1024")
        for flag in ("--bandwidth", "--peak"):
            self.assert_fails(run("plan", "gpt2", flag, "0"), 2, "0 is not above 0")

    def test_given_figures_bound_the_speed(self):
        plan = run_json("plan", "llama-2-7b", "--bandwidth", "100", "--peak", "2", "--memory", "16G",
                        "-b", "1", "-d", "0", "-p", "0")
        [step] = plan["forecasts"]
        self.assertAlmostEqual(step["seconds"], step["bytes"] / 100e9)
        self.assertEqual(step["bound"], "read")
        self.assertEqual(plan["machine"]["memory_bytes"], 16 << 30)
        self.assertEqual(plan["machine"]["ridge_bfloat16"], 20)

    def test_a_benchmark_is_a_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "here.json"
            bench = run("bench", "-r", "1", "-p", "16", "-n", "2", "-t", "1", "--json")
            path.write_bytes(bench.stdout)
            prefill, decode = json.loads(bench.stdout)
            plan = run_json("plan", "--machine", str(path), "-t", "1", "-p", "16", "-b", "1", "-d", "0")
            shares = {}
            for test in (prefill, decode):
                shares.setdefault("memory_share" if test["bound"] == "read" else "arithmetic_share", test["share"])
            for kind, share in shares.items():
                self.assertAlmostEqual(plan["machine"][kind], share)
            path.write_text("[]")
            self.assert_fails(run("plan", "--machine", str(path)), 5, str(path))

    def test_a_drawing_is_one_document(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "roofline.svg"
            done = run("plan", "gpt-oss-20b", "--svg", str(path), "-b", "1,8", "-d", "0,100", *H100)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertIn(b"FLOP/byte", done.stdout)
            root = ElementTree.parse(path).getroot()
            svg = "{http://www.w3.org/2000/svg}"
            self.assertEqual(len(list(root.iter(svg + "circle"))), 4)
            self.assertEqual(len(list(root.iter(svg + "rect"))), 2)
            self.assertEqual(len(json.loads(root.find(svg + "metadata").text)), 6)
            for mark in root.iter(svg + "circle"):
                self.assertTrue(88 <= float(mark.get("cx")) <= 920 and 88 <= float(mark.get("cy")) <= 504)
            text = path.read_text()
            for outside in ("href", "url(", "@import", "<script"):
                self.assertNotIn(outside, text)
            self.assertEqual(run("plan", "gpt-oss-20b", "--svg", "-", "-b", "1,8", "-d", "0,100", *H100).stdout.decode(),
                             text.replace(str(path), "-"))
            self.assert_fails(run("plan", "gpt2", "--svg", f"{folder}/none/x.svg", *H100), 4, "none/x.svg")

    def test_ranks_share_weights_and_exchange_the_rest(self):
        wanted = ("plan", "llama-3-8b", *H100, "-p", "0", "-b", "1", "-d", "0")
        whole = run_json(*wanted)
        self.assertNotIn("ranks", whole)
        ranks = run_json(*wanted, "--ranks", "4", "--network", "25gbe")["ranks"]
        weights = [rank["weights"] for rank in ranks["memory"]]
        self.assertEqual(len(weights), 4)
        self.assertGreater(sum(weights), whole["engine"]["memory"]["weights"])
        self.assertLess(max(weights), 0.35 * whole["engine"]["memory"]["weights"])
        step = ranks["forecasts"][0]
        self.assertEqual(step["gathers"], 129)
        self.assertAlmostEqual(step["exchange_seconds"], 129 * 2 * 25e-6 + step["received_bytes"] / (0.9 * 25e9 / 8))
        self.assertAlmostEqual(step["seconds"], step["compute_seconds"] + step["exchange_seconds"])
        self.assert_fails(run("plan", "gpt2", *H100, "--network", "tin-cans"), 2, "expected one of shared-memory")
        self.assert_fails(run("plan", "llama-3-8b", *H100, "--ranks", "33"), 6, "33 ranks share 32 heads")

    def test_the_page_shows_what_is_printed(self):
        page = (Setup.source / "docs/plan.md").read_text()
        shown = [block for block in blocks_of(page) if block.kind == "text" and block.commands]
        self.assertGreaterEqual(len(shown), 2)
        for block in shown:
            self.assertEqual(run(*block.commands[0].split()[1:]).stdout.decode(), block.shown)


def main() -> None:
    Setup.binary, Setup.source = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

"""plan_check.py against a program that answers as skald does: what it asks for, and what it says of the answers."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent / "plan_check.py"

# Each model's speed is the number that it is named by. The planner foretells what the machine's model reached, and a tenth more.
SKALD = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
value = dict(zip(sys.argv[2:], sys.argv[3:]))
places = [{"n_prompt": int(value["-p"]), "n_sequences": 1, "n_depth": 0}]
places += [{"n_prompt": 0, "n_sequences": int(b), "n_depth": 0} for b in value["-b"].split(",")]
if sys.argv[1] == "bench":
    print(json.dumps([{**place, "median_ts": float(Path(value["-m"]).stem)} for place in places]))
else:
    speed = json.loads(Path(value["--machine"]).read_text())[0]["median_ts"]
    print(json.dumps({"forecasts": [{**place, "test": f"of {place['n_sequences']}", "tokens_per_second": 1.1 * speed}
                                    for place in reversed(places)]}))
"""


class PlanCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.skald = self.folder / "skald"
        self.skald.write_text(SKALD)
        self.skald.chmod(0o755)

    def check(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, str(TOOL), str(self.skald), *arguments], stdout=subprocess.PIPE, text=True)

    def test_every_model_foretells_every_other(self):
        done = self.check("100.gguf", "110.gguf", "--batch", "1,8")
        self.assertEqual(done.returncode, 1, done.stdout)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(rows[1], ["100", "110", "of", "1", "110.0", "110.0", "+0.0", "%"])
        self.assertEqual(rows[4], ["110", "100", "of", "1", "121.0", "100.0", "+21.0", "%"])
        self.assertEqual([row[3] for row in rows[1:-1]], ["1", "1", "8", "1", "1", "8"])
        self.assertEqual(" ".join(rows[-1]), "6 tests, median off 10.5 %, most 21.0 %, 3 beyond 20 %")

    def test_the_bar_decides_the_exit_code(self):
        self.assertEqual(self.check("100.gguf", "110.gguf", "--bar", "22").returncode, 0)

    def test_benchmarks_that_are_kept_are_not_run_again(self):
        kept = self.folder / "kept"
        self.check("100.gguf", "110.gguf", "--keep", str(kept))
        file = kept / "100-0.json"
        told = json.loads(file.read_text())
        file.write_text(json.dumps([{**test, "median_ts": 200.0} for test in told]))
        done = self.check("100.gguf", "110.gguf", "--keep", str(kept))
        self.assertIn("220.0      110.0   +100.0 %", done.stdout)

    def test_of_several_rounds_the_medians_count(self):
        kept = self.folder / "kept"
        arguments = ("100.gguf", "110.gguf", "--keep", str(kept), "--rounds", "3")
        self.check(*arguments)
        for number, speed in enumerate((100.0, 300.0, 200.0)):
            file = kept / f"100-{number}.json"
            file.write_text(json.dumps([{**test, "median_ts": speed} for test in json.loads(file.read_text())]))
        self.assertIn("220.0      110.0   +100.0 %", self.check(*arguments).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""The compact set of golden data is whole, and golden_test falls when a number of it is missing.

    numbers_test.py GOLDEN_TEST MODELS      (ctest: GoldenNumbers)

GOLDEN_TEST is the program that compares, MODELS the folder that make_models.py wrote.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
NUMBERS = HERE.parent / "data/golden"
PROGRAM, MODELS = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
TIMEOUT_S = 300  # a hang is a failure; sanitizer builds are slow

# One case of each kind.
FLOATS, QUANTIZED = "qwen2", "llama-k-Q4_K_M"


def model_names():
    done = subprocess.run([sys.executable, "-B", HERE / "make_models.py", "--list"],
                          capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return done.stdout.split()


class CompactSet(unittest.TestCase):
    def test_each_model_has_its_numbers_and_nothing_else_lies_there(self):
        expected = {"README.md"}
        for name in model_names():
            exact = name.startswith("llama-k-") and name != "llama-k-f32"
            expected |= {name + ".json", name + ".logits.f32"} | ({name + ".exact.f32"} if exact else set())
        self.assertEqual({path.name for path in NUMBERS.iterdir()}, expected)

    def test_the_models_are_those_that_the_numbers_were_recorded_from(self):
        for name in model_names():
            with self.subTest(name):
                recorded = json.loads((NUMBERS / (name + ".json")).read_text())["sha256"]
                written = hashlib.sha256((MODELS / (name + ".gguf")).read_bytes()).hexdigest()
                self.assertEqual(written, recorded, "make_models.py writes another file than it did")

    def test_it_is_small(self):
        self.assertLess(sum(path.stat().st_size for path in NUMBERS.iterdir()), 2_500_000)


class MissingNumbers(unittest.TestCase):
    """golden_test on a copy of the numbers that lacks one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name) / "golden"
        shutil.copytree(NUMBERS, self.copy)

    def passes(self, case=None):
        tests = "Compact.*" if case is None else "Compact/*/" + case.replace("-", "_")
        done = subprocess.run([PROGRAM, "--golden-numbers=" + str(self.copy), "--gtest_filter=" + tests],
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        self.assertIn("[==========] 1 test ", done.stdout, "the filter must find exactly one test")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0

    def change(self, file, change):
        path = self.copy / file
        path.write_bytes(change(path.read_bytes()))

    def change_json(self, case, change):
        path = self.copy / (case + ".json")
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values))

    def test_the_copy_itself_passes(self):
        self.assertTrue(self.passes())
        self.assertTrue(self.passes(FLOATS))
        self.assertTrue(self.passes(QUANTIZED))

    def test_a_case_that_is_gone(self):
        (self.copy / (FLOATS + ".json")).unlink()
        self.assertFalse(self.passes())
        self.assertFalse(self.passes(FLOATS))

    def test_a_case_that_nobody_compares(self):
        shutil.copy(self.copy / (FLOATS + ".json"), self.copy / "another.json")
        self.assertFalse(self.passes())

    def test_a_file_that_is_gone(self):
        for case, ending in ((FLOATS, "logits"), (QUANTIZED, "logits"), (QUANTIZED, "exact")):
            with self.subTest(case + "." + ending):
                path = self.copy / (case + "." + ending + ".f32")
                content = path.read_bytes()
                path.unlink()
                self.assertFalse(self.passes(case))
                path.write_bytes(content)
                self.assertTrue(self.passes(case))

    def test_one_logit_that_is_gone(self):
        for case, ending in ((FLOATS, "logits"), (QUANTIZED, "logits"), (QUANTIZED, "exact")):
            file = case + "." + ending + ".f32"
            content = (self.copy / file).read_bytes()
            for place in (0, len(content) // 8 * 4, len(content) - 4):
                with self.subTest(file, place=place):
                    self.change(file, lambda bytes: content[:place] + content[place + 4:])
                    self.assertFalse(self.passes(case))
            self.change(file, lambda bytes: content)

    def test_a_logit_that_is_no_number_or_another(self):
        file = FLOATS + ".logits.f32"
        content = (self.copy / file).read_bytes()
        for bits in (b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\0\0\0\0"):  # NaN, infinity, zero
            with self.subTest(bits):
                self.change(file, lambda bytes: content[:400] + bits + content[404:])
                self.assertFalse(self.passes(FLOATS))

    def test_one_token_that_is_gone_or_another(self):
        for key in ("tokens", "greedy_next"):
            for case in (FLOATS, QUANTIZED):
                with self.subTest(case, key=key):
                    self.change_json(case, lambda values: values[key].pop(7))
                    self.assertFalse(self.passes(case))
                    shutil.copy(NUMBERS / (case + ".json"), self.copy)
        self.change_json(FLOATS, lambda values: values["greedy_next"].__setitem__(7, 0))
        self.assertFalse(self.passes(FLOATS))

    def test_a_description_that_is_none(self):
        for text in ("", "{", "[]", "{}", '{"vocab": "many"}'):
            with self.subTest(text):
                (self.copy / (FLOATS + ".json")).write_text(text)
                self.assertFalse(self.passes(FLOATS))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

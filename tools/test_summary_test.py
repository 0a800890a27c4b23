"""The end of ./test.sh: what is left out where there is no folder of recordings, and that it is said.

A small project with tests of both kinds is run by ctest itself: with the folder beside, without it, and told that there is none.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import test_summary

SOURCE = Path(__file__).resolve().parent.parent
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small NONE)
enable_testing()
include({source}/cmake/shared_data.cmake)
process_tests(60 NAMES Own OwnSharedData COMMAND ${{CMAKE_COMMAND}} -E echo)
process_tests(60 NAMES Other COMMAND ${{CMAKE_COMMAND}} -E echo)
add_test(NAME Broken COMMAND ${{CMAKE_COMMAND}} -E false)
left_out(Proxy haproxy)
"""
PROXY = {"suite": "Proxy", "tests": 1, "needs": "haproxy"}
SHARED = {"suite": "OwnSharedData", "tests": 1, "needs": "../shared"}


class LeftOut(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "checkout").mkdir()
        (self.folder / "checkout/CMakeLists.txt").write_text(PROJECT.format(source=SOURCE))
        self.run_tool("cmake", "-S", "checkout", "-B", "build")

    def run_tool(self, *command: str, **environment: str) -> str:
        clean = {name: value for name, value in os.environ.items() if name != "SKALD_SHARED_DATA"}
        return subprocess.run(command, cwd=self.folder, env={**clean, **environment}, capture_output=True, text=True,
                              check=False).stdout

    def lane(self, *arguments: str, **environment: str) -> dict:
        """What the summary says of a run of ctest."""
        report, labels = self.folder / "report.xml", self.folder / "labels.json"
        labels.write_text(self.run_tool("ctest", "--test-dir", "build", "--show-only=json-v1", *arguments, **environment))
        self.run_tool("ctest", "--test-dir", "build", "--output-junit", str(report), *arguments, **environment)
        (lane,) = test_summary.read_lanes(f"lane unit 3 1 7\nctest {report}\nlabels {labels}\n")
        return lane

    def test_the_folder_beside_is_asked_for_when_the_tests_run(self):
        self.assertEqual(self.lane()["left_out"], [SHARED, PROXY])
        (self.folder / "shared/golden").mkdir(parents=True)
        self.assertEqual(self.lane()["left_out"], [PROXY])
        self.assertEqual(self.lane(SKALD_SHARED_DATA="none")["left_out"], [SHARED, PROXY])

    def test_failures_are_named(self):
        self.assertEqual(self.lane()["failed_tests"], ["Broken"])

    def test_what_can_differ_has_a_label(self):
        listed = json.loads(self.run_tool("ctest", "--test-dir", "build", "--show-only=json-v1", "-L", "beside"))
        self.assertEqual([test["name"] for test in listed["tests"]], ["Own", "OwnSharedData"])


class Lines(unittest.TestCase):
    def test_a_person_reads_what_was_left_out_and_why(self):
        (lane,) = test_summary.read_lanes("lane unit 1452 1 554\nfailed summary\n")
        lane["left_out"] = [SHARED, {**SHARED, "suite": "TraceSharedData"}, PROXY]
        self.assertEqual(test_summary.lines_of({"lanes": [lane], "kernels_not_run": ["amx"], "cpu": "EPYC"}), [
            "unit          1452 passed   1 failed   554 s",
            "failed in unit: summary",
            "unit: 2 suites need ../shared: left out (OwnSharedData, TraceSharedData)",
            "unit: 1 suite needs haproxy: left out (Proxy)",
            "kernels not run, because this CPU (EPYC) lacks them: amx"])

    def test_suites_have_their_names(self):
        for test, suite in (("Vocabularies/PairsSharedData.Each/gpt_2  # GetParam() = \"a.b/c\"", "PairsSharedData"),
                            ("GgufSharedData.Parse", "GgufSharedData"), ("CliSharedData", "CliSharedData")):
            self.assertEqual(test_summary.suite_of(test), suite)

    def test_a_lane_that_never_got_to_its_tests(self):
        (lane,) = test_summary.read_lanes("lane asan 0 1 3\nctest missing.xml\nlabels missing.json\nfailed asan: no tests\n")
        self.assertEqual((lane["failed_tests"], lane["left_out"]), (["asan: no tests"], []))

    def test_the_program_says_what_it_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "kernels_test"
            program.write_text("#!/bin/sh\nfor i in 1 2; do echo 'not run: this CPU lacks amx' >&2; done\n")
            program.chmod(0o755)
            self.assertEqual(test_summary.kernels_not_run(str(program)), ["amx"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=1)

"""run_together.py over a small project, whose GoogleTest program is a script that prints what GoogleTest prints."""

import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
PROGRAM = """#!/usr/bin/env python3
import os, sys
names = sys.argv[1].removeprefix("--gtest_filter=").split(":")
with open("{folder}/started", "a") as started:
    print(len(names), file=started)
for name in names:
    print(f"[ RUN      ] {{name}}", flush=True)
    if "Dies" in name:
        os.abort()
    if "Hangs" in name:
        import time
        time.sleep(30)
    if "Late" in name:
        sys.argv.append("late")
    print(f"[{{'  FAILED ' if 'Fails' in name else '       OK'}} ] {{name}} (7 ms)", flush=True)
sys.exit(1 if "late" in sys.argv or any("Fails" in name for name in names) else 0)
"""


class RunTogether(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "some_test"
        self.program.write_text(PROGRAM.format(folder=folder.name))
        self.program.chmod(0o755)

    def run_tests(self, *names: str, more: str = "", options: tuple[str, ...] = ()) -> tuple[int, dict[str, str], str]:
        """The exit code, the status of each test of the report, and what was printed."""
        lines = [f'add_test([==[{name}]==] "{self.program}" [==[--gtest_filter={name}]==] --gtest_also_run_disabled_tests)\n'
                 f"set_tests_properties([==[{name}]==] PROPERTIES TIMEOUT 1 WORKING_DIRECTORY {self.folder})" for name in names]
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n" + more)
        report = self.folder / "report.xml"
        done = subprocess.run([sys.executable, SOURCE / "run_together.py", "--test-dir", self.folder, "-j", "2",
                               "--output-junit", report, *options], stdout=subprocess.PIPE, text=True, check=False)
        cases = xml.parse(report).getroot().iter("testcase")
        return done.returncode, {case.get("name"): case.get("status") for case in cases}, done.stdout

    def starts(self) -> list[int]:
        return [int(line) for line in (self.folder / "started").read_text().split()]

    def test_one_process_for_all(self):
        code, status, said = self.run_tests("A.One", "A.Two", "B.Three")
        self.assertEqual((code, set(status.values()), len(status)), (0, {"run"}, 3))
        self.assertEqual(self.starts(), [3])
        self.assertIn("100% tests passed, 0 tests failed out of 3", said)

    def test_a_failure_is_one(self):
        code, status, said = self.run_tests("A.One", "A.Fails", "A.Two")
        self.assertEqual((code, status), (1, {"A.One": "run", "A.Fails": "fail", "A.Two": "run"}))
        self.assertIn("Test A.Fails ***Failed", said)
        self.assertIn("66% tests passed, 1 tests failed out of 3", said)

    def test_behind_a_death_the_rest_goes_on(self):
        code, status, _ = self.run_tests("A.One", "A.Dies", "A.Two", "A.Dies2", "A.Three")
        self.assertEqual((code, status), (1, {"A.One": "run", "A.Dies": "fail", "A.Two": "run", "A.Dies2": "fail", "A.Three": "run"}))
        self.assertEqual(self.starts(), [5, 3, 1])

    def test_time_limits(self):
        code, status, _ = self.run_tests("A.Hangs", "A.Two")
        self.assertEqual((code, status), (1, {"A.Hangs": "fail", "A.Two": "run"}))

    def test_a_program_that_fails_behind_its_tests(self):
        code, status, _ = self.run_tests("A.One", "A.Late")
        self.assertEqual((code, status), (1, {"A.One": "run", "A.Late": "fail"}))

    def test_a_program_that_is_not_there(self):
        self.program.write_text("#!/bin/sh\nexit 3\n")
        code, status, said = self.run_tests("A.One", "A.Two")
        self.assertEqual((code, set(status.values())), (1, {"fail"}))
        self.assertIn("The process ended: 3", said)

    def test_other_programs_labels_and_what_is_left_out(self):
        more = ('add_test(Plain sh -c "test $KEY = value")\nset_tests_properties(Plain PROPERTIES LABELS process ENVIRONMENT KEY=value)\n'
                "add_test(Off false)\nset_tests_properties(Off PROPERTIES DISABLED ON)\nadd_test(House false)\n"
                "set_tests_properties(House PROPERTIES LABELS house)\n")
        code, status, _ = self.run_tests("A.One", "A.Fails", more=more, options=("-LE", "house", "-E", "Fails"))
        self.assertEqual((code, status), (0, {"A.One": "run", "Plain": "run", "Off": "disabled"}))

    def test_nothing_to_run_is_a_failure(self):
        self.assertEqual(self.run_tests("A.One", options=("-R", "None"))[0], 1)


if __name__ == "__main__":
    unittest.main()

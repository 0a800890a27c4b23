"""cmake --install into an empty folder, and everything there used: the command, its model, manual and
completions, the unit, and the library from another program by CMake and by pkg-config.

Run by ctest (test Install), and by hand: python3 tests/install/install_test.py build/release .
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIMEOUT_S = 300


class Setup:
    build = Path()
    source = Path()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        first = Path(cls.folder.name) / "first"
        cls.run_in(cls.folder.name, "cmake", "--install", Setup.build, "--prefix", first)
        cls.unit = (first / "lib/systemd/system/skald.service").read_text()
        cls.first = first
        cls.unit_command = Path(re.search(r"^ExecStart=(\S+) serve$", cls.unit, re.MULTILINE)[1])
        cls.unit_is_there = cls.unit_command.is_file()
        # Everything else finds the rest from where it lies.
        cls.prefix = Path(cls.folder.name) / "moved"
        first.rename(cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def run_in(folder, *command, **env: str) -> str:
        done = subprocess.run(
            [str(word) for word in command], cwd=folder, capture_output=True, timeout=TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "HOME": str(folder), **env})
        if done.returncode != 0:
            raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done.stdout.decode()

    def skald(self, *arguments: str) -> str:
        return self.run_in(self.folder.name, self.prefix / "bin/skald", *arguments)

    def test_the_command_finds_its_model(self):
        self.assertIn(str(self.prefix / "share/skald/models/tales.gguf"), self.skald("ls", "--json"))
        self.assertTrue(self.skald("run", "-n", "3", "One day").startswith("One day"))

    def test_manual_completions_and_documents(self):
        manual = (self.prefix / "share/man/man1/skald.1").read_text()
        self.assertTrue(manual.startswith(".TH SKALD 1"))
        self.assertEqual(manual, self.skald("completion", "man"))
        for path in ("bash-completion/completions/skald", "zsh/site-functions/_skald",
                     "fish/vendor_completions.d/skald.fish", "doc/skald/cli.md", "doc/skald/server.md"):
            self.assertTrue((self.prefix / "share" / path).is_file(), path)

    def test_the_unit_starts_what_was_installed(self):
        self.assertTrue(self.unit_is_there, self.unit_command)
        self.assertIn(f"file:{self.first}/share/doc/skald/server.md", self.unit)

    def test_a_program_with_cmake(self):
        build = Path(self.folder.name) / "with_cmake"
        self.run_in(self.folder.name, "cmake", "-S", Setup.source / "examples/one_shot", "-B", build,
                    f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(self.folder.name, "cmake", "--build", build)
        self.check_program(build / "one_shot")

    def test_a_program_with_pkg_config(self):
        [pkgconfig] = [path.parent for path in self.prefix.rglob("skald.pc")]
        flags = self.run_in(self.folder.name, "pkg-config", "--cflags", "--libs", "skald",
                            PKG_CONFIG_PATH=str(pkgconfig)).split()
        program = Path(self.folder.name) / "with_pkg_config"
        self.run_in(self.folder.name, "c++", "-std=c++20", Setup.source / "examples/one_shot/one_shot.cc", *flags,
                    "-o", program)
        self.check_program(program)

    def check_program(self, program: Path) -> None:
        model = self.prefix / "share/skald/models/tales.gguf"
        expected = self.skald("run", "-m", str(model), "-n", "20", "--seed", "7", "--no-echo", "One day")
        self.assertEqual(self.run_in(self.folder.name, program, model, "One day").strip(), expected.strip())

    def test_nothing_else_is_there(self):
        top = {path.name for path in self.prefix.iterdir()}
        self.assertEqual(top, {"bin", "include", "lib", "share"})
        self.assertEqual([path.name for path in (self.prefix / "bin").iterdir()], ["skald"])
        installed = {path.name for path in (self.prefix / "include/skald").iterdir()}
        self.assertEqual(installed, {path.name for path in (Setup.source / "include/skald").iterdir()})


def main() -> None:
    Setup.build, Setup.source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    for tool in ("cmake", "c++", "pkg-config"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing (tools/packages.txt)")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

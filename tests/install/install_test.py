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
    def run_in(folder, *command, text: str = "", **env: str) -> str:
        done = subprocess.run(
            [str(word) for word in command], cwd=folder, capture_output=True, timeout=TIMEOUT_S, check=False,
            input=text.encode(), env={"PATH": os.environ["PATH"], "HOME": str(folder), **env})
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

    def symbols(self, *arguments) -> set[tuple[str, str]]:
        """(what kind of symbol, the name in namespace skald that it belongs to)"""
        text = self.run_in(self.folder.name, "nm", "-C", "--defined-only", *arguments)
        found = re.findall(r"^[0-9a-f]+ ([TBDRVW]) (?:(?:vtable|typeinfo|typeinfo name) for )?skald::(\w+)(.?)", text,
                           re.MULTILINE)
        return {(kind, name) for kind, name, behind in found if name[0].isupper()}

    def test_the_library_shows_what_the_headers_declare(self):
        headers = "".join(path.read_text() for path in (Setup.source / "include/skald").iterdir())

        def is_public(name: str) -> bool:
            # A function of the namespace stands at the margin: a member may have the name of something behind the headers.
            return re.search(rf"\b(class|struct) (\[\[nodiscard\]\] )?{name}\b|^\S.*\b{name}\(", headers,
                             re.MULTILINE) is not None

        [library] = self.prefix.rglob("libskald.so.0")
        shown = self.symbols("-D", library)
        self.assertGreater(len(shown), 30)
        self.assertEqual([name for _, name in shown if not is_public(name)], [])
        inner = re.findall(r"^[0-9a-f]+ \w (?:[a-z ]+ for )?(skald::[a-z]\w*::.*)$",
                           self.run_in(self.folder.name, "nm", "-DC", "--defined-only", library), re.MULTILINE)
        self.assertEqual(inner, [])
        [archive] = self.prefix.rglob("libskald.a")
        defined = {name for kind, name in self.symbols(archive) if kind == "T" and is_public(name)}
        self.assertEqual(defined - {name for _, name in shown}, set(), "missing in cmake/libskald.map")

    def test_the_examples_with_cmake(self):
        build = Path(self.folder.name) / "with_cmake"
        self.run_in(self.folder.name, "cmake", "-S", Setup.source / "examples", "-B", build,
                    f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(self.folder.name, "cmake", "--build", build)
        self.check_program(build / "one_shot")
        self.assertEqual({path.stem for path in (Setup.source / "examples").glob("*.cc")},
                         {path.name for path in build.iterdir() if path.is_file() and os.access(path, os.X_OK)})

        def say(name: str, *arguments: str, text: str = "") -> list[str]:
            return self.run_in(self.folder.name, build / name, self.model(), *arguments, text=text).splitlines()

        chat = say("chat", text='Tell me a "tale".\nAnother one\n')
        turns = [line for line in chat if line.startswith("> ")]
        self.assertEqual(len(turns), 3, chat)
        self.assertTrue(len(turns[0]) > 10 and len(turns[1]) > 10 and turns[2] == "> ", chat)
        tokens = say("probabilities", "One day")
        self.assertIn(len(tokens), range(5, 21))
        for line in tokens:
            self.assertRegex(line, r"^'.*' +\d+\.\d %  of(  '.*' \d+\.\d %){3}$")
        prompts = ["One day", "Tom had", "Lily saw", "One day"]
        together = say("many_requests", text="\n".join(prompts))
        alone = [say("many_requests", text=prompt)[0][2:] for prompt in prompts]
        self.assertEqual([line[2:] for line in together], alone)
        likeness = say("embeddings", text="the cat sat\nthe cat sat\nten blue cars\n")
        self.assertEqual([line.split()[0] for line in likeness[:2]], ["1.000", "1.000"])
        self.assertLess(float(likeness[2].split()[0]), 0.999)

    def test_a_program_with_pkg_config(self):
        [pkgconfig] = [path.parent for path in self.prefix.rglob("skald.pc")]
        for static in ([], ["--static"]):
            flags = self.run_in(self.folder.name, "pkg-config", *static, "--cflags", "--libs", "skald",
                                PKG_CONFIG_PATH=str(pkgconfig)).split()
            program = Path(self.folder.name) / "with_pkg_config"
            self.run_in(self.folder.name, "c++", "-std=c++20", Setup.source / "examples/one_shot.cc",
                        *("-l:libskald.a" if static and flag == "-lskald" else flag for flag in flags), "-o", program)
            self.check_program(program)

    def test_a_project_with_skald_in_its_tree_gets_the_library_only(self):
        project = Path(self.folder.name) / "in_tree"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\n"
            f"add_subdirectory({Setup.source} skald)\n"
            f"add_executable(one_shot {Setup.source}/examples/one_shot.cc)\n"
            "target_link_libraries(one_shot PRIVATE skald::skald)\n")
        build = project / "build"
        self.run_in(project, "cmake", "-S", project, "-B", build, "-G", "Ninja")
        targets = self.run_in(build, "ninja", "-t", "targets", "all")
        self.assertEqual(re.findall(r"^(\S+): CXX_EXECUTABLE", targets, re.MULTILINE), ["one_shot"])
        self.assertEqual(re.findall(r"^\S*(?:_test|_cli|install|manual|fuzzers)\b.*", targets, re.MULTILINE), [])
        self.assertIn("Total Tests: 0", self.run_in(build, "ctest", "-N"))
        # What follows from the target's name alone: how to compile, and how to link. The archive is there already.
        [compiled] = re.findall(r"^(\S+/one_shot\.cc\.o): ", targets, re.MULTILINE)
        self.run_in(build, "ninja", compiled)
        link = self.run_in(build, "ninja", "-t", "commands", "one_shot").splitlines()[-1]
        [archive] = self.prefix.rglob("libskald.a")
        self.run_in(build, "sh", "-c", link.replace("skald/libskald.a", str(archive)))
        self.check_program(build / "one_shot")

    def test_an_older_language_hears_which_one_it_takes(self):
        include = self.prefix / "include"

        def first_error(*arguments) -> str:
            done = subprocess.run(["c++", "-std=c++17", f"-I{include}", *map(str, arguments)], capture_output=True,
                                  cwd=self.folder.name, timeout=TIMEOUT_S, check=False)
            return next((line for line in done.stderr.decode().splitlines() if "error" in line), "")

        sentence = "skald needs C++20: compile with -std=c++20"
        self.assertIn(sentence, first_error("-fsyntax-only", Setup.source / "examples/one_shot.cc"))
        headers = {path.name for path in (include / "skald").iterdir()}
        silent = {name for name in headers if sentence not in first_error("-E", "-o", "out", include / "skald" / name)}
        # What C++17 takes as it is.
        self.assertEqual(silent, {"conventions.h", "disk_cache.h", "ids.h", "status.h", "stop_check.h"})

    def test_all_say_the_same_version(self):
        header = (self.prefix / "include/skald/version.h").read_text()
        version = ".".join(re.findall(r"#define SKALD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        [pkgconfig] = [path.parent for path in self.prefix.rglob("skald.pc")]
        self.assertEqual(self.run_in(self.folder.name, "pkg-config", "--modversion", "skald",
                                     PKG_CONFIG_PATH=str(pkgconfig)).strip(), version)
        self.assertTrue(self.skald("--version").startswith(f"skald {version}\n"))

    def model(self) -> str:
        return str(self.prefix / "share/skald/models/tales.gguf")

    def library_path(self) -> str:
        [library] = self.prefix.rglob("libskald.so.0")
        return str(library.parent)

    def check_program(self, program: Path) -> None:
        expected = self.skald("run", "-m", self.model(), "-n", "20", "--seed", "7", "--no-echo", "One day")
        self.assertEqual(self.run_in(self.folder.name, program, self.model(), "One day", LD_LIBRARY_PATH=self.library_path()).strip(), expected.strip())

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

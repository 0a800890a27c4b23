"""What cmake/hardening.cmake asks for is in the command that was built, read with readelf and
objdump. A program built without any of it shows that each finding can be made.

    hardening_test.py SKALD BUILD_FOLDER COMPILER
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Functions of libc that have a fortified twin and that the command calls with buffers of a size
# the compiler can know. At least one must have been replaced.
FORTIFIED = re.compile(r"\b__(?!stack)\w+_chk\b")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def findings(program: str, compiler: str) -> set[str]:
    """What is wrong with a program, by name."""
    segments = output("readelf", "-W", "--program-headers", program)
    dynamic = output("readelf", "-W", "--dynamic", program)
    notes = output("readelf", "-W", "--notes", program)
    symbols = output("readelf", "-W", "--dyn-syms", program)
    flags = re.findall(r"^\s*(\w+)\s+0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([RWE ]{3})", segments, re.M)
    code = output("objdump", "-d", "--no-show-raw-insn", program)
    checks = {
        "pie": "(Position-Independent Executable file)" in segments or "DYN" in segments and
               re.search(r"FLAGS_1.*\bPIE\b", dynamic),
        "relro": any(kind == "GNU_RELRO" for kind, _ in flags),
        "bind_now": re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", dynamic),
        "stack_not_executable": any(kind == "GNU_STACK" and "E" not in rights
                                    for kind, rights in flags),
        "nothing_writable_executable": not any("W" in rights and "E" in rights
                                               for _, rights in flags),
        "no_text_relocations": "TEXTREL" not in dynamic,
        "no_search_path": not re.search(r"\((RPATH|RUNPATH)\)", dynamic),
        "stack_protector": "__stack_chk_fail" in symbols,
        "fortified": FORTIFIED.search(symbols),
        "library_assertions": "__glibcxx_assert_fail" in symbols,
        "shadow_stack": re.search(r"Properties:.*\bSHSTK\b", notes),
        # Large frames touch each of their pages, one after the other. Of gcc's making: what clang
        # writes for it stands in other places, too.
        "stack_clash": "clang" in compiler or
                       re.search(r"\bor[ql]\s+\$0x0,(0x\w+)?\(%rsp\)", code),
        "landing_marks": code.count("endbr64") > 10,
    }
    return {name for name, found in checks.items() if not found}


SOURCE = """
#include <cstring>
#include <vector>
void Fill(char* text);
int main(int count, char** words) {
  char text[100000];
  std::vector<int> numbers(static_cast<size_t>(count));
  std::memcpy(text, words[0], static_cast<size_t>(count));
  Fill(text);
  return numbers[static_cast<size_t>(text[count])];
}
void __attribute__((noinline)) Fill(char* text) { text[7] = text[8]; }
"""
BARE = ("-O2 -std=c++20 -no-pie -fno-pie -fno-stack-protector -fno-stack-clash-protection "
        "-fcf-protection=none -U_FORTIFY_SOURCE -Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack "
        "-Wl,-rpath,/nowhere").split()


class Hardening(unittest.TestCase):
    skald = ""
    build = Path()
    compiler = ""

    def test_the_command_has_all_of_it(self):
        self.assertEqual(findings(self.skald, self.compiler), set())

    def test_a_program_without_any_of_it_is_seen(self):
        with tempfile.TemporaryDirectory(prefix="skald-hardening-") as folder:
            source = Path(folder) / "bare.cc"
            source.write_text(SOURCE)
            program = str(Path(folder) / "bare")
            subprocess.run([self.compiler, *BARE, str(source), "-o", program], check=True,
                           capture_output=True)
            # Text relocations and pages both written and run are what no compiler makes unasked.
            self.assertEqual(findings(program, "gcc") | {"no_text_relocations"}, {
                "pie", "relro", "bind_now", "stack_not_executable", "nothing_writable_executable",
                "no_text_relocations", "no_search_path", "stack_protector", "fortified",
                "library_assertions", "shadow_stack", "stack_clash", "landing_marks"})

    # The linker drops a mark that one object lacks; the objects of ours all have both.
    def test_every_object_is_marked(self):
        archives = sorted(self.build.glob("src/*/libskald_*.a"))
        self.assertGreater(len(archives), 10)
        for archive in archives:
            objects = output("ar", "t", str(archive)).split()
            notes = output("readelf", "-W", "--notes", str(archive))
            marked = re.findall(r"x86 feature: IBT, SHSTK", notes)
            self.assertEqual(len(marked), len(objects), archive.name)

    # The level of fortification cannot be read from a program.
    def test_every_source_is_compiled_so(self):
        commands = json.loads((self.build / "compile_commands.json").read_text())
        sources = [each for each in commands
                   if "/src/" in each["file"] and not each["file"].endswith("_test.cc")]
        self.assertGreater(len(sources), 100)
        for each in sources:
            for flag in ("-D_FORTIFY_SOURCE=3", "-fstack-protector-strong",
                         "-fstack-clash-protection", "-fcf-protection=full", "-fPI"):
                self.assertIn(flag, each["command"], each["file"])


if __name__ == "__main__":
    Hardening.skald, folder, Hardening.compiler = sys.argv[1:4]
    Hardening.build = Path(folder)
    unittest.main(argv=sys.argv[:1])

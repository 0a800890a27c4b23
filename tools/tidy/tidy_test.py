"""Tests of the style test: each check has code that it must find and code that it must leave."""

import unittest

import checks
import cpp
import rules
from checks import File


def found(check, path: str, text: str | None, **fields) -> list[tuple[int, str]]:
    """What `check` says about one file: (line, rule)."""
    return [(finding.line, finding.rule) for finding in check(File(path, text, **fields))]


class CppTest(unittest.TestCase):
    def test_strip_blanks_comments_and_strings_and_keeps_lines(self):
        self.assertEqual(cpp.strip('a; // b\n/* c\nd */ "e" \'f\''), 'a;     \n    \n     " " \' \'')

    def test_strip_knows_escapes_raw_strings_and_digit_separators(self):
        self.assertEqual(cpp.strip(r'"a\"b" c'), '"    " c')
        self.assertEqual(cpp.strip('R"x(goto)" y)x" z'), 'R             " z')
        self.assertEqual(cpp.strip("1'000 + 2'000; goto"), "1'000 + 2'000; goto")

    def functions(self, text: str) -> list[tuple[int, int]]:
        return [(function.first, function.last) for function in cpp.read(text).functions]

    def test_functions_in_namespaces_and_classes(self):
        text = "namespace a {\nint F() {\n  return 1;\n}\nclass B : C {\n public:\n  void G() {}\n};\n}\n"
        self.assertEqual(self.functions(text), [(2, 4), (7, 7)])

    def test_lambdas_and_initializers_belong_to_their_function(self):
        self.assertEqual(self.functions("void F() {\n  auto g = [](int x) {\n return x; };\n}\n"),
                         [(1, 4)])
        self.assertEqual(self.functions("constexpr int kA[] = {F(1),\n 2};\nconst B b{F()};\n"), [])

    def test_constructor_with_member_initializers(self):
        self.assertEqual(self.functions("A::A(int b)\n    : b_{b},\n      c_(b) {\n  D();\n}\n"),
                         [(3, 5)])

    def test_parentheses_of_for_do_not_end_statements(self):
        statements = cpp.read("void F() { for (int i = 0; i < 3; ++i) G(i); }").statements
        self.assertEqual([s.text for s in statements],
                         ["void F()", "for (int i = 0; i < 3; ++i) G(i)"])


class IncludeTest(unittest.TestCase):
    def include(self, path: str, included: str) -> bool:
        return found(checks.include_rule, path, f'#include "{included}"\n') == []

    def test_rooms_include_to_the_left_by_allow_list(self):
        self.assertTrue(self.include("src/model/a.cc", "kernels/kernels.h"))
        self.assertTrue(self.include("src/model/a.cc", "model/b.h"))
        self.assertFalse(self.include("src/kernels/a.cc", "model/b.h"))
        self.assertFalse(self.include("src/text/a.cc", "formats/gguf.h"))

    def test_tests_may_include_all_to_the_left_and_nothing_to_the_right(self):
        self.assertTrue(self.include("src/text/a_test.cc", "formats/gguf.h"))
        self.assertFalse(self.include("src/text/a_test.cc", "model/a.h"))
        self.assertTrue(self.include("tests/golden/a.cc", "model/a.h"))

    def test_tests_and_fuzzers_may_include_the_measures_of_cost(self):
        self.assertTrue(self.include("src/text/a_test.cc", "support/cost.h"))
        self.assertTrue(self.include("src/text/a_fuzz.cc", "support/cost.h"))
        self.assertFalse(self.include("src/text/a.cc", "support/cost.h"))

    def test_public_headers(self):
        self.assertTrue(self.include("src/base/status.cc", "skald/status.h"))
        self.assertTrue(self.include("src/cli/main.cc", "skald/engine.h"))
        self.assertTrue(self.include("src/engine/a.cc", "skald/engine.h"))
        self.assertFalse(self.include("src/kernels/a.cc", "skald/engine.h"))
        self.assertFalse(self.include("src/cli/main.cc", "engine/a.h"))
        self.assertTrue(self.include("include/skald/engine.h", "skald/model.h"))
        self.assertFalse(self.include("include/skald/engine.h", "base/check.h"))
        path = "include/skald/engine.h"
        self.assertEqual(found(checks.include_rule, path, "#include <vector>\n"), [])
        self.assertNotEqual(found(checks.include_rule, path, "#include <boost/json/fwd.hpp>\n"), [])

    def test_paths_start_at_src(self):
        self.assertFalse(self.include("src/base/a.cc", "a.h"))
        self.assertFalse(self.include("src/base/a.cc", "../base/a.h"))

    def test_tables_name_every_room_once_and_point_left(self):
        self.assertEqual(set(rules.ROOM_ORDER), set(rules.ROOM_MAY_INCLUDE))
        for room, others in rules.ROOM_MAY_INCLUDE.items():
            for other in others:
                self.assertLess(rules.ROOM_ORDER.index(other), rules.ROOM_ORDER.index(room))

    def test_new_folder_needs_a_place(self):
        self.assertEqual(found(checks.room_is_known, "src/attic/a.cc", ""), [(0, "room")])
        self.assertEqual(found(checks.room_is_known, "src/base/a.cc", ""), [])


class SizeTest(unittest.TestCase):
    def test_file_length(self):
        self.assertEqual(found(checks.file_length, "src/a.cc", "\n" * 800), [])
        self.assertEqual(found(checks.file_length, "src/a.cc", "\n" * 801), [(0, "file_length")])
        self.assertEqual(found(checks.file_length, "models/a.txt", "\n" * 801), [])

    def test_function_length(self):
        def body(lines: int) -> str:
            return "int a;\nvoid F() {" + "\n" * (lines - 1) + "}\n"
        self.assertEqual(found(checks.function_length, "a.cc", body(70)), [])
        self.assertEqual(found(checks.function_length, "a.cc", body(71)), [(2, "function_length")])

    def test_ratchet_only_tightens(self):
        rules.FILE_LINES_RATCHET["old.cc"] = 900
        try:
            self.assertEqual(found(checks.file_length, "old.cc", "\n" * 900), [])
            self.assertEqual(len(found(checks.file_length, "old.cc", "\n" * 901)), 1)
            self.assertEqual(len(found(checks.file_length, "old.cc", "\n" * 899)), 1)
        finally:
            del rules.FILE_LINES_RATCHET["old.cc"]

    def test_line_length(self):
        self.assertEqual(found(checks.line_length, "a.cc", "x" * 100), [])
        self.assertEqual(found(checks.line_length, "a.cc", "// " + "x" * 98), [(1, "line_length")])
        self.assertEqual(found(checks.line_length, "a.md", "x" * 130), [])
        self.assertEqual(found(checks.line_length, "a.md", "x" * 131), [(1, "line_length")])

    def test_tables_links_and_fenced_code_may_be_wide(self):
        wide = "x" * 140
        text = f"| {wide} |\n[a]({wide})\n```\n{wide}\n```\n"
        self.assertEqual(found(checks.line_length, "a.md", text), [])

    def test_file_size(self):
        self.assertEqual(found(checks.file_size, "a.bin", None, size_bytes=2_000_001),
                         [(0, "file_size")])
        self.assertEqual(found(checks.file_size, "a.bin", None, size_bytes=2_000_000), [])
        self.assertEqual(found(checks.file_size, "models/a/a.gguf", None, size_bytes=9_000_000), [])


class CharacterTest(unittest.TestCase):
    def test_whitespace(self):
        for bad in ("a \n", "a\tb\n", "a\r\n", "a", "a\n\n"):
            self.assertEqual(len(found(checks.whitespace, "a.cc", bad)), 1, repr(bad))
        for good in ("a\n", "", "a\n\nb\n"):
            self.assertEqual(found(checks.whitespace, "a.cc", good), [], repr(good))

    def test_ascii(self):
        self.assertEqual(found(checks.ascii_only, "src/base/a.cc", "\n// \u00e9\n"), [(2, "ascii")])
        self.assertEqual(found(checks.ascii_only, "src/base/a_test.cc", "// \u00e9\n"), [])
        self.assertEqual(found(checks.ascii_only, "README.md", "\u00e9\n"), [])


class CodeTest(unittest.TestCase):
    def banned(self, line: str, path: str = "src/model/a.cc") -> bool:
        return found(checks.banned_code, path, line + "\n") != []

    def test_each_ban_finds_its_target(self):
        for line in ('getenv("A")', "rand()", "std::random_device d;", "std::mt19937 g;",
                     "time(nullptr)", "steady_clock::now()", "std::thread t;", 'printf("a")',
                     "std::snprintf(b, 3, f)", "std::cout << 1;", "new int", "delete p;",
                     "std::malloc(3)", "std::regex r;", "#include <regex>", "strcpy(a, b)",
                     "atoi(s)", "std::stoi(s)", "strtoul(s, e, 10)", "assert(a)",
                     "#include <cassert>", "std::abort()", "throw 1;", "goto end;",
                     "using namespace std;", "thread_local int a;", "#ifdef __AVX2__",
                     "#if defined(__AVX512F__)"):
            self.assertTrue(self.banned(line), line)

    def test_bans_leave_lookalikes_and_text(self):
        for line in ("A(const A&) = delete;", "fmt::format(s)", "std::from_chars(a, b, c)",
                     "operand(1)", "static_assert(a)", "runtime(1)", "renew(1)", "// goto",
                     'F("rand()")', "#include <new>", "void operator delete(void* p);",
                     "#if defined(__x86_64__)", "history(i)", "std::this_thread::yield()",
                     "return std::unique_ptr<A>(new A(b));"):
            self.assertFalse(self.banned(line), line)

    def test_bans_end_at_their_home(self):
        self.assertFalse(self.banned('getenv("A")', "src/cli/main.cc"))
        self.assertFalse(self.banned("std::thread t;", "src/base/thread_pool.cc"))
        self.assertFalse(self.banned("std::abort();", "src/base/check.cc"))
        self.assertFalse(self.banned("#ifdef __AVX2__", "src/kernels/isa/vec.h"))

    def test_machine_paths(self):
        for text in ("/wo" "rk/main", "# /ho" "me/me", "-march=" "native", "/t" "mp/a"):
            self.assertEqual(found(checks.machine_paths, "run.sh", "\n" + text), [(2, "machine")])
        for text in ("framework/main", "-march=x86-64"):
            self.assertEqual(found(checks.machine_paths, "run.sh", text), [])
        self.assertEqual(found(checks.machine_paths, "src/a_test.cc", "/t" "mp/a"), [])

    def test_macros(self):
        self.assertEqual(found(checks.macros, "src/kv/a.h", "\n#define A\n"), [(2, "macro")])
        self.assertEqual(found(checks.macros, "src/kv/a.h", "// #define A\n"), [])
        self.assertEqual(found(checks.macros, "src/base/check.h", "#define A\n"), [])
        self.assertEqual(found(checks.macros, "src/a.cc", "#define PCRE2_CODE_UNIT_WIDTH 8\n"), [])

    def test_mutable_state(self):
        for text in ("int a;", "static int a = 3;", "namespace n {\nstd::vector<int> a{1, 2};\n}",
                     "void F() {\n  static int calls = 0;\n}", "inline Foo foo = Make();",
                     "extern int a;", "int a[3];"):
            self.assertEqual(len(found(checks.mutable_state, "a.cc", text)), 1, text)
        for text in ("const int a = 3;", "constexpr int kA[] = {1, 2};", "int F(int a);",
                     "static const int a = 3;", "class A;", "using B = int;",
                     "class A {\n  int a_ = 0;\n  static constexpr int kB = 1;\n};",
                     "void F() {\n  int a = 0;\n  static const int b = 1;\n}",
                     "class A {\n public:\n  static Result<A> Create(int b);\n};",
                     "inline constexpr char kText[] = {1};", "TEST(A, B) { int a = 0; }"):
            self.assertEqual(found(checks.mutable_state, "a.cc", text), [], text)

    def test_only_a_test_class_shares_state(self):
        member = "class A {\n  static std::unique_ptr<B> b_;\n};"
        self.assertEqual(len(found(checks.mutable_state, "a.cc", member)), 1)
        self.assertEqual(found(checks.mutable_state, "a_test.cc", member), [])
        self.assertEqual(len(found(checks.mutable_state, "a_test.cc", "int a = 0;")), 1)

    def test_bool_parameter(self):
        for text in ("void F(bool a);", "void F(int a,\n       bool b = true);"):
            self.assertEqual(len(found(checks.bool_parameter, "a.h", text)), 1, text)
        for text in ("bool F(int a);", "struct A { bool b = false; };", "void SetA(bool value);"):
            self.assertEqual(found(checks.bool_parameter, "a.h", text), [], text)
        self.assertEqual(found(checks.bool_parameter, "a.cc", "void F(bool a);"), [])

    def test_header_start(self):
        self.assertEqual(found(checks.header_start, "src/kv/a.h", "/// A.\n#pragma once\n"), [])
        self.assertEqual(found(checks.header_start, "src/kv/a.h", "#pragma once\n"),
                         [(1, "header"), (1, "header")])
        self.assertEqual(found(checks.header_start, "src/kv/a.h", "/// A.\nint a;\n"),
                         [(1, "header")])
        self.assertEqual(found(checks.header_start, "src/kernels/isa/target_end.h", "// A.\n"), [])

    def test_loose_ends(self):
        to_do, fix_me = "TO" + "DO", "FIX" + "ME"
        self.assertEqual(found(checks.loose_ends, "a.cc", f"// {to_do}: b\n"), [(1, "loose_end")])
        self.assertEqual(found(checks.loose_ends, "a.cc", f"// {to_do}(#12): b\n"), [])
        self.assertEqual(found(checks.loose_ends, "a.cc", f"// {fix_me}(#12)\n"),
                         [(1, "loose_end")])


class DocumentTest(unittest.TestCase):
    PATHS = frozenset({"src/base/check.h", "docs/a.md", "docs/b.md"})

    def test_executable_bit(self):
        self.assertEqual(found(checks.executable_bit, "a", "#!/bin/sh\n", executable=True), [])
        self.assertEqual(found(checks.executable_bit, "a", "text\n"), [])
        self.assertEqual(len(found(checks.executable_bit, "a", "text\n", executable=True)), 1)
        self.assertEqual(len(found(checks.executable_bit, "a", "#!/bin/sh\n")), 1)

    def test_markdown_title(self):
        self.assertEqual(found(checks.markdown_title, "a.md", "# A\n\n## B\n```\n# c\n```\n"), [])
        self.assertEqual(found(checks.markdown_title, "a.md", "## A\n"), [(0, "title")])
        self.assertEqual(found(checks.markdown_title, "a.md", "# A\n# B\n"), [(2, "title")])

    def paths(self, text: str) -> list[tuple[int, str]]:
        return found(checks.document_paths, "docs/a.md", text, project_paths=self.PATHS)

    def test_paths_in_backticks_exist(self):
        for good in ("`src/base/check.h`", "`src/base/`", "`base/check.h`", "`src/<room>/check.h`",
                     "`./docs/a.md`", "`application/json`", "`a / b`", "`src/*/check.h`"):
            self.assertEqual(self.paths(good), [], good)
        for bad in ("`src/base/gone.h`", "`base/gone.h`", "`docs/gone/`", "`src/<room>/gone.h`"):
            self.assertEqual(self.paths(bad), [(1, "path")], bad)

    def test_links_exist(self):
        for good in ("[b](b.md)", "[b](../docs/b.md#part)", "[w](https://example.org/a)", "[p](#p)",
                     "[c](../src/base/check.h)"):
            self.assertEqual(self.paths(good), [], good)
        self.assertEqual(self.paths("[b](gone.md)"), [(1, "path")])


class RegistryTest(unittest.TestCase):
    def test_every_check_is_run_and_says_what_it_is_for(self):
        defined = {value for value in vars(checks).values()
                   if callable(value) and getattr(value, "__annotations__", {}).get("file") is File
                   and "Iterator" in str(value.__annotations__.get("return"))
                   and not value.__name__.startswith("_")}
        self.assertEqual(defined, set(checks.ALL))
        for check in checks.ALL:
            self.assertTrue(check.__doc__, check.__name__)


if __name__ == "__main__":
    unittest.main()

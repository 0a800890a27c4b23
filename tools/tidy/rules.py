"""The tables of the style test: what STYLE.md says, as data. Checks that read them: checks.py."""

from dataclasses import dataclass

# --- rooms -----------------------------------------------------------------------------------

# Rooms of src/, leftmost first. A room includes only rooms to its left ...
ROOM_ORDER = ["base", "figure", "ranks", "disk", "trace", "tensor", "formats", "text", "grammar", "huggingface", "chat", "kernels", "quantizer", "kv", "sampling",
              "model", "load", "engine", "plan", "proof", "explain", "lab", "server", "hub", "cli"]

# ... and of those only these. A test beside the source may include every room to the left.
ROOM_MAY_INCLUDE = {
    "base": set(),
    "figure": {"base"},
    "ranks": {"base"},
    "disk": {"base"},
    "trace": {"base", "figure"},
    "tensor": {"base"},
    "formats": {"base", "tensor"},
    "text": {"base"},
    "grammar": {"base", "text"},
    "huggingface": {"base", "tensor", "formats", "text"},
    "chat": {"base", "text", "grammar"},
    "kernels": {"base", "tensor"},
    "quantizer": {"base", "tensor", "formats", "kernels"},
    "kv": {"base", "disk", "tensor", "kernels"},
    "sampling": {"base", "tensor", "kernels"},
    "model": {"base", "ranks", "tensor", "kernels", "kv"},
    "load": {"base", "ranks", "tensor", "formats", "text", "huggingface", "chat", "kernels", "kv", "model"},
    "engine": {"base", "ranks", "disk", "trace", "grammar", "kernels", "kv", "sampling", "model"},
    "plan": {"base", "tensor", "formats", "huggingface", "kernels", "quantizer", "kv", "model", "load", "engine", "figure"},
    "proof": {"base", "load", "engine"},
    "explain": {"base", "kernels", "kv", "sampling", "model", "load", "engine", "figure"},
    "lab": {"base", "kernels", "kv", "model", "load", "engine"},
    "server": {"base", "explain"},
    "hub": {"base"},
    "cli": {"base"},
}

# Parts of tests/support that a test or fuzzer beside the source may include.
TEST_SUPPORT = {"support/cost.h", "support/shared_data.h", "support/soon.h"}

# Plain values that every room may use, and the facades with the rooms that implement or return
# them. cli sees all of include/skald, which is how the public API is proved complete.
VOCABULARY = {"skald/conventions.h", "skald/endless.h", "skald/status.h", "skald/ids.h", "skald/rope_override.h", "skald/sampling_params.h",
              "skald/stop_check.h", "skald/version.h"}
FACADE_ROOMS = {
    "skald/tokenizer.h": {"text", "grammar", "chat", "load", "server", "cli"},
    "skald/grammar.h": {"grammar", "chat", "engine", "server", "cli"},
    "skald/constraint.h": {"grammar", "chat", "engine", "server", "cli"},
    "skald/chat_answer.h": {"chat", "server", "cli"},
    "skald/chat_grammar.h": {"chat", "server", "cli"},
    "skald/chat_template.h": {"chat", "load", "server", "cli"},
    "skald/model.h": {"load", "engine", "plan", "proof", "explain", "lab", "server", "cli"},
    "skald/engine.h": {"engine", "plan", "proof", "explain", "lab", "server", "cli"},
    "skald/engine_plan.h": {"engine", "plan", "server", "cli"},
    "skald/engine_stats.h": {"engine", "proof", "server", "cli"},
    "skald/engine_view.h": {"engine", "server", "cli"},
    "skald/cache_view.h": {"kv", "engine", "server", "cli"},
    "skald/request.h": {"engine", "proof", "explain", "lab", "server", "cli"},
    "skald/text_sink.h": {"engine", "server", "cli"},
    "skald/transcript.h": {"engine", "proof", "explain", "lab", "server", "cli"},
    "skald/bench.h": {"engine", "plan", "explain", "lab", "server", "cli"},
    "skald/logits.h": {"engine", "explain", "lab", "cli"},
    "skald/replay.h": {"engine", "proof"},
    "skald/model_shape.h": {"plan", "cli"},
    "skald/machine.h": {"plan", "cli"},
    "skald/plan.h": {"plan", "explain", "cli"},
    "skald/roofline.h": {"plan", "cli"},
    "skald/proof.h": {"proof", "cli"},
    "skald/explain.h": {"explain", "cli"},
    "skald/figure.h": {"figure", "plan", "lab", "cli"},
    "skald/lab.h": {"lab", "cli"},
    "skald/receipt.h": {"proof", "server", "cli"},
    "skald/kernel_bench.h": {"engine", "cli"},
    "skald/server.h": {"server", "cli"},
    "skald/trace.h": {"trace", "engine", "explain", "server", "cli"},
    "skald/trace_view.h": {"trace", "cli"},
    "skald/hub.h": {"hub", "cli"},
    "skald/disk_cache.h": {"disk", "engine", "cli"},
    "skald/quantize.h": {"quantizer", "cli"},
    "skald/ranks.h": {"engine", "cli"},
}

# --- sizes -----------------------------------------------------------------------------------

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
CPP_COLUMNS_MAX = 100
MARKDOWN_COLUMNS_MAX = 130
FILE_BYTES_MAX = 2_000_000

# Ratchets: path -> the lines that its file, or its longest function, has today. An entry may only
# shrink; a file that no longer needs its entry must lose it. Empty is the state to keep.
FILE_LINES_RATCHET: dict[str, int] = {}
FUNCTION_LINES_RATCHET: dict[str, int] = {}

# Data and fixed texts: neither their length nor their blanks are a matter of style.
DATA = ("docs/book/figures/*", "models/*.txt", "models/*.json", "tests/*.txt", "tests/data/*", "LICENSE")
SIZE_EXEMPT = ("models/*/*.gguf",)

# --- banned code -----------------------------------------------------------------------------

# Tests, benchmarks, and what only they include.
TESTS = ("*_test.cc", "*_bench.cc", "*_for_test.h", "src/*/test_*.h",
         "src/kernels/isa/tested_isas.h", "tests/*")


@dataclass(frozen=True)
class Ban:
    """Code that matches `pattern` stands only in files that match `home`."""
    pattern: str
    instead: str
    home: tuple[str, ...] = ()


BANS = [
    Ban(r"\b(secure_)?getenv\b", "an option, read in cli", ("src/cli/*", "tests/support/shared_data.h")),
    Ban(r"\bs?rand\s*\(", "base/rng.h (counter-based)"),
    Ban(r"\brandom_device\b", "a seed given by the caller, drawn in cli", ("src/cli/*",)),
    Ban(r"\bmt19937", "base/rng.h (counter-based)", TESTS),
    Ban(r"\btime\s*\(|\bclock\s*\(|\bgettimeofday\b", "a clock given by the caller", TESTS),
    Ban(r"\b(system|steady|high_resolution)_clock\b", "a clock given by the caller",
        ("src/cli/*", "examples/*", "*_bench.cc", "src/base/stopwatch.*", *TESTS)),
    Ban(r"\bstd::j?thread\b|\bstd::async\b", "base/thread.h, base/thread_pool.h",
        ("src/base/thread.h", "src/base/thread_pool.*", *TESTS)),
    Ban(r"\b[fsv]*n?printf\s*\(|\bputs\s*\(", "a Status, or fmt in cli",
        ("src/cli/*", "src/base/check.cc", *TESTS)),
    Ban(r"\bstd::(cout|cerr|clog)\b", "a Status, or output in cli", ("src/cli/*", "examples/*", *TESTS)),
    # unique_ptr<T>(new T(...)) is the one way where the constructor is private.
    Ban(r"(?<!operator )(?<!>\()\bnew\b|(?<!= )(?<!operator )\bdelete\b",
        "std::make_unique, std::vector, AlignedBuffer"),
    Ban(r"\b(malloc|calloc|realloc|free|alloca)\s*\(", "std::vector, AlignedBuffer",
        # The header reader reserves what it must not touch before it is needed; a test counts
        # allocations by standing in for the allocator.
        ("src/base/aligned_buffer.cc", "src/formats/header_reader.cc",
         "tests/promises/no_alloc_test.cc", "tests/support/allocator_malloc.cc", "tests/support/cost_test.cc")),
    Ban(r"\bstd::(w)?regex|<regex>", "PCRE2 in text, plain code elsewhere"),
    Ban(r"\b(strcpy|strcat|strncpy|strtok|gets)\s*\(", "std::string"),
    Ban(r"\b(ato[ifl]l?|strto\w+|sscanf|sto(i|l|ll|ul|ull|f|d|ld))\s*\(", "std::from_chars", TESTS),
    Ban(r"\bassert\s*\(|<cassert>", "CHECK or DCHECK (base/check.h)"),
    Ban(r"\b(abort|exit|_exit|quick_exit|terminate)\s*\(", "a Status, or CHECK for a bug",
        ("src/base/check.cc", "src/cli/*", "src/ranks/shared_ranks_test.cc", "*_fuzz.cc")),
    Ban(r"\b(try|catch|throw)\b", "Status or Result", ("src/cli/*", *TESTS)),
    # In what order others' floats are added would be a matter of the transport, and so would the bits (docs/decisions/0029).
    # view_board.h has a time there, which one thread writes and another reads.
    Ban(r"\bMPI_(All|I|Iall)?[Rr]educe\w*|\bMPI_SUM\b|\batomic<\s*(float|double)|\batomic_ref<\s*(float|double)",
        "a gather (ranks/exchange.h): floats are copied among ranks and threads, never added", ("src/engine/view_board.h",)),
    # An engine of one instruction set uses no other: the set is resolved once and handed on.
    Ban(r"\bDetectIsa\s*\(", "the Isa of the engine's options",
        ("src/kernels/isa/isa.h", "src/kernels/isa/list.cc", "src/engine/options.cc", *TESTS)),
    Ban(r"\bgoto\b", "a function that returns"),
    Ban(r"\busing\s+namespace\s+std\b", "names with std::"),
    Ban(r"\bthread_local\b", "an argument"),
    Ban(r"#.*\b__(AVX|SSE|FMA|F16C|ARM_NEON|ARM_FEATURE)\w*", "an Isa value and its own file",
        ("src/kernels/isa/*",)),
]

# Text that stands in no file of the project, comments and documents included.
MACHINE_PATHS = [
    (r"-m(arch|tune)=native", ("STYLE.md",)),
    (r"/[w]ork/|/[f]arm", ()),
    (r"/[h]ome/\w", TESTS),
    (r"/[t]mp/", (*TESTS, "docs/*")),
    # What lies beside the checkout has one door (cmake/shared_data.cmake).
    (r"\.\./[s]hared", ("*.md", "docs/*", ".ci/run", "test.sh", "tools/test_summary*.py",
                      "cmake/shared_data.cmake", "tests/support/shared_data.h")),
]

# The only files that may define macros: a macro is needed there for the source line, to leave the
# function, or to open a target region.
MACRO_FILES = ("include/skald/version.h", "src/base/check.h", "src/base/status_macros.h", "src/kernels/isa/target_*.h")

# Macros that a library wants its users to define.
LIBRARY_MACROS = ("PCRE2_CODE_UNIT_WIDTH",)

# A signal handler is given no argument, so what it sets has no owner; nor have the counters of a
# replaced allocator, and the registers of an emulated CPU.
MUTABLE_STATE_FILES = ("src/cli/interrupt.cc", "tests/promises/no_alloc_test.cc",
                       "tests/support/cost.cc", "tests/emulated_tiles/kernels/isa/amx_tiles.h")

# Brackets around code: included several times, so without #pragma once; they open with //.
BRACKET_HEADERS = ("src/kernels/isa/target_*.h",)

# Not read as text.
BINARY = ("*.gguf", "*.f32", "*.png", "*.bin", "fuzz/corpora/*")

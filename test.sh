#!/usr/bin/env bash
# ./test.sh [OPTION...]: installs what is missing, builds, runs the tests. See --help.
set -euo pipefail

# shellcheck source=tools/setup.sh
source "$(dirname "$(readlink -f "$0")")/tools/setup.sh"

usage() {
  cat <<'TEXT'
Usage: ./test.sh [LANE...] [--json FILE]

Without a lane: the unit lane. Each lane builds into build/ with a preset of its own.

  --unit            gcc, release, warnings are errors; every test: unit tests, golden models,
                    malformed files, headers, style (tidy, format, shellcheck)
  --alone           after --unit, in its build: the tests of programs that read the large recordings
                    in ../shared, told that there are none, as in a clone with nothing beside it
  --asan            clang, warnings are errors; the tests under AddressSanitizer and
                    UndefinedBehaviorSanitizer
  --bits            the commands of --unit and --asan, by two compilers, give the same bits
  --tsan            the tests that start threads, under ThreadSanitizer
  --tsan-tests      all unit tests under ThreadSanitizer
  --clang-tests     clang, release, warnings are errors, each source compiled by itself, which shows
                    an #include that it lacks; all tests again, the bits of --bits too
  --fuzz SECONDS    every fuzz target in the build of --asan, SECONDS in total
  --soak MINUTES    hostile and honest clients against one server with a memory limit: texts, times,
                    memory (tests/soak/soak.py)
  --packages        the Debian packages: lintian, then installed in a bare Debian 12, used, upgraded,
                    removed (as root, with a mirror; tests/install/packages_test.py)
  --clang-tidy      clang-tidy over all sources but tests (slow)
  --all             --unit --alone --asan --bits --tsan --fuzz 60: what .ci/run runs
  --json FILE       writes the summary there too; it is always in build/summary.json
  -h, --help        this text

The last lines say how long each lane took, what was left out and why, which kernels this CPU cannot
run, and "N passed, N failed". The summary has the same for programs, and the names of what failed:
{"passed", "failed", "cpu", "kernels_not_run": [...], "lanes": [{"name", "passed", "failed",
"seconds", "failed_tests": [...], "left_out": [{"suite", "tests", "needs"}]}]}.

Exit code: 0 all passed, 1 something failed, 2 wrong usage, 69 the machine could not be set up.
TEXT
}

jobs=$(nproc)
passed=0
failed=0
results=()  # what tools/test_summary.py reads, of the lane at hand

# configure PRESET [CMAKE ARGUMENT...]
configure() {
  (cd "$root" && cmake --preset "$@") >"$root/build/$1.log" 2>&1 || {
    cat "$root/build/$1.log" >&2
    return 1
  }
}

# build PRESET [TARGET...]: warnings and errors are shown, also when the build succeeds.
build() {
  local preset=$1
  shift
  # The build runs each test program once, to list its tests: hence the launcher.
  "${launcher[@]}" ninja -k 0 -C "$root/build/$preset" -j "$jobs" "$@" >"$root/build/$preset.log" 2>&1 || {
    grep -vE '^\[[0-9]+/[0-9]+\]' "$root/build/$preset.log" | head -n 200 >&2
    return 1
  }
  grep -A 5 'warning:' "$root/build/$preset.log" >&2 || true
}

# run_ctest PRESET [CTEST ARGUMENT...]: adds to the counts what ctest reports.
run_ctest() {
  local preset=$1 log=$root/build/$1-ctest.log xml=$root/build/$lane_name-tests.xml
  shift
  rm -f "$xml"
  results+=("ctest $xml" "labels $root/build/$lane_name-labels.json")
  ctest --test-dir "$root/build/$preset" --show-only=json-v1 "$@" >"$root/build/$lane_name-labels.json"
  # One more at a time than there are processors: many wait for a socket, a terminal or a clock.
  "${launcher[@]}" "${runner[@]}" --test-dir "$root/build/$preset" -j "$((jobs + 1))" \
    --output-junit "$xml" "$@" | tee "$log" |
    grep -vE '^ *[0-9]+/[0-9]+ Test .*( Passed|\*\*\*Not Run \(Disabled\)) |^ +Start +[0-9]+:|\(Disabled\)$' >&2 ||
    true
  local summary lane_failed lane_total
  summary=$(sed -nE 's/.* tests passed, ([0-9]+) tests failed out of ([0-9]+)/\1 \2/p' "$log")
  [ -n "$summary" ] || return 1
  read -r lane_failed lane_total <<<"$summary"
  passed=$((passed + lane_total - lane_failed))
  failed=$((failed + lane_failed))
}

# Put before the programs of the sanitizer lanes: the sanitizers place shadow memory at fixed
# addresses, which a kernel with much address-space randomisation may have taken, so run without it
# where the system lets us.
plain_addresses=()
if setarch -R true 2>/dev/null; then plain_addresses=(setarch -R); fi
launcher=()  # of the lane at hand

# What runs the tests of the lane at hand: each in a process of its own, or, where that is done elsewhere, many in one.
runner=(ctest --output-on-failure --no-tests=error)
together=(python3 "$root/tools/run_together.py")

# The build of gcc with all tests. Sources are compiled together: half the time, and a build made whole has no use for less.
build_release() {
  configure release -DSKALD_TESTS=ON -DSKALD_WERROR=ON -DSKALD_UNITY=ON && build release
}

lane_unit() {
  ensure_packages build test
  ensure_clients
  build_release && run_ctest release
}

# Label beside: what can differ with and without the folder (cmake/shared_data.cmake).
lane_alone() {
  ensure_packages build test
  local runner=("${together[@]}")
  build_release && SKALD_SHARED_DATA=none run_ctest release -L beside
}

# What the sanitizers' lane leaves out, besides checks of the sources (label house), which no compiler
# option can change. Each calls what others call there, and takes minutes under a sanitizer:
not_under_asan=(
  '^(SampledDistribution|Rejection)\.'             # a hundred thousand samples
  '\.OfMegabytesOfText$' '^TokenizerSpeedTest\.' '^TokenMasksSharedData\.'  # megabytes
  '^Examples$' '^Book$' '^Chat$' '^ChatCalls$'              # the commands, which Cli, Pull and E2e run, too
  '^ForeignFlags\.EveryRowIsAnswered$' '^HeaderExamples$'  # the command, the compiler
  '^Bench$' '^KernelBench\.' 'TakesAThirdOfThePasses$' '^BeamsOnTales\.'  # they would measure the sanitizer
  '^ModelsMeasured$' '^LongContext\.' 'KvTypesSharedData\.' '^SchedulesSharedData\.' '^Compact/FamilySchedules\.' '^KvTypesOfTales\.'
  '\.LargestIntegersDoNotSaturate/' '^(Cli|Folder)SharedData$' '^CostOf' '^Faults/PlantedFault\.' '^FamilySeeds'  # numbers, not memory
  '^Hostile\.ReadingIsLinear$' '\.KilledInTheMiddleOfAWrite$'  # times, and what is left in files
  '^Isas/AttentionTest\..*/(scalar|avxvnni|amx) '  # the same functions as the specification, avx2, avx512
)

lane_asan() {
  ensure_packages build test clang
  local launcher=("${plain_addresses[@]}") runner=("${together[@]}")
  configure asan -DSKALD_TESTS=ON -DSKALD_WERROR=ON && build asan &&
    run_ctest asan -LE house -E "$(IFS='|' && printf '%s' "${not_under_asan[*]}")"
}

# same_bits PRESET: the logits of its command are, byte for byte, those of gcc's optimized one.
same_bits() {
  local preset=$1 each tokens
  configure release -DSKALD_WERROR=ON && build release skald || return 1
  configure "$preset" -DSKALD_WERROR=ON && build "$preset" skald || return 1
  tokens=$(seq -s , 0 199)
  for each in release "$preset"; do
    "$root/build/$each/skald" logits --tokens "$tokens" --out "$root/build/$each.logits" \
      2>>"$root/build/$preset.log" || return 1
  done
  if cmp "$root/build/release.logits" "$root/build/$preset.logits" >&2; then
    passed=$((passed + 1))
  else
    fails "$preset gives other bits than release"
  fi
}

lane_bits() {
  ensure_packages build clang
  same_bits asan
}

lane_clang_tests() {
  ensure_packages build test clang
  ensure_clients
  configure clang -DSKALD_TESTS=ON -DSKALD_WERROR=ON && build clang && run_ctest clang -LE house &&
    same_bits clang
}

# What the lane of threads leaves out: what one thread does alone, and the same threads once more over
# other numbers. A race does not depend on the type of a weight: those that stay have a kernel each.
not_under_tsan=(
  'Tokenizer[A-Z][A-Za-z]*SharedData' 'NormalizingTokenizer' '^(Compact|ByteLevel)/Tokenizer' '^JsonTree\.' '^ReadJson\.'
  '^TokenMasksSharedData\.' '^Promise1\.HoldsForLatentAttentionOfRealSize$'
  '^Promise1/EveryWeightType\..*/(Q[1235]_|Q4_[01]|Q6_K|IQ|TQ|NVFP4)'
  '^Promise1/QuantizedKv\..*/(q4|q8_f16|f32_q4)' '^LongContext\.'
)

# The programs whose tests start threads. Label process runs the command, one thread at work.
lane_tsan() {
  ensure_packages build test clang
  local launcher=("${plain_addresses[@]}") runner=("${together[@]}")
  configure tsan -DSKALD_TESTS=ON &&
    build tsan base_test load_test engine_test server_test same_answer_test break_it_test golden_test &&
    run_ctest tsan -LE 'house|process' -E "$(IFS='|' && printf '%s' "NOT_BUILT|${not_under_tsan[*]}")"
}

lane_tsan_tests() {
  ensure_packages build test clang
  local launcher=("${plain_addresses[@]}") runner=("${together[@]}")
  configure tsan -DSKALD_TESTS=ON && build tsan && run_ctest tsan -LE 'house|process'
}

# lane_fuzz SECONDS: all targets in turn. Inputs found stay in build/fuzz/corpus, failing ones in
# build/fuzz/crashes.
lane_fuzz() {
  local seconds=$1 target name corpus seeds dictionary each arguments
  ensure_packages build clang
  configure asan && build asan fuzzers || return 1
  local targets=("$root"/build/asan/*_fuzz)
  [ -x "${targets[0]}" ] || { say "no fuzz target was built"; return 1; }
  each=$((seconds / ${#targets[@]}))
  [ "$each" -gt 0 ] || each=1
  mkdir -p "$root/build/fuzz/crashes"
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    corpus=$root/build/fuzz/corpus/$name
    mkdir -p "$corpus"
    arguments=(-max_total_time="$each" -max_len=65536 -timeout=10 -rss_limit_mb=1024
      -artifact_prefix="$root/build/fuzz/crashes/$name-" "$corpus")
    seeds=$root/fuzz/corpora/${name%_fuzz}
    dictionary=$root/fuzz/${name%_fuzz}.dict
    if [ -d "$seeds" ]; then arguments+=("$seeds"); fi
    if [ -f "$dictionary" ]; then arguments+=(-dict="$dictionary"); fi
    say "fuzz: $name, $each s"
    if "$target" "${arguments[@]}" >"$root/build/fuzz/$name.log" 2>&1; then
      say "fuzz: $(grep -o 'Done [0-9]* runs' "$root/build/fuzz/$name.log" || true)"
      passed=$((passed + 1))
    else
      fails "$name"
      tail -n 40 "$root/build/fuzz/$name.log" >&2
    fi
  done
}

# lane_soak MINUTES
lane_soak() {
  ensure_packages build test
  configure release -DSKALD_TESTS=ON -DSKALD_WERROR=ON && build release skald || return 1
  if python3 "$root/tests/soak/soak.py" "$root/build/release/skald" "$root" --minutes "$1" >&2; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

lane_packages() {
  ensure_packages build pack chroot
  configure release -DSKALD_WERROR=ON && build release skald skald_library manual || return 1
  if python3 "$root/tests/install/packages_test.py" "$root/build/release" "$root" >&2; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

lane_clang_tidy() {
  ensure_packages build test clang lint
  configure clang -DSKALD_TESTS=ON || return 1
  local log=$root/build/clang-tidy.log
  if run-clang-tidy -quiet -p "$root/build/clang" -j "$jobs" \
    "$root/src/.*(?<!_test)\.cc$" >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    fails clang-tidy
    grep -E 'error:|warning:' "$log" | sort -u >&2
  fi
}

# fails WHAT: counts a failure that ctest does not know.
fails() {
  failed=$((failed + 1))
  results+=("failed $1")
}

# lane NAME [ARGUMENT]: runs lane_NAME; a lane that did not get to its tests counts as one failure.
lane() {
  local start=$SECONDS passed_before=$passed failed_before=$failed
  lane_name=$1
  shift
  results=()
  say "== $lane_name"
  "lane_${lane_name//-/_}" "$@" || [ "$failed" -gt "$failed_before" ] || fails "$lane_name: no tests"
  printf '%s\n' "lane $lane_name $((passed - passed_before)) $((failed - failed_before)) $((SECONDS - start))" \
    "${results[@]}" >>"$root/build/lanes.txt"
}

mkdir -p "$root/build"
lanes=()
fuzz_seconds=60
soak_minutes=60
json=
while [ $# -gt 0 ]; do
  case $1 in
    --unit | --alone | --asan | --bits | --tsan | --tsan-tests | --clang-tests | --packages | --clang-tidy) lanes+=("${1#--}") ;;
    --fuzz)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || {
        say "error: --fuzz needs a number of seconds, got '${2:-}'"
        exit 2
      }
      lanes+=(fuzz)
      fuzz_seconds=$2
      shift
      ;;
    --json)
      [ -n "${2:-}" ] || {
        say "error: --json needs the name of a file"
        exit 2
      }
      json=$2
      shift
      ;;
    --soak)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || {
        say "error: --soak needs a number of minutes, got '${2:-}'"
        exit 2
      }
      lanes+=(soak)
      soak_minutes=$2
      shift
      ;;
    --all) lanes+=(unit alone asan bits tsan fuzz) ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      say "error: unknown option '$1'; ./test.sh --help lists them"
      exit 2
      ;;
  esac
  shift
done
[ ${#lanes[@]} -gt 0 ] || lanes=(unit)

: >"$root/build/lanes.txt"
for name in "${lanes[@]}"; do
  case $name in
    fuzz) lane fuzz "$fuzz_seconds" ;;
    soak) lane soak "$soak_minutes" ;;
    *) lane "$name" ;;
  esac
done
python3 "$root/tools/test_summary.py" "$root/build/lanes.txt" "$root/build/summary.json" \
  "$(find "$root/build" -maxdepth 2 -name kernels_test -perm -u+x | head -n 1)" || fails "summary"
if [ -n "$json" ]; then cp "$root/build/summary.json" "$json" || fails "--json $json"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

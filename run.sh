#!/usr/bin/env bash
# ./run.sh ["PROMPT"] [OPTION...]: one command from a fresh checkout to text.
#
# The first call installs what the build needs (Debian packages, tools/packages.txt), builds skald
# and runs it; later calls find all that done and cost some hundredths of a second. All arguments go
# to `skald run`; without -m it tells a tale with the model that comes with the source.
#
# The text stands alone on stdout, everything else goes to stderr. Exit code: that of skald
# (docs/cli.md), or 69 when the machine could not be set up or the build failed.
set -euo pipefail

# shellcheck source=tools/setup.sh
source "$(dirname "$(readlink -f "$0")")/tools/setup.sh"

build=$root/build/release

# Configures and builds preset release, the target skald only: no test program is built. The output
# of the tools is shown when they fail; a terminal sees the progress of a first build.
build_skald() {
  local log=$root/build/build.log output=$root/build/build.log
  if [ ! -f "$build/build.ninja" ]; then
    say "configuring (preset release)"
    (cd "$root" && cmake --preset release) >"$log" 2>&1 || { cat "$log" >&2
      give_up "cmake could not configure the build in $build"; }
  fi
  if [ ! -x "$build/skald" ]; then
    say "building skald (once; some minutes)"
    if [ -t 2 ]; then output=/dev/stderr; fi
  fi
  ninja -C "$build" skald >"$output" 2>&1 || { [ "$output" != "$log" ] || tail -n 40 "$log" >&2
    give_up "the build failed in $build"; }
}

ensure_packages build
mkdir -p "$root/build"
# Two first calls at once must not build into one folder: the second waits for the first.
exec 9>"$root/build/.lock"
flock 9
build_skald
exec 9>&-

exec "$build/skald" run "$@"

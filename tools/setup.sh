# shellcheck shell=bash
# Sourced by run.sh and test.sh (so not executable): installs what is missing, says what happens on
# stderr.

# The top of the checkout.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Exit code of run.sh and test.sh when the machine could not be set up or the build failed
# (EX_UNAVAILABLE of sysexits.h). skald itself never uses it (docs/cli.md).
readonly exit_setup_failed=69

# say TEXT...: one line of progress. Never on stdout, which belongs to the result.
say() { printf '%s\n' "$*" >&2; }

# give_up TEXT...: ends the script because the machine is not ready.
give_up() {
  say "error: $*"
  exit "$exit_setup_failed"
}

# packages_of GROUP...: the Debian packages of these groups of tools/packages.txt, one a line.
packages_of() {
  local group
  for group in "$@"; do
    sed -n "s/^$group \(.*\)/\1/p" "$root/tools/packages.txt"
  done
}

# missing_packages GROUP...: those of them that are not installed. Some 20 ms: no call of apt.
missing_packages() {
  local wanted installed
  wanted=$(packages_of "$@")
  # shellcheck disable=SC2086  # one word a package is what is meant
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' $wanted \
    2>/dev/null | sed -n 's/^installed //p')
  comm -23 <(sort <<<"$wanted") <(sort <<<"$installed")
}

# ensure_packages GROUP...: installs what is missing; gives up with the command to type where this
# user may not. Does nothing, in some 20 ms, when all is there. On a system without dpkg nothing can
# be checked: CMake will name what it does not find.
ensure_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  missing=${missing% }
  [ -n "$missing" ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up "these Debian packages are missing and this user cannot" \
      "install them; as root: apt-get install $missing"
    as_root=(sudo)
  fi
  say "installing Debian packages: $missing"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
  # shellcheck disable=SC2206  # one word a package is what is meant
  local install=("${as_root[@]}" "${apt[@]}" install -y --no-install-recommends $missing)
  local log=$root/build/setup.log
  mkdir -p "$root/build"
  # The package index of the machine may be empty or older than the mirror: refresh it only then.
  if ! "${install[@]}" >"$log" 2>&1; then
    "${as_root[@]}" "${apt[@]}" update >"$log" 2>&1 || { tail -n 5 "$log" >&2
      give_up "apt-get update failed, see $log"; }
    "${install[@]}" >"$log" 2>&1 || { tail -n 5 "$log" >&2
      give_up "apt-get could not install: $missing; see $log"; }
  fi
}

# ensure_clients: installs the npm packages of the client tests as their lock file pins them. Does
# nothing when they are there.
ensure_clients() {
  local clients=$root/tests/e2e/clients log=$root/build/npm.log
  [ "$clients/node_modules/.package-lock.json" -nt "$clients/package-lock.json" ] && return 0
  command -v npm >/dev/null || ensure_packages node
  say "installing npm packages of tests/e2e/clients"
  mkdir -p "$root/build"
  (cd "$clients" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    give_up "npm ci failed in $clients, see $log"
  }
}

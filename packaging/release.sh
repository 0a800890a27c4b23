#!/usr/bin/env bash
# packaging/release.sh OUT [SKALD]: what a release consists of, in the new folder OUT:
#
#   skald-VERSION.tar.gz              the source, as committed
#   skald-VERSION-linux-x86_64        the command (SKALD, or built here), stripped
#   skald-VERSION.cdx.json            what is in it (SBOM, CycloneDX 1.5)
#   SHA256SUMS                        of all of these: sha256sum --check SHA256SUMS
#
# The same commit and the same packages give the same bytes. Signing is left to who publishes.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
fail() {
  echo "error: $*" >&2
  exit 1
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then fail "usage: packaging/release.sh OUT [SKALD]"; fi
out=$1
[ ! -e "$out" ] || fail "$out is there already: a release begins in an empty folder"

version=$(sed -nE 's/^#define SKALD_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' "$root/include/skald/version.h" | paste -sd .)
[ -n "$version" ] || fail "no version in include/skald/version.h"
commit=$(git -C "$root" rev-parse HEAD)
seconds=$(git -C "$root" log -1 --format=%ct)

skald=${2:-}
if [ -z "$skald" ]; then
  (cd "$root" && cmake --preset release -DSKALD_TESTS=OFF -DSKALD_WERROR=ON &&
    ninja -C build/release skald) >&2
  skald=$root/build/release/skald
fi
[ -x "$skald" ] || fail "$skald is no program"
said=$("$skald" --version | sed -n 's/^skald //p')
[ "$said" = "$version" ] || fail "$skald is version '$said', the source is $version"

mkdir -p "$out"
name=skald-$version
# gzip -n: neither name nor time of a file that never was.
git -C "$root" archive --format=tar --prefix="$name/" "$commit" | gzip -n -9 >"$out/$name.tar.gz"
strip -o "$out/$name-linux-x86_64" "$skald"
chmod 755 "$out/$name-linux-x86_64"
python3 "$root/packaging/sbom.py" --version "$version" --commit "$commit" --seconds "$seconds" \
  --program "$out/$name-linux-x86_64" --source "$root" >"$out/$name.cdx.json"
(cd "$out" && sha256sum -- "$name"* >SHA256SUMS)
echo "$out: $name of commit $commit"

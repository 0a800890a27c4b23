"""Writes the SBOM of a built skald (CycloneDX 1.5, JSON) to stdout.

    sbom.py --version V --commit C --seconds S --program FILE --source FOLDER

Three kinds of parts: the libraries that the program loads (asked of the program), those compiled
into it from headers, with the compiler (tools/packages.txt, group build), and the bundled model.
Versions are those of the Debian packages on this machine, which must be the one that built it.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

# Of the group build: they leave nothing in the program. The compiler does (libgcc, templates).
TOOLS = {"cmake", "ninja-build", "pkg-config"}


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def package_of(library: str) -> str:
    """The Debian package that a file belongs to; it may be known by the path before usrmerge."""
    real = str(Path(library).resolve())
    for path in (real, library, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"error: {library} belongs to no package")


def loaded_packages(program: str) -> set[str]:
    """Those whose libraries the loader maps, indirectly needed ones included."""
    return {package_of(path) for path in re.findall(r"(/\S+) \(0x", output("ldd", program))}


def built_in_packages(source: Path) -> set[str]:
    lines = (source / "tools/packages.txt").read_text().splitlines()
    named = {line.split()[1] for line in lines if line.startswith("build ")}
    return named - TOOLS


def sha256(path: Path | str) -> list[dict]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(Path(path).read_bytes()).hexdigest()}]


def deb(package: str, note: str) -> dict:
    fields = output("dpkg-query", "--show", "--showformat=${Version}\n${Architecture}\n", package)
    version, architecture = fields.splitlines()[:2]
    purl = f"pkg:deb/debian/{package.replace('+', '%2B')}@{version}?arch={architecture}"
    return {"type": "library", "bom-ref": purl, "name": package, "version": version, "purl": purl,
            "properties": [{"name": "skald:use", "value": note}]}


def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("--version", "--commit", "--program"):
        parser.add_argument(option, required=True)
    parser.add_argument("--seconds", type=int, required=True, help="of the commit")
    parser.add_argument("--source", type=Path, required=True)
    options = parser.parse_args()

    loaded = loaded_packages(options.program)
    built_in = built_in_packages(options.source)
    model = options.source / "models/tales/tales.gguf"
    parts = [deb(each, "loaded") for each in sorted(loaded)]
    parts += [deb(each, "compiled in, or its headers") for each in sorted(built_in - loaded)]
    parts.append({"type": "machine-learning-model", "bom-ref": "tales", "name": "tales",
                  "version": options.version, "hashes": sha256(model)})
    itself = f"pkg:generic/skald@{options.version}"
    json.dump({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same commit and parts have the same number, and others another.
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(
            uuid.NAMESPACE_URL, options.commit + json.dumps(parts, sort_keys=True))),
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(options.seconds, timezone.utc).isoformat(),
            "component": {"type": "application", "bom-ref": itself, "name": "skald",
                          "version": options.version, "purl": itself,
                          "licenses": [{"license": {"id": "Apache-2.0"}}],
                          "hashes": sha256(options.program),
                          "properties": [{"name": "skald:commit", "value": options.commit}]}},
        "components": parts,
        "dependencies": [{"ref": itself, "dependsOn": [part["bom-ref"] for part in parts]}],
    }, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

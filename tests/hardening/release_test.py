"""packaging/release.sh makes what it says, the same twice, with checksums that notice a change and
a list of parts that names every library of the program.

    release_test.py SKALD SOURCE
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path


class Release(unittest.TestCase):
    skald = ""
    source = Path()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="skald-release-")
        self.addCleanup(self.folder.cleanup)

    def release(self, name: str, skald: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([self.source / "packaging/release.sh", Path(self.folder.name) / name,
                               skald or self.skald], capture_output=True, text=True)

    def made(self, name: str) -> dict[str, Path]:
        result = self.release(name)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {each.name: each for each in (Path(self.folder.name) / name).iterdir()}

    def test_is_complete_and_the_same_twice(self):
        first, second = self.made("first"), self.made("second")
        version = subprocess.run([self.skald, "--version"], capture_output=True,
                                 text=True).stdout.split()[1]
        self.assertEqual(set(first), {
            "SHA256SUMS", f"skald-{version}.tar.gz", f"skald-{version}-linux-x86_64",
            f"skald-{version}.cdx.json"})
        for name, path in first.items():
            self.assertEqual(path.read_bytes(), second[name].read_bytes(), name)
        with tarfile.open(first[f"skald-{version}.tar.gz"]) as source:
            names = set(source.getnames())
        for name in ("CMakeLists.txt", "LICENSE", "models/tales/tales.gguf", "test.sh"):
            self.assertIn(f"skald-{version}/{name}", names)
        program = first[f"skald-{version}-linux-x86_64"]
        said = subprocess.run([program, "--version"], capture_output=True, text=True)
        self.assertTrue(said.stdout.startswith(f"skald {version}\n"))
        self.check_parts(json.loads(first[f"skald-{version}.cdx.json"].read_text()), program)
        self.check_sums(first)

    def check_sums(self, made: dict[str, Path]):
        lines = made["SHA256SUMS"].read_text().splitlines()
        found = {line.split()[1]: line.split()[0] for line in lines}
        self.assertEqual(set(found), set(made) - {"SHA256SUMS"})
        for name, digest in found.items():
            self.assertEqual(digest, hashlib.sha256(made[name].read_bytes()).hexdigest())
        check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
        folder = made["SHA256SUMS"].parent
        self.assertEqual(subprocess.run(check, cwd=folder, capture_output=True).returncode, 0)
        bom = next(path for name, path in made.items() if name.endswith(".json"))
        bom.write_bytes(bom.read_bytes() + b" ")
        self.assertNotEqual(subprocess.run(check, cwd=folder, capture_output=True).returncode, 0)

    def check_parts(self, bom: dict, program: Path):
        self.assertEqual((bom["bomFormat"], bom["specVersion"]), ("CycloneDX", "1.5"))
        itself = bom["metadata"]["component"]
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        self.assertEqual(itself["hashes"], [{"alg": "SHA-256", "content": digest}])
        references = [part["bom-ref"] for part in bom["components"]]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(bom["dependencies"],
                         [{"ref": itself["bom-ref"], "dependsOn": references}])
        versions = {part["name"]: part["version"] for part in bom["components"]}
        # What the program says that it needs, by the package names that Debian gives libraries.
        dynamic = subprocess.run(["readelf", "-W", "-d", program], check=True, capture_output=True,
                                 text=True).stdout
        needed = re.findall(r"NEEDED.*\[lib([\w+]+?)(?:-[\d.]+)?\.so", dynamic)
        self.assertGreater(len(needed), 5)
        for library in needed:
            stem = {"m": "libc6", "c": "libc6", "crypto": "libssl3",
                    "gcc_s": "libgcc-s1"}.get(library, f"lib{library}")
            self.assertTrue(any(name.startswith(stem) for name in versions), library)
        for name in ("libboost1.81-dev", "libcli11-dev", "g++"):
            self.assertIn(name, versions)
        for name, version in versions.items():
            if name == "tales":
                continue
            known = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", name],
                                   capture_output=True, text=True).stdout
            self.assertEqual(version, known, name)

    def test_refuses_a_folder_that_is_there_and_a_program_that_is_another(self):
        (Path(self.folder.name) / "there").mkdir()
        for name, skald, part in (("there", self.skald, "is there already"),
                                  ("new", "/bin/true", "is version ''"),
                                  ("new", "/does/not/exist", "is no program")):
            result = self.release(name, skald)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(part, result.stderr)
            self.assertFalse((Path(self.folder.name) / "new").exists())


if __name__ == "__main__":
    Release.skald, source = sys.argv[1:3]
    Release.source = Path(source)
    unittest.main(argv=sys.argv[:1])

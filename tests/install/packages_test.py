"""The Debian packages as a stranger meets them: built, looked at by lintian, installed in a bare Debian 12, used as the
README says, upgraded, removed.

    packages_test.py BUILD SOURCE

Run by ./test.sh --packages: needs root (chroot), a Debian mirror, and some three minutes. BUILD has been built.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hub"))
from fake_hub import FakeHub

TIMEOUT_S = 900
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# What lintian says and is left: tag, and why.
LEFT = {
    "bogus-mail-host": "there is no public address yet",
    "bogus-mail-host-in-debian-changelog": "as above",
    "initial-upload-closes-no-bugs": "the packages are not in Debian, so no bug asks for them",
    "maintscript-calls-ldconfig": "cpack writes the calls; the trigger that should replace them is there, too",
    "pkg-config-unavailable-for-cross-compilation": "one architecture, x86-64",
}


class Setup:
    build = Path()
    source = Path()


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=TIMEOUT_S, check=False,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout.decode()[-4000:]}"
                             f"{done.stderr.decode()[-4000:]}")
    return done.stdout.decode()


def pack(folder: Path, *arguments: str) -> dict[str, Path]:
    """The packages by name."""
    run("cpack", "-G", "DEB", "-B", folder, *arguments, cwd=Setup.build,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


def commands_of_readme() -> list[str]:
    """Those of its section "From the packages", without remarks."""
    section = re.search(r"^## From the packages\n(.*?)^## ", (Setup.source / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^    (\S.*)$", re.sub(r"\\\n +", "", section[1]), re.MULTILINE)
    return [re.split(r" {2,}# ", line)[0] for line in lines]


class Chroot:
    """A bare Debian 12, with what it needs of the machine: packages from its mirror, /proc."""

    def __init__(self, root: Path):
        self.root = root
        sources = [*Path("/etc/apt/sources.list.d").glob("*.sources"), Path("/etc/apt/sources.list")]
        run("mmdebstrap", "--variant=apt", "--mode=root", "bookworm", root, *(path for path in sources if path.exists()))
        run("mount", "--bind", "/proc", root / "proc")
        self.do("apt-get", "-q", "update")

    def close(self):
        run("umount", self.root / "proc")

    def command(self, *words) -> list[str]:
        return ["chroot", str(self.root), *(str(word) for word in words)]

    def do(self, *words, **env: str) -> str:
        return run(*self.command(*words), env={"PATH": PATH, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **env})

    def install(self, *packages) -> None:
        names = []
        for package in packages:
            if isinstance(package, Path):
                shutil.copy(package, self.root / "tmp")
                package = f"/tmp/{package.name}"
            names.append(package)
        self.do("apt-get", "-q", "install", "-y", "--no-install-recommends", *names)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.top = Path(cls.folder.name)
        cls.packages = pack(cls.top / "first")
        cls.chroot = Chroot(cls.top / "root")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.chroot.close)

    def test_0_they_are_the_same_bytes_again(self):
        again = pack(self.top / "again")
        self.assertEqual(set(self.packages), {"skald", "libskald0", "libskald-dev"})
        for name, path in self.packages.items():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(),
                             hashlib.sha256(again[name].read_bytes()).hexdigest(), name)

    def test_1_the_archive_runs_wherever_it_is_unpacked(self):
        run("cpack", "-G", "TGZ", "-B", self.top / "archive", cwd=Setup.build)
        archives = list((self.top / "archive").glob("*.tar.gz"))
        self.assertEqual(len(archives), 1, archives)
        run("tar", "-xzf", archives[0], "-C", self.top / "archive")
        [program] = (self.top / "archive").glob("skald-*/usr/bin/skald")
        self.assertTrue(run(program, "run", "-q", "-n", "3", "One day", env={}).startswith("One day"))

    def test_1_lintian_finds_nothing_but_what_is_listed(self):
        for path in self.packages.values():
            said = subprocess.run(["lintian", "--tag-display-limit", "0", path], capture_output=True, check=False)
            tags = set(re.findall(r"^[EW]: \S+: (\S+)", said.stdout.decode(), re.MULTILINE))
            self.assertEqual(tags - set(LEFT), set(), said.stdout.decode())

    def start_service(self) -> str:
        """What systemd would start; its address."""
        unit = (self.chroot.root / "usr/lib/systemd/system/skald.service").read_text()
        [words] = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        server = subprocess.Popen(
            self.chroot.command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                                *words.split(), "--port", "0"),
            stderr=subprocess.PIPE, text=True, env={"PATH": PATH, "HOME": "/nonexistent"})
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.kill)
        line, deadline = "", time.monotonic() + 60
        while "http://" not in line and time.monotonic() < deadline:
            line = server.stderr.readline()
        self.server = server
        return re.search(r"http://([\d.:]+)", line)[1]

    def test_2_the_readme_is_all_it_takes(self):
        """Each command as it stands there. Not of it: which hub is asked, a yes to apt-get, the number of the port, and
        systemd, in whose place the unit's own command line is started."""
        (self.chroot.root / "etc/apt/apt.conf.d/90yes").write_text('APT::Get::Assume-Yes "true";\n')
        for package in self.packages.values():
            shutil.copy(package, self.chroot.root / "root")
        tales = (Setup.source / "models/tales/tales.gguf").read_bytes()
        said, times, address = {}, [], ""
        with FakeHub({"Qwen3-0.6B-Q8_0.gguf": tales}, repository="Qwen/Qwen3-0.6B-GGUF") as hub:
            for command in commands_of_readme():
                began = time.monotonic()
                if command == "systemctl start skald":
                    address = self.start_service()
                else:
                    typed = command.replace("127.0.0.1:8080", address)
                    said[command] = self.chroot.do("sh", "-ec", f"cd; {typed}", HF_ENDPOINT=hub.endpoint).strip()
                times.append(f"{time.monotonic() - began:7.1f} s  {command}")
            self.assertGreaterEqual(hub.sent, len(tales))
        print("", *times, sep="\n", flush=True)
        self.server.terminate()
        self.assertEqual(self.server.wait(60), 0)

        def told(*words: str) -> list[str]:
            return [text for command, text in said.items() if all(word in command for word in words)]

        self.assertTrue(all(text.startswith("Once upon a time") for text in told("skald run")))
        [pulled] = told("skald pull")
        self.assertEqual((self.chroot.root / pulled[1:]).read_bytes(), tales)
        [chat] = told("skald chat")
        self.assertGreater(len(chat), 20)
        [answer] = told("curl http")
        self.assertGreater(len(json.loads(answer)["choices"][0]["message"]["content"]), 20)
        expected = self.chroot.do("skald", "run", "-q", "-n", "20", "--seed", "7", "--no-echo", "One day").strip()
        self.assertEqual(told("one_shot /usr/share"), [expected, expected])
        # What a Debian package has, and the same bits as where it was built.
        self.assertEqual(expected, run(Setup.build / "skald", "run", "-q", "-n", "20", "--seed", "7", "--no-echo", "One day").strip())
        for path in ("usr/share/man/man1/skald.1.gz", "usr/share/doc/skald/copyright",
                     "usr/share/bash-completion/completions/skald"):
            self.assertTrue((self.chroot.root / path).is_file(), path)

    def test_5_it_is_upgraded_and_removed_without_a_trace(self):
        newer = pack(self.top / "newer", "-D", "CPACK_PACKAGE_VERSION=0.9.9")
        self.chroot.install(*newer.values())
        self.assertEqual(self.chroot.do("dpkg-query", "-f", "${Version}", "-W", "skald"), "0.9.9-1")
        files = [line for name in newer for line in self.chroot.do("dpkg", "-L", name).splitlines()]
        own = [path for path in files if (self.chroot.root / path[1:]).is_file()]
        self.assertIn("/usr/bin/skald", own)
        self.chroot.do("apt-get", "-q", "purge", "-y", *newer)
        self.assertEqual([path for path in own if (self.chroot.root / path[1:]).exists()], [])


def main() -> None:
    Setup.build, Setup.source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if os.geteuid() != 0:
        sys.exit("a chroot needs root")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()

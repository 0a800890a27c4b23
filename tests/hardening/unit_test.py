"""packaging/skald.service says what SECURITY.md promises, and systemd understands every line.

    unit_test.py SKALD SOURCE [SYSTEMD_ANALYZE]
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Of 100; 14 with systemd 252. What is left is the network, which a server needs.
EXPOSURE_MAX = 15

SETTINGS = {
    "MemoryMax": "80%", "MemoryDenyWriteExecute": "yes", "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "", "DynamicUser": "yes", "ProtectSystem": "strict",
    "ProtectHome": "yes", "PrivateDevices": "yes", "RestrictNamespaces": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6", "IPAddressDeny": "any",
    "SystemCallErrorNumber": "EPERM", "LimitCORE": "0", "Restart": "on-failure",
}


class Unit(unittest.TestCase):
    skald = ""
    source = Path()
    systemd_analyze = ""

    def setUp(self):
        self.text = (self.source / "packaging/skald.service").read_text()

    def test_has_what_is_promised(self):
        lines = self.text.splitlines()
        for name, value in SETTINGS.items():
            self.assertIn(f"{name}={value}", lines)

    # The sandbox of skald itself needs calls that are in no group of systemd 252.
    def test_lets_skald_limit_itself(self):
        allowed = " ".join(line.partition("=")[2] for line in self.text.splitlines()
                           if line.startswith("SystemCallFilter=") and "~" not in line).split()
        for call in ("seccomp", "landlock_create_ruleset", "landlock_add_rule",
                     "landlock_restrict_self"):
            self.assertIn(call, allowed)

    def test_systemd_understands_it(self):
        with tempfile.TemporaryDirectory(prefix="skald-unit-") as folder:
            unit = Path(folder) / "skald.service"
            unit.write_text(self.text.replace("/usr/bin/skald", self.skald))
            said = subprocess.run([self.systemd_analyze, "verify", str(unit)],
                                  capture_output=True, text=True)
            own = [line for line in (said.stdout + said.stderr).splitlines() if str(unit) in line
                   or "skald.service" in line]
            self.assertEqual((said.returncode, own), (0, []))
            judged = subprocess.run(
                [self.systemd_analyze, "security", "--offline=true", "--no-pager",
                 f"--threshold={EXPOSURE_MAX}", str(unit)], capture_output=True, text=True)
            self.assertEqual(judged.returncode, 0, judged.stdout[-2000:])


if __name__ == "__main__":
    Unit.skald, source = sys.argv[1:3]
    Unit.source = Path(source)
    Unit.systemd_analyze = sys.argv[3] if len(sys.argv) > 3 else ""
    if not Unit.systemd_analyze:  # CMake has said so
        del Unit.test_systemd_understands_it
    unittest.main(argv=sys.argv[:1])

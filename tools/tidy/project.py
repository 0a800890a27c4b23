"""What belongs to the project: its root and its files."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def list_files() -> list[str]:
    """Every file that git tracks or does not ignore, relative to ROOT, sorted."""
    # safe.directory: the checkout may belong to another user than the one who tests.
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    listed = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True).stdout.decode()
    return sorted(path for path in listed.split("\0") if path and (ROOT / path).is_file())


def is_cpp(path: str) -> bool:
    return path.endswith((".h", ".cc"))

"""The style test: STYLE.md, checked. Prints what it finds, exits with 1 if that is anything.

Run by ctest (test "tidy") and by hand: python3 tools/tidy/tidy.py
"""

import os
import sys

import checks
import project
import rules


def read_files() -> list[checks.File]:
    paths = project.list_files()
    all_paths = frozenset(paths)
    files = []
    for path in paths:
        full = project.ROOT / path
        data = full.read_bytes()
        file = checks.File(path, None, len(data), os.access(full, os.X_OK), all_paths)
        if not file.matches(rules.BINARY):
            file.text = data.decode()
        files.append(file)
    return files


def main() -> int:
    files = read_files()
    findings = [finding for file in files for check in checks.ALL for finding in check(file)]
    for finding in findings:
        print(finding)
    print(f"tidy: {len(files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

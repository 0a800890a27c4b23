"""The format test: clang-format would change nothing. Usage: format.py CLANG_FORMAT [--fix]"""

import subprocess
import sys

import project


def main() -> int:
    clang_format = sys.argv[1]
    mode = ["-i"] if "--fix" in sys.argv[2:] else ["--dry-run", "--Werror"]
    sources = [path for path in project.list_files() if project.is_cpp(path)]
    return subprocess.run([clang_format, *mode, *sources], cwd=project.ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())

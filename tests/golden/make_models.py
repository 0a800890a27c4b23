#!/usr/bin/env python3
"""Writes the golden models (networks.py) into a folder, the same bytes on every machine.

    make_models.py FOLDER [NAME...]      all, or those named
    make_models.py --list                the names of those that another engine has recorded

The numbers that another engine computed for them lie in tests/data/golden; its README says how a model
is added. Python 3 standard library only.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from networks import MODELS, UNRECORDED


def main():
    arguments = sys.argv[1:]
    if arguments == ["--list"]:
        print("\n".join(MODELS))
        return
    writers = MODELS | UNRECORDED
    unknown = [name for name in arguments[1:] if name not in writers]
    if not arguments or arguments[0].startswith("-") or unknown:
        sys.exit(__doc__ if not unknown else "error: no golden model is called " + ", ".join(unknown))
    folder = arguments[0]
    os.makedirs(folder, exist_ok=True)
    for name in arguments[1:] or writers:
        with open(os.path.join(folder, name + ".gguf"), "wb") as out:
            out.write(writers[name]())


if __name__ == "__main__":
    main()

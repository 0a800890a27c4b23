"""Where the large recordings lie that do not travel with the repository (shared_data.h)."""

import os
from pathlib import Path


def shared_data(source: Path, path: str) -> Path:
    """A file or folder below `shared`, beside the checkout `source`. For suites called *SharedData only."""
    if os.environ.get("SKALD_SHARED_DATA") == "none":
        return Path("/no shared data") / path
    return source.parent / "shared" / path

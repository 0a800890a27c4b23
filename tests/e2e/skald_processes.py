"""What the kernel says of processes: who is there, whose they are, and what they took."""

import os
import time
from pathlib import Path


def state_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name; empty: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_there(pid: int) -> bool:
    """Not gone, and not waiting for its parent to hear of it."""
    return state_of(pid)[:1] not in ([], ["Z"], ["X"])


def workers_of(pid: int) -> list[int]:
    """The other ranks of a first one."""
    others = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return sorted(other for other in others if state_of(other)[1:2] == [str(pid)])


def cpu_seconds(pid: int) -> float:
    fields = state_of(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(holds, seconds: float) -> float:
    """How long it took."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - begin

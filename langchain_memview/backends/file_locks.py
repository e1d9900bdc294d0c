"""Whether another process is at work on a SQLite file, asked without touching its locks.

Chroma holds Python's global lock while it waits for another process's transaction, so
nothing in this process, a time limit least of all, would run meanwhile. Whoever wants to
write therefore asks the operating system first and waits in Python.
"""

import os
import struct
import sys
import time
from pathlib import Path

if sys.platform == "linux":
    import fcntl

_PENDING_BYTE = 0x40000000
_LOCK_BYTES = 512
_FLOCK = "hhqqi"  # type, whence, start, length, process

_files: dict[Path, int] = {}


def wait_for_other_processes(path: Path, until: float) -> None:
    """Return when no other process holds a lock on a SQLite file, at once if none does.

    Where the operating system cannot be asked, it returns at once.

    Args:
        path: The database file; it need not exist.
        until: When to give up, on the clock of `time.monotonic`.

    Raises:
        TimeoutError: Another process has held a lock all the time.
    """
    while _held_elsewhere(path):
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.005)


def _held_elsewhere(path: Path) -> bool:
    if sys.platform != "linux":
        return False
    if path not in _files:
        try:
            # Never closed: that would drop the locks that SQLite has in this process.
            _files[path] = os.open(path, os.O_RDONLY)
        except OSError:
            return False
    question = struct.pack(
        _FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _PENDING_BYTE, _LOCK_BYTES, 0
    )
    answer = fcntl.fcntl(_files[path], fcntl.F_GETLK, question)
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)

"""One run at a time writes to a lake. Its lock is the system's, so it ends with the process that holds it. A
lake whose catalog is not a file of this machine has a lease beside it (:mod:`fencepost.lease`).
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TextIO

from fencepost.places import run_folder
from fencepost.settings import Settings
from fencepost.waiting import JUST_BEGUN, LockError, wait_until

FILE = "audit.lock"
WAIT_S = 3_600
_LOOK_AGAIN_S = 0.5


@contextmanager
def locked(settings: Settings, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock of the lake. If another run holds it, log whose it is, and wait.

    Raises LockError after ``wait_s`` seconds, and at once if the lake may not be written to.
    """
    path = run_folder(settings) / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise LockError(
            f"{error.filename}: {error.strerror}. An audit writes there: check its permissions, or name "
            "another place in [lake]."
        ) from error
    with file:
        wait_until(
            partial(_is_acquired, file),
            partial(_holder, file),
            wait_s,
            pause_s=_LOOK_AGAIN_S,
            remedy=f"Repeat the command when it has ended, or end it: its lock is {file.name}.",
        )
        holder = f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now(UTC):%F %T} UTC"
        file.truncate(0)
        file.write(holder)
        file.flush()
        if settings.lake.folder is not None:
            yield
            return
        from fencepost.lease import Lease

        with Lease(settings.lake, holder, wait_s):
            yield


def identity(settings: Settings) -> str:
    """A name of the lake's lock that the locks of other machines do not have."""
    path = run_folder(settings) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    found = path.stat()
    told = f"{socket.gethostname()} {found.st_dev} {found.st_ino}"
    return sha256(told.encode()).hexdigest()[:12]


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read() or JUST_BEGUN


def _is_acquired(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

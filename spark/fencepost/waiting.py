"""How commands wait for a lake: while another run writes to it, and until its catalog and store answer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fencepost.settings import Lake

logger = logging.getLogger(__name__)

JUST_BEGUN = "a process that has just begun"
"""Who holds a lake, as long as that is not written there."""
_SOON_S = 5


class LockError(Exception):
    """The lake cannot be written to, or another run has been writing to it for too long; the message says
    which run, and what to do.
    """


def wait_until(
    is_acquired: Callable[[], bool],
    holder: Callable[[], str],
    wait_s: float,
    *,
    pause_s: float,
    remedy: str,
    now: Callable[[], float] = time.monotonic,
    error: type[LockError] = LockError,
) -> None:
    """Ask ``is_acquired`` again and again, every ``pause_s`` seconds. Log once who holds the lake.

    Raises ``error`` after ``wait_s`` seconds by the clock ``now``.
    """
    deadline, is_waiting = now() + wait_s, False
    while not is_acquired():
        if now() >= deadline:
            raise error(
                f"Another run has been writing to this lake for {wait_s:.0f} s ({holder()}). {remedy}"
            )
        if not is_waiting:
            logger.info("another run is writing to this lake (%s): waiting until it ends", holder())
            is_waiting = True
        time.sleep(pause_s)


@contextmanager
def told_if_slow(lake: Lake) -> Iterator[None]:
    """Log it if the lake is not open soon: a store or catalog of other machines is asked again for long."""
    says = (
        f"The lake in {lake.warehouse or lake.catalog} is not open after {_SOON_S} s. A new one takes a "
        "while; a store or a catalog that does not answer is asked again for two minutes."
    )
    timer = threading.Timer(_SOON_S, logger.warning, [says])
    timer.daemon = True
    if not lake.is_local:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()

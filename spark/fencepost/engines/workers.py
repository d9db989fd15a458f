"""The process from which workers are forked, with the modules that tasks need already imported: pyspark's
daemon on executors, and the fork server of this machine's processes.

Importing these modules takes a worker two seconds of CPU. After each task pyspark collects garbage among all
objects, which took a tenth of a second: frozen objects, those of the imported modules, are left out.
"""

from __future__ import annotations

import gc
from importlib import import_module

from fencepost.protocols import protocols


def import_all() -> None:
    """Import what tasks need, and freeze it."""
    of_protocols = [f"fencepost.protocols.{each.name}.rebuild" for each in protocols()]
    for each in ("fencepost.engines.tasks", "fencepost.replay.run", "fencepost.judge.run", *of_protocols):
        import_module(each)
    import_module("fencepost.capture.readers").kinds()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    import_all()
    manager()  # type: ignore[no-untyped-call]

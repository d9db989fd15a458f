"""The process from which Spark forks its Python workers: pyspark's daemon, with the modules that tasks need
already imported.

Each task of a chain has a worker, and a worker that was idle for a minute is ended: importing these modules
took each worker two seconds of CPU. After each task a worker collects garbage among all its objects, which
took a tenth of a second: frozen objects, those of the imported modules, are left out.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for each in ("pandas", "fencepost.engines.spark", "fencepost.capture.readers", "fencepost.replay.run"):
        import_module(each)
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]

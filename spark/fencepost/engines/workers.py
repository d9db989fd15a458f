"""The process that Spark forks its Python workers from: pyspark's, once it has imported what tasks need.

A chain of tasks has a worker for each, and one that has had nothing to do for a minute is ended: to import
all of this took each of them two seconds of CPU. After each task a worker looks for garbage among all that
it holds, for a tenth of a second: what is imported is left out of that.
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

"""A generated cluster of producers: see ``generate``.

python bench/producers/transaction_cluster.py FOLDER TRANSACTIONS IDS [LOGGED]
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("fencing", "incarnations")]

from transaction_files import START_MS, TOPICS, Files, Made
from transaction_walk import Mix, Producer, Size, Walk

_PLACES_OF_EACH = 3


def generate(folder: Path, size: Size, *, mix: Mix | None = None, seed: int = 1) -> Made:
    """Write the files of a cluster into ``folder``; the same seed gives the same bytes."""
    rng = Random(seed)
    places = [(topic, number) for topic, count in TOPICS.items() for number in range(count)]
    producers = [
        Producer(f"payment-{number:05}", 1_000 + number, tuple(rng.sample(places, _PLACES_OF_EACH)))
        for number in range(size.ids)
    ]
    with Files(folder) as files:
        walk = Walk(producers, files, START_MS, rng, mix or Mix())
        walk.run(size)
        return Made(walk.count, walk.fenced, walk.requests, files.bytes)


if __name__ == "__main__":
    print(generate(Path(sys.argv[1]), Size(*(int(each) for each in (sys.argv[2:] + sys.argv[2:3])[:3]))))

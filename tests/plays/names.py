"""The names of hostile plays: what a program may stumble over, and of topics what Kafka takes."""

from __future__ import annotations

import random

from hostile import NAMES

_LONGEST_TOPIC = 249
_TOPICS = ("..", "__", "-0", ".0123456789abcdef0123456789abcdef-delete", "_.-null", "." * _LONGEST_TOPIC)


def fragment(rng: random.Random) -> str:
    """What the names of groups, ids, members and clients of a hostile play have in their middle."""
    return rng.choice(NAMES)


def topic(rng: random.Random, letter: str, label: str) -> str:
    """A hostile name of a topic, which ends with the label as all names do; some are as long as can be."""
    end = f"-{label}"
    return f"{letter}{rng.choice(_TOPICS)}"[: _LONGEST_TOPIC - len(end)] + end

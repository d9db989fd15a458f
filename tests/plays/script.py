"""A script: the cluster that plays are given on, and the steps of all plays, as lines of JSON.

What a step means (which epoch is stale) is resolved while it is played. So every sublist of the steps is a
script, too, and a failure is made small by leaving steps out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

Step = dict[str, Any]
"""``op`` and what it needs; ``play`` is the label of its play, which all names of the play end with."""


@dataclass(frozen=True)
class Setting:
    """The cluster: its release, number of brokers, features and configuration.

    ``options`` name what is not ordinary, and what an oracle has to allow for: ``short_sessions``,
    ``short_timeouts``, ``expiring_ids``, ``unverified``, ``unclean``. ``ahead_s``: the seconds that each
    broker's clock is ahead at the begin, if their clocks are not the machine's.
    """

    release: str
    transaction_version: int
    brokers: int = 1
    settings: dict[str, object] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    ahead_s: tuple[float, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether it has KIP-848's groups, and topic ids in Produce."""
        return self.release >= "4"


@dataclass(frozen=True)
class Script:
    """A setting and its steps; ``name`` is that of its cluster and of its folder."""

    name: str
    setting: Setting
    steps: list[Step]

    def write(self, path: Path) -> None:
        """One line for the setting, one for each step."""
        lines = [{"name": self.name, "setting": asdict(self.setting)}, *self.steps]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def of(self, steps: Iterable[Step]) -> Script:
        """The same with other steps."""
        return replace(self, steps=list(steps))


def read(path: Path) -> Script:
    """The script in a file. Raises ``OSError``, ``ValueError``, ``KeyError`` and ``TypeError``."""
    head, *steps = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    told = head["setting"]
    told |= {name: tuple(told.get(name, ())) for name in ("options", "ahead_s")}
    return Script(head["name"], Setting(**told), steps)

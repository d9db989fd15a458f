"""The trace that is judged: generated once, written as history tables for the engines and as
steps for TLC.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Ints = npt.NDArray[np.int64]

SEED = 848
_SCOPE = {"cluster": "bench", "group_id": "checkout-service", "life": "1"}
_START = np.datetime64("2026-01-01T00:00:00", "us")
_OPEN = -1  # the end of an interval that has not ended


@dataclass(frozen=True)
class Trace:
    """Steps of a group and its members.

    The group's epoch rises at the first step of each period; then each member in turn, in an order drawn
    for each round, rises by 1 to 3, never above the group. Arrays are indexed [period, round, place in the
    round]; position 0 is the state before the first step, where every epoch is 0. ``broken``: the very last
    step takes a member above the group.
    """

    members: int
    rounds: int
    order: Ints
    rise: Ints
    broken: bool

    @property
    def periods(self) -> int:
        return self.order.shape[0]

    @property
    def length(self) -> int:
        """Steps in one period."""
        return 1 + self.rounds * self.members

    @property
    def steps(self) -> int:
        return self.periods * self.length

    @property
    def group_positions(self) -> Ints:
        """The position of each rise of the group."""
        return 1 + np.arange(self.periods, dtype=np.int64) * self.length

    @property
    def group_epochs(self) -> Ints:
        return (1 + np.arange(self.periods, dtype=np.int64)) * 3 * self.rounds

    def positions(self) -> Ints:
        """The position of each member's step: [period, round, place]."""
        inside = np.arange(self.rounds * self.members, dtype=np.int64).reshape(self.rounds, self.members)
        return self.group_positions[:, None, None] + 1 + inside

    def by_member(self, values: Ints) -> Ints:
        """Values by place as values by member: [period, round, member]."""
        values_found = np.empty_like(values)
        np.put_along_axis(values_found, self.order, values, axis=2)
        return values_found

    def epochs(self) -> Ints:
        """Each member's epoch after its step: [period, round, member]."""
        rises = self.by_member(self.rise).reshape(-1, self.members)
        values_found = np.cumsum(rises, axis=0).reshape(self.order.shape)
        if self.broken:
            values_found[-1, -1, self.order[-1, -1, -1]] = self.group_epochs[-1] + 1
        return values_found


def make(steps: int, members: int, *, broken: bool) -> Trace:
    """A trace of at least ``steps`` steps; the same arguments give the same trace."""
    rounds = max(1, 100 // members)
    periods = -(-steps // (1 + rounds * members))
    random = np.random.default_rng(SEED)
    shape = (periods, rounds, members)
    order = np.argsort(random.random(shape, dtype=np.float32), axis=2).astype(np.int64)
    rise = random.integers(1, 4, shape)
    return Trace(members, rounds, order, rise, broken)


def write_steps(trace: Trace, path: Path) -> None:
    """Write the file that EpochsReader.java reads."""
    epochs = np.take_along_axis(trace.epochs(), trace.order, axis=2)
    changes = np.empty((trace.periods, trace.length, 2), dtype=">i4")
    changes[:, 0, 0], changes[:, 0, 1] = 0, trace.group_epochs
    changes[:, 1:, 0] = trace.order.reshape(trace.periods, -1) + 1
    changes[:, 1:, 1] = epochs.reshape(trace.periods, -1)
    with path.open("wb") as file:
        file.write(np.array([trace.members], dtype=">i4").tobytes())
        file.write(changes.tobytes())


def write_tables(trace: Trace, folder: Path) -> None:
    """The tables ``members``, ``consumer_group`` and ``coverage`` as Parquet, in the order of the log."""
    folder.mkdir(parents=True)
    _write(folder / "members.parquet", _members(trace))
    begins = np.concatenate([[0], trace.group_positions])
    group = {
        "group_epoch": np.concatenate([[0], trace.group_epochs]),
        **_interval(begins, np.append(begins[1:], _OPEN)),
    }
    _write(folder / "consumer_group.parquet", group)
    whole = {"covered": np.array([True]), **_interval(np.array([0]), np.array([_OPEN]))}
    _write(folder / "coverage.parquet", whole)


def _members(trace: Trace) -> dict[str, object]:
    """A row for each interval in which the epochs of a member and of the group do not change."""
    each = (trace.periods, trace.rounds + 1, trace.members)
    begins, epochs = np.empty(each, np.int64), np.empty(each, np.int64)
    begins[:, 0], begins[:, 1:] = trace.group_positions[:, None], trace.by_member(trace.positions())
    epochs[:, 1:] = trace.epochs()
    epochs[0, 0], epochs[1:, 0] = 0, epochs[:-1, -1]
    begins, epochs = (
        _with_first(values_found.reshape(-1, trace.members)) for values_found in (begins, epochs)
    )
    ends = np.vstack([begins[1:], np.full((1, trace.members), _OPEN)])
    group = np.repeat(np.append(0, trace.group_epochs), [1] + [trace.rounds + 1] * trace.periods)
    order = np.argsort(begins, axis=None, kind="stable")
    row, member = np.divmod(order, trace.members)
    names = pa.array([f"consumer-{n:04}" for n in range(1, trace.members + 1)])
    return {
        "member_id": pa.DictionaryArray.from_arrays(pa.array(member.astype(np.int32)), names),
        "member_epoch": epochs.ravel()[order],
        "group_epoch": group[row],
        **_interval(begins.ravel()[order], ends.ravel()[order]),
    }


def _with_first(rows: Ints) -> Ints:
    """The state before the first step, then the rows."""
    return np.vstack([np.zeros((1, rows.shape[1]), np.int64), rows])


def _interval(begins: Ints, ends: Ints) -> dict[str, object]:
    """Columns of the interval from ``begins`` to ``ends``; one position takes a millisecond."""
    is_open = ends == _OPEN
    return {
        "from_position": begins,
        "to_position": pa.array(ends, mask=is_open),
        "from_time": pa.array(_START + begins * np.timedelta64(1000, "us"), pa.timestamp("us", "UTC")),
        "to_time": pa.array(
            _START + ends * np.timedelta64(1000, "us"), pa.timestamp("us", "UTC"), mask=is_open
        ),
    }


def _write(path: Path, columns: dict[str, object]) -> None:
    arrays = {
        name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()
    }
    rows = len(next(iter(arrays.values())))
    scope = {
        name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
        for name, value in _SCOPE.items()
    }
    pq.write_table(pa.table({**scope, **arrays}), path, row_group_size=1 << 20)

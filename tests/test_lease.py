"""The lease of a lake that several machines share, here on SQLite: the commits are those of any catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable

from fencepost import lake, lease
from fencepost.iceberg.commits import Change
from fencepost.lease import ENDED_S, LOST_S, Lease, LeaseError
from fencepost.opening import ensure
from fencepost.settings import Settings
from fencepost.tables import WAIVERS


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(empty_lake: Callable[[], Settings]) -> Settings:
    """Settings of a lake of its own."""
    return empty_lake()


def _died(settings: Settings, clock: Clock) -> Lease:
    """A lease whose holder does not renew it."""
    taken = Lease(settings.lake, "the dead", 0, clock)
    taken._acquire()
    return taken


def test_the_holder_is_named_and_the_next_one_takes_what_was_given_back(settings: Settings) -> None:
    with (
        Lease(settings.lake, "process 1 on a", 0),
        pytest.raises(LeaseError, match=r"process 1 on a.*Repeat"),
        Lease(settings.lake, "process 2 on b", 0),
    ):
        pass
    with Lease(settings.lake, "process 2 on b", 0):
        pass


def test_a_lease_whose_holder_died_ends(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    dead = _died(settings, clock)
    monkeypatch.setattr(time, "sleep", lambda _: setattr(clock, "now", clock.now + 10))
    with Lease(settings.lake, "process 2 on b", 3 * ENDED_S, clock):
        assert clock.now >= ENDED_S
        with pytest.raises(LeaseError, match="could not renew"):
            dead.check()
    # it may wake up, and can neither renew the lease nor give back that of another
    with Lease(settings.lake, "process 3 on c", 0), pytest.raises(Exception, match="expected id"):
        dead._say("1")


def test_who_is_suspended_right_after_taking_it_does_not_have_the_next_ones(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it was, the lease has ended, and another run has taken it."""
    clock = Clock()
    suspended, other = (Lease(settings.lake, name, 0, clock) for name in ("suspended", "other"))
    commit = Change.commit_transaction

    def commit_and_sleep(change: Change) -> IcebergTable:
        done = commit(change)
        monkeypatch.undo()
        clock.now += ENDED_S
        assert other._take(other._table())
        return done

    monkeypatch.setattr(Change, "commit_transaction", commit_and_sleep)
    suspended._acquire()
    with pytest.raises(LeaseError, match="could not renew"):
        suspended.check()
    with pytest.raises(CommitFailedException):
        suspended._say("released")
    other.check()
    other._say("1")


def test_a_renewed_lease_does_not_end(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    held = _died(settings, clock)

    def pass_by(seconds: float) -> None:
        clock.now += 10
        held._say(str(clock.now))

    monkeypatch.setattr(time, "sleep", pass_by)
    with pytest.raises(LeaseError, match="the dead"), Lease(settings.lake, "b", 4 * ENDED_S, clock):
        pass


def test_who_lost_the_lease_commits_nothing(settings: Settings) -> None:
    clock, catalog = Clock(), ensure(settings.lake)
    rows = pa.Table.from_pylist([{}], schema=WAIVERS.arrow_schema)
    with Lease(settings.lake, "a", 0, clock):
        lake.append(catalog, WAIVERS, rows)
        clock.now += LOST_S + 1
        with pytest.raises(LeaseError, match="commits nothing more"):
            lake.append(catalog, WAIVERS, rows)
    lake.append(catalog, WAIVERS, rows)
    assert lake.count(catalog, WAIVERS) == 2


def test_of_many_at_once_one_has_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWED_S", 0.05)
    at_once, most, done = 0, 0, []

    def run(name: str) -> None:
        nonlocal at_once, most
        taken = Lease(settings.lake, name, 60)
        taken._acquire()
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.2)
        at_once -= 1
        taken._say("released")
        done.append(name)

    threads = [threading.Thread(target=run, args=(str(each),)) for each in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (most, sorted(done)) == (1, ["0", "1", "2", "3"])

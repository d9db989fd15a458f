"""Clients' logs with one path on several hosts, as containers have them: each is a log of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fencepost import pipeline
from fencepost.capture import collectors
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.replay.view import with_current_names
from fencepost.settings import Broker, Client, Cluster
from fencepost.tables import CLIENT_LINES

if TYPE_CHECKING:
    from conftest import Site

HOSTS = ("app-1", "app-2")
BEGIN = "[2026-01-02 12:00:0{n},000] INFO [Producer clientId=a{n}, transactionalId=t] "
BUMP = "ProducerId set to {n} with epoch 0 (org.apache.kafka.clients.producer.internals.TransactionManager)\n"
BAD = "[2026-01-02 12:00:0{n},000] INFO [Producer clientId=a"


@pytest.fixture
def collect(site: Site, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """A round of the collector of a host. On each host the log has the same path."""

    def collect(host: str, log: str, *, client: str = "app", timezone: str = "UTC") -> dict[str, Any]:
        path = site.folder / "app.log"
        path.write_text(log)
        monkeypatch.setattr(collectors.socket, "gethostname", lambda: host)
        clients = (Client(client, site.glob("app.log*"), timezone),)
        return pipeline.collect(
            replace(site.settings, clusters=(Cluster(site.cluster, (Broker(1),), clients),))
        )

    return collect


def _line(number: int) -> str:
    return (BEGIN + BUMP).format(n=number)


def test_each_host_goes_on_where_it_stopped(site: Site, collect: Callable[..., dict[str, Any]]) -> None:
    logs = {host: _line(number) for number, host in enumerate(HOSTS)}
    for host, log in logs.items():
        assert collect(host, log)["rows"] == 1
    for host, log in logs.items():
        assert collect(host, log)["files"] == 0
    grown = {host: log + _line(number) for number, (host, log) in enumerate(logs.items(), 5)}
    for host, log in grown.items():
        assert collect(host, log)["rows"] == 1
    path = site.folder / "app.log"
    read = Counter((row["file"], row["position"]) for row in site.rows(CLIENT_LINES))
    assert read == Counter((f"{host}:{path}", at) for host in HOSTS for at in (0, len(_line(0))))
    # a rebuild sees the names, too, and they stay, whoever was the last
    engine = with_current_names(TaskEngine(ensure(site.settings.lake)))
    names = engine.scan(CLIENT_LINES, ("file",), [{"cluster": site.cluster}])["file"].to_pylist()
    assert Counter(names) == Counter(file for file, _ in read.elements())


def test_a_corrected_zone_of_one_host_leaves_the_other_hosts_lines(
    site: Site, collect: Callable[..., dict[str, Any]]
) -> None:
    for number, host in enumerate(HOSTS):
        collect(host, _line(number))
    before = {row["file"]: row["logged_at_ms"] for row in site.rows(CLIENT_LINES)}
    collect(HOSTS[0], _line(0), timezone="+01:00")
    after = {row["file"]: row["logged_at_ms"] for row in site.rows(CLIENT_LINES)}
    assert after == {**before, f"{HOSTS[0]}:{site.folder / 'app.log'}": min(before.values()) - 3_600_000}

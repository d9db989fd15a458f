"""What is said of log directories that are not those of the broker that the configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.capture.identities import check_identities
from fencepost.settings import Broker, Cluster, Lake, Settings, SettingsError


def _log_dir(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.mkdir()
    if lines:
        (path / "meta.properties").write_text("#\n#Fri Nov 20 2026\n" + "\n".join(lines) + "\n")
    return path


def _settings(folder: Path, *brokers: tuple[int, Path]) -> Settings:
    of_brokers = tuple(Broker(number, (str(path),)) for number, path in brokers)
    return Settings(folder / "fencepost.toml", Lake("", ""), (Cluster("c", of_brokers),))


@pytest.mark.parametrize(
    "lines",
    [
        ("version=1", "node.id=3", "cluster.id=x"),
        # ZooKeeper's, and that of a broker that is being migrated
        ("version=0", "broker.id=3", "cluster.id=x"),
        ("version=0", "broker.id=3", "node.id=3"),
        (" node.id = 3 ",),
        ("version=1",),
        (),
    ],
)
def test_what_agrees_or_says_nothing_is_read(tmp_path: Path, lines: tuple[str, ...]) -> None:
    check_identities(_settings(tmp_path, (3, _log_dir(tmp_path, "data", *lines))))
    check_identities(_settings(tmp_path, (3, tmp_path / "absent")))


def test_links_that_lead_round_in_a_circle_are_of_no_broker(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_identities(_settings(tmp_path, (1, tmp_path / "a")))


def test_two_brokers_that_name_each_others_directory(tmp_path: Path) -> None:
    first, second = _log_dir(tmp_path, "one", "node.id=1"), _log_dir(tmp_path, "two", "broker.id=2")
    with pytest.raises(SettingsError) as error:
        check_identities(_settings(tmp_path, (1, second), (2, first)))
    assert str(error.value).splitlines() == [
        f"{tmp_path}/fencepost.toml: clusters[0].brokers[{at}].id: is {at + 1}, but {path}/meta.properties "
        f"says {says}: the directory is that broker's. Correct id, or log_dirs."
        for at, path, says in ((0, second, "broker.id=2"), (1, first, "node.id=1"))
    ]


def test_one_directory_of_two_brokers(tmp_path: Path) -> None:
    data, link = _log_dir(tmp_path, "data"), tmp_path / "link"
    link.symlink_to(data)
    with pytest.raises(SettingsError, match=r"brokers\[1\].log_dirs: .*/data is listed for broker 1, too"):
        check_identities(_settings(tmp_path, (1, data), (2, link)))


def test_directories_of_two_clusters(tmp_path: Path) -> None:
    first = _log_dir(tmp_path, "one", "node.id=1", "cluster.id=x")
    second = _log_dir(tmp_path, "two", "node.id=2", "cluster.id=y")
    with pytest.raises(SettingsError, match=r"brokers\[1\].log_dirs: .*/two is of the cluster y, but .*/one"):
        check_identities(_settings(tmp_path, (1, first), (2, second)))


def test_one_directory_of_two_clusters(tmp_path: Path) -> None:
    """A block of the configuration was copied: incidents of one cluster would be told of the other, too."""
    data = str(_log_dir(tmp_path, "data", "node.id=1", "cluster.id=x"))
    clusters = tuple(Cluster(name, (Broker(1, (data,)),)) for name in "cd")
    settings = Settings(tmp_path / "fencepost.toml", Lake("", ""), clusters)
    with pytest.raises(SettingsError, match=r"clusters\[1\].*/data is listed for broker 1 of cluster c, too"):
        check_identities(settings)

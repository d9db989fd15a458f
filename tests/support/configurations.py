"""Parts of configurations that several tests write."""

from __future__ import annotations

from pathlib import Path


def local_lake(folder: Path) -> str:
    """The part ``[lake]`` of the configuration of a lake in this folder."""
    place = folder / "lake"
    return f'[lake]\nwarehouse = "{place}/warehouse"\ncatalog = "sqlite:///{place}/catalog.db"\n'


def broker_logs(broker: int, folder: Path) -> str:
    """A broker all of whose logs are in this folder."""
    return f"""
[[clusters.brokers]]
id = {broker}
log_dirs = ["{folder}/log_dir"]
request_logs = ["{folder}/kafka-request.log*"]
server_logs = ["{folder}/server.log*"]
timezone = "UTC"
"""

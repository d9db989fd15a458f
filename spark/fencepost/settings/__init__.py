"""The configuration file ``fencepost.toml``, read once and checked as a whole.

Relative paths and globs are relative to the folder of the file. Every mistake is a line of one
:class:`SettingsError`, which names the file, the key and the remedy.
"""

from fencepost.settings.file import CONFIG_ENV, LAKE_ENV, config_path, load, readable_alerts
from fencepost.settings.mistakes import SettingsError
from fencepost.settings.model import (
    ALERTS_ON,
    DEFAULT_SPARK,
    SEVERITIES,
    Broker,
    Client,
    Cluster,
    Lake,
    Recipient,
    Report,
    RunOn,
    Settings,
    Waiver,
    sqlite_file,
)
from fencepost.settings.values import SQLITE

__all__ = [
    "ALERTS_ON",
    "CONFIG_ENV",
    "DEFAULT_SPARK",
    "LAKE_ENV",
    "SEVERITIES",
    "SQLITE",
    "Broker",
    "Client",
    "Cluster",
    "Lake",
    "Recipient",
    "Report",
    "RunOn",
    "Settings",
    "SettingsError",
    "Waiver",
    "config_path",
    "load",
    "readable_alerts",
    "sqlite_file",
]

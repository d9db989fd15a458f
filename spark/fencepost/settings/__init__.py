"""The configuration file ``fencepost.toml``, read once and checked as a whole.

Relative paths and globs are relative to the folder of the file. Every mistake is a line of one
:class:`SettingsError`, which names the file, the key and the remedy.
"""

from fencepost.settings.file import CONFIG_ENV, LAKE_ENV, load
from fencepost.settings.mistakes import SettingsError
from fencepost.settings.model import (
    DEFAULT_SPARK,
    SEVERITIES,
    SQLITE,
    Broker,
    Client,
    Cluster,
    Lake,
    Report,
    RunOn,
    Settings,
    Waiver,
)

__all__ = [
    "CONFIG_ENV",
    "DEFAULT_SPARK",
    "LAKE_ENV",
    "SEVERITIES",
    "SQLITE",
    "Broker",
    "Client",
    "Cluster",
    "Lake",
    "Report",
    "RunOn",
    "Settings",
    "SettingsError",
    "Waiver",
    "load",
]

"""Imported by the fork server of this machine's processes, before it forks one."""

import atexit
import os

from fencepost.engines.workers import import_all

import_all()
# frozen objects are never freed, of which DuckDB's library would complain on standard error
atexit.register(os._exit, 0)

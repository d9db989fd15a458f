"""Imported by the fork server, before it forks a process."""

from fencepost.engines.workers import import_all

import_all()

"""The program ``fencepost``: Ctrl-C ends it without a traceback, also while its modules are imported."""

from __future__ import annotations


def main() -> int:
    """Run the command and return its exit code (fencepost.cli)."""
    try:
        from fencepost.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()

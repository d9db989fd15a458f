"""``python -m fencepost.marts [--config FILE] <dbt command...>``: dbt on Spark, on the configured lake."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fencepost.marts.in_spark import build_all, run_dbt
from fencepost.marts.result import MartsError
from fencepost.session import session_for_lake
from fencepost.settings import SettingsError, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; without one, build and test every mart."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.marts", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--config", type=Path)
    options, command = parser.parse_known_args(arguments)
    try:
        settings = load(options.config, services=False)
        spark = session_for_lake(settings)
        try:
            result = run_dbt(spark, settings, command) if command else build_all(spark, settings)
        finally:
            spark.stop()
    except (SettingsError, MartsError) as error:
        sys.stderr.write(f"{error}\n")
        return 1 if isinstance(error, MartsError) else 2
    sys.stdout.write(f"{len(result.models)} models, {result.tests} tests passed, {result.seconds} s\n")
    sys.stdout.writelines(f"warning: {line}\n" for line in result.warnings)
    return 0


if __name__ == "__main__":
    sys.exit(main())

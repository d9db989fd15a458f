"""``python -m fencepost.protocols [schemas|sources]``: every table and column as JSON or as dbt's sources."""

import sys

from fencepost.protocols import schemas_json
from fencepost.protocols.sources import sources_yaml

FORMATS = {"schemas": lambda: schemas_json() + "\n", "sources": sources_yaml}

name = sys.argv[1] if len(sys.argv) > 1 else "schemas"
if name not in FORMATS:
    sys.exit(f"python -m fencepost.protocols: {name!r} is none of {', '.join(FORMATS)}")
sys.stdout.write(FORMATS[name]())

"""``python -m fencepost.protocols [schemas | sources FOLDER]``.

``schemas``: every table and its columns, as JSON. ``sources``: the tables as dbt's sources, written into the
folder of dbt's models.
"""

import sys
from pathlib import Path

from fencepost.protocols import schemas_json
from fencepost.protocols.sources import sources

match sys.argv[1:] or ["schemas"]:
    case ["schemas"]:
        sys.stdout.write(schemas_json() + "\n")
    case ["sources", models]:
        for name, text in sources().items():
            file = Path(models, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    case _:
        sys.exit(f"usage: {__doc__}")
